"""Threads that write to log files, so that the event loop does not wait for a large write.

Owns: the threads, which come with the first write. Never does: anything but what it is given. Invariant: what is to
follow a piece of work is called on the event loop, also where the work raised (then the executor's future has it).
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

MAX_THREADS = 4
"""A write to the page cache seldom waits; where the system makes writers wait for the disk, others still get on."""


class WriterThreads:
    """A few threads, which end when this object goes."""

    def __init__(self) -> None:
        self._pool: ThreadPoolExecutor | None = None

    def run(self, work: Callable[[], None], then: Callable[[], None]) -> None:
        """Runs ``work`` on a thread, then ``then`` on the event loop that is running now."""
        if self._pool is None:
            self._pool = ThreadPoolExecutor(MAX_THREADS, thread_name_prefix="writer")
        self._pool.submit(_run, work, then, asyncio.get_running_loop())

    def call_soon(self, callback: Callable[[], None]) -> None:
        """Calls back in the next turn of the event loop that is running now."""
        asyncio.get_running_loop().call_soon(callback)


def _run(work: Callable[[], None], then: Callable[[], None], loop: asyncio.AbstractEventLoop) -> None:
    try:
        work()
    finally:
        loop.call_soon_threadsafe(then)
