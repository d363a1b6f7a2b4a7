"""A cache of open files, which a log and its readers share. It limits how many are open at once.

Owns: the descriptors. Never does: reading or writing. Invariant: a descriptor stays open as long as it has a holder,
even if its segment is closed, evicted or deleted.
"""

import errno
import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .files import Files

DEFAULT_MAX_OPEN = 4096


class Descriptor:
    """An open file with a reference count. It is closed when the last holder releases it."""

    __slots__ = ("_files", "_holders", "fd")

    def __init__(self, files: Files, fd: int) -> None:
        self._files = files
        self._holders = 1
        self.fd = fd

    def read(self, size: int, position: int) -> bytes:
        """Up to `size` bytes from `position`. Raises OSError."""
        return self._files.read(self.fd, size, position)

    def hold(self) -> "Descriptor":
        """Adds a holder, which must call `release` later."""
        self._holders += 1
        return self

    def release(self) -> None:
        """Removes a holder; closes the file after the last one."""
        self._holders -= 1
        if self._holders == 0:
            fd, self.fd = self.fd, -1
            self._files.close(fd)


class DescriptorCache:
    """Opens files on demand and keeps at most `max_open` open, closing the least recently opened first."""

    def __init__(self, files: Files, max_open: int = DEFAULT_MAX_OPEN) -> None:
        self.files = files
        self.max_open = max_open
        self._open: OrderedDict[Path, Descriptor] = OrderedDict()
        self._of_thread: tuple[threading.local, int] | None = None

    def __len__(self) -> int:
        return len(self._open)

    def get(self, path: Path, flags: int) -> Descriptor:
        """The file's descriptor. It is usable while its `fd` is not -1; `hold` keeps it open."""
        opened, max_open = self._mine()
        descriptor = opened.get(path)
        if descriptor is None:
            descriptor = opened[path] = Descriptor(self.files, self._open_file(path, flags, opened))
            while len(opened) > max_open:
                opened.popitem(last=False)[1].release()
        return descriptor

    def _open_file(self, path: Path, flags: int, opened: OrderedDict[Path, Descriptor]) -> int:
        """Opens a file. If the process has no descriptor left, closes half of the cache first. Raises OSError."""
        try:
            return self.files.open(path, flags)
        except OSError as error:
            if error.errno not in (errno.EMFILE, errno.ENFILE) or not opened:
                raise
        for _ in range((len(opened) + 1) // 2):
            opened.popitem(last=False)[1].release()
        return self.files.open(path, flags)

    @contextmanager
    def divided(self, threads: int) -> Iterator[None]:
        """Within the block, gives each thread its own cache with an equal share of `max_open`.

        For recovery: no thread closes a file that another thread reads. One thread opens a log and releases its files.
        """
        own = threading.local()
        self._of_thread = own, max(1, self.max_open // threads)
        try:
            yield
        finally:
            self._of_thread = None

    def _mine(self) -> tuple[OrderedDict[Path, Descriptor], int]:
        """The calling thread's open files, least recently opened first, and their maximum number."""
        if self._of_thread is None:
            return self._open, self.max_open
        own, max_open = self._of_thread
        opened: OrderedDict[Path, Descriptor] | None = getattr(own, "opened", None)
        if opened is None:
            opened = own.opened = OrderedDict()
        return opened, max_open

    def forget(self, path: Path) -> None:
        """Drops a file from the cache, because it was renamed or removed or its log was closed."""
        descriptor = self._mine()[0].pop(path, None)
        if descriptor is not None:
            descriptor.release()
