"""Open files, shared between a log, its readers and a limit on how many are open at once.

Owns: the descriptors. Never does: reading or writing. Invariant: a descriptor stays open while anybody holds it, even
when its segment was closed, evicted or deleted meanwhile.
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
    """An open file with a count of its holders; closed when the last one lets go."""

    __slots__ = ("_files", "_holders", "fd")

    def __init__(self, files: Files, fd: int) -> None:
        self._files = files
        self._holders = 1
        self.fd = fd

    def read(self, size: int, position: int) -> bytes:
        """Up to `size` bytes from `position`. Raises OSError."""
        return self._files.read(self.fd, size, position)

    def hold(self) -> "Descriptor":
        """One more holder, who calls `release` later."""
        self._holders += 1
        return self

    def release(self) -> None:
        """One holder fewer."""
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
        """The file's descriptor: usable while its `fd` is not -1, and for sure by `hold`."""
        opened, max_open = self._mine()
        descriptor = opened.get(path)
        if descriptor is None:
            descriptor = opened[path] = Descriptor(self.files, self._open_file(path, flags, opened))
            while len(opened) > max_open:
                opened.popitem(last=False)[1].release()
        return descriptor

    def _open_file(self, path: Path, flags: int, opened: OrderedDict[Path, Descriptor]) -> int:
        """Opens a file; if the process has no descriptor left, half of the cache makes room. Raises OSError."""
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
        """Gives each thread within the block a cache of its own, with its share of `max_open`.

        For recovery: no thread closes what another one reads. A log is opened by one thread, which lets its files go.
        """
        own = threading.local()
        self._of_thread = own, max(1, self.max_open // threads)
        try:
            yield
        finally:
            self._of_thread = None

    def _mine(self) -> tuple[OrderedDict[Path, Descriptor], int]:
        """The open files that the calling thread may close, least recently opened first, and how many there may be."""
        if self._of_thread is None:
            return self._open, self.max_open
        own, max_open = self._of_thread
        opened: OrderedDict[Path, Descriptor] | None = getattr(own, "opened", None)
        if opened is None:
            opened = own.opened = OrderedDict()
        return opened, max_open

    def forget(self, path: Path) -> None:
        """Lets a file go: it was renamed or removed, or its log is closed."""
        descriptor = self._mine()[0].pop(path, None)
        if descriptor is not None:
            descriptor.release()
