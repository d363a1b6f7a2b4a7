"""Reads logs so that a broker on the same machine does not notice: slowly, and without taking its page cache.

Shell: system calls, a clock, sleep. Bytes that were in the page cache before are read from there and stay; others are
dropped from it after reading, so that an audit of a terabyte does not push out what consumers read. The pace is that of
a context (contextvars): a job sets it for its process, and `file_access` asks for it. Source: mincore,
posix_fadvise and ioprio_set of Linux; elsewhere only the pace is kept.
"""

import ctypes
import mmap
import os
import platform
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import groupby

NICENESS = 19
_IOPRIO_SET = {"x86_64": 251, "aarch64": 30}
_OF_THIS_THREAD, _IDLE = 1, 3 << 13
_BURST_S = 0.1
"""The pace is kept over this time: a chunk that is read at once is paid for by the pause after it."""


class BackgroundReading:
    """Reads at most `bytes_per_second` on average. `clock_s` and `sleep` are given for tests."""

    def __init__(
        self,
        bytes_per_second: float,
        clock_s: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.bytes_per_second = bytes_per_second
        self._clock_s = clock_s
        self._sleep = sleep
        self._free_s = clock_s()

    def begin(self, descriptor: int) -> None:
        """Begins to read a file. Turns off the system's reading ahead, which would fill the page cache."""
        if hasattr(os, "posix_fadvise"):
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_RANDOM)

    def read(self, descriptor: int, size: int, position: int) -> bytes:
        """`size` bytes from `position` on, fewer at the end of the file. Waits for its turn. Raises OSError."""
        strange = _pages_not_cached(descriptor, size, position)
        data = os.pread(descriptor, size, position)
        for start, end in strange:
            os.posix_fadvise(descriptor, start, end - start, os.POSIX_FADV_DONTNEED)
        self.wait(len(data))
        return data

    def wait(self, size: int) -> None:
        """Waits until `size` bytes more fit the pace."""
        now_s = self._clock_s()
        self._free_s = max(self._free_s, now_s - _BURST_S) + size / self.bytes_per_second
        if self._free_s > now_s:
            self._sleep(self._free_s - now_s)


def _pages_not_cached(descriptor: int, size: int, position: int) -> list[tuple[int, int]]:
    """The parts of a file, as (start, end) of whole pages, that the page cache does not have. Empty if it is unknown.

    The system answers only for files that this user owns or may write; others seem to be cached.
    """
    if not hasattr(os, "posix_fadvise") or not size:
        return []
    first = position // mmap.PAGESIZE * mmap.PAGESIZE
    end = min(position + size, os.fstat(descriptor).st_size)
    if end <= first:
        return []
    with mmap.mmap(descriptor, end - first, mmap.MAP_PRIVATE, offset=first) as mapped:
        flags = (ctypes.c_ubyte * -(-(end - first) // mmap.PAGESIZE))()
        address = ctypes.c_char.from_buffer(mapped)
        failed = ctypes.CDLL(None).mincore(
            ctypes.c_void_p(ctypes.addressof(address)), ctypes.c_size_t(len(mapped)), flags
        )
        del address
    if failed:
        return []
    found = []
    page = 0
    for is_cached, pages in groupby(flag & 1 for flag in flags):
        count = sum(1 for _ in pages)
        if not is_cached:
            found.append((first + page * mmap.PAGESIZE, first + (page + count) * mmap.PAGESIZE))
        page += count
    return found


READING: ContextVar[BackgroundReading | None] = ContextVar("READING", default=None)
"""How this process reads; None for full speed."""


@contextmanager
def reading_in_background(bytes_per_second: int) -> Iterator[None]:
    """Reads slowly in the block, with the lowest priority of this process and its workers from here on."""
    lower_priority()
    token = READING.set(BackgroundReading(bytes_per_second))
    try:
        yield
    finally:
        READING.reset(token)


def read_in_background(bytes_per_second: float) -> None:
    """Reads slowly in this process, which is a worker and has the priority of its parent."""
    READING.set(BackgroundReading(bytes_per_second))


def lower_priority() -> None:
    """Lets all others have processor and disk first, as far as the system can."""
    os.nice(NICENESS)
    number = _IOPRIO_SET.get(platform.machine()) if platform.system() == "Linux" else None
    if number is not None:
        ctypes.CDLL(None).syscall(number, _OF_THIS_THREAD, 0, _IDLE)  # a kernel without it answers with an error
