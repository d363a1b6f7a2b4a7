"""A cache of open files, which a log and its readers share. It limits how many are open at once.

Owns: the descriptors. Never does: reading or writing. Invariants: a descriptor stays open as long as it has a holder,
even if its segment is closed, evicted or deleted. Held descriptors count like all others, so the number of open files
exceeds `max_open` only if more than that are held.
"""

import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .disk_errors import lacks_descriptors
from .files import Files

DEFAULT_MAX_OPEN = 4096


class OpenFiles:
    """The open descriptors of a cache; within `DescriptorCache.divided`, those of one thread."""

    __slots__ = ("by_path", "count", "files", "held", "lock", "max_open")

    def __init__(self, files: Files, max_open: int) -> None:
        self.files = files
        self.max_open = max_open
        self.by_path: OrderedDict[Path, Descriptor] = OrderedDict()
        """The cached descriptors, the least recently opened first. A forgotten one is open until its last holder
        releases it.
        """
        self.count = 0
        """Open descriptors, cached or not."""
        self.held = 0
        """Descriptors that have a holder."""
        self.lock = threading.RLock()
        """For holders that release on other threads. Re-entrant: a thread inside may garbage-collect a holder."""

    def open(self, path: Path, flags: int) -> "Descriptor":
        """Opens a file, after closing others if there are too many. Raises OSError."""
        self.make_room(self.max_open - 1)
        try:
            fd = self.files.open(path, flags)
        except OSError as error:
            if not lacks_descriptors(error) or not self.by_path:
                raise
            # The process has no descriptor left, because other parts of it use more than their share.
            self.make_room(len(self.by_path) // 2)
            fd = self.files.open(path, flags)
        with self.lock:
            self.count += 1
            descriptor = self.by_path[path] = Descriptor(self, fd)
        return descriptor

    def make_room(self, most: int) -> None:
        """Closes cached files until at most `most` are open. Held ones stay: dropping them would not close them."""
        with self.lock:
            for _ in range(len(self.by_path)):
                if self.count <= most:
                    return
                path, descriptor = self.by_path.popitem(last=False)
                if descriptor.is_held:
                    self.by_path[path] = descriptor  # at the end: the next call begins with others
                else:
                    descriptor.forget()


class Descriptor:
    """An open file. It is closed when the cache has forgotten it and no holder is left. `fd` is then -1."""

    __slots__ = ("_holders", "_is_cached", "_open_files", "fd")

    def __init__(self, open_files: OpenFiles, fd: int) -> None:
        """The descriptor is in the cache and has no holder."""
        self._open_files = open_files
        self._holders = 0
        self._is_cached = True
        self.fd = fd

    @property
    def is_held(self) -> bool:
        """Whether it has a holder."""
        return self._holders > 0

    def read(self, size: int, position: int) -> bytes:
        """Up to `size` bytes from `position`. Raises OSError."""
        return self._open_files.files.read(self.fd, size, position)

    def hold(self) -> "Descriptor":
        """Adds a holder, which must call `release` later."""
        with self._open_files.lock:
            self._holders += 1
            if self._holders == 1:
                self._open_files.held += 1
        return self

    def release(self) -> None:
        """Removes a holder."""
        with self._open_files.lock:
            self._holders -= 1
            if self._holders == 0:
                self._open_files.held -= 1
                self._close_if_unused()

    def forget(self) -> None:
        """Notes that the cache has dropped the descriptor. Closes it unless it has a holder."""
        with self._open_files.lock:
            self._is_cached = False
            self._close_if_unused()

    def _close_if_unused(self) -> None:
        if not self._is_cached and not self._holders and self.fd >= 0:
            fd, self.fd = self.fd, -1
            self._open_files.count -= 1
            self._open_files.files.close(fd)


class DescriptorCache:
    """Opens files on demand and keeps at most `max_open` open, closing the least recently opened first."""

    def __init__(self, files: Files, max_open: int = DEFAULT_MAX_OPEN) -> None:
        self.files = files
        self.max_open = max_open
        self._open_files = OpenFiles(files, max_open)
        self._of_thread: tuple[threading.local, int] | None = None

    def __len__(self) -> int:
        """The number of open files, held ones included."""
        return self._open_files.count

    def get(self, path: Path, flags: int) -> Descriptor:
        """The file's descriptor. It is usable until the next call; `hold` keeps it open. Raises OSError."""
        mine = self._mine()
        return mine.by_path.get(path) or mine.open(path, flags)

    @property
    def may_hold(self) -> bool:
        """Whether another file may be held. At most half of `max_open` is held at a time, so that other files can be
        opened. If False, the caller does without a hold: it reads the bytes now, or opens the file later.
        """
        mine = self._mine()
        return mine.held < mine.max_open // 2

    @contextmanager
    def divided(self, threads: int) -> Iterator[None]:
        """Within the block, gives each thread its own cache with an equal share of `max_open`.

        For recovery: no thread closes a file that another thread reads. One thread opens a log and releases its files.
        """
        self._of_thread = threading.local(), max(1, self.max_open // threads)
        try:
            yield
        finally:
            self._of_thread = None

    def _mine(self) -> OpenFiles:
        """The open files of the calling thread."""
        if self._of_thread is None:
            return self._open_files
        own, max_open = self._of_thread
        opened: OpenFiles | None = getattr(own, "opened", None)
        if opened is None:
            opened = own.opened = OpenFiles(self.files, max_open)
        return opened

    def forget(self, path: Path) -> None:
        """Drops a file from the cache, because it was renamed or removed or its log was closed."""
        descriptor = self._mine().by_path.pop(path, None)
        if descriptor is not None:
            descriptor.forget()
