"""Threads that write to log files, so that the event loop does not wait for a large write.

Owns: the threads, which start with the first write. Never does: any work of its own. Invariant: the callback of a piece
of work runs on the event loop, even if the work raised: the exception is counted and logged.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from ..timers.work import KindOfWork

WRITES = KindOfWork("large-append", "writes large batches on threads")

MAX_THREADS = 4
"""Writes to the page cache seldom wait. If one waits for the disk, the others can continue."""


class WriterThreads:
    """A few threads, which end with this object."""

    def __init__(self) -> None:
        self._pool: ThreadPoolExecutor | None = None

    def run(self, work: Callable[[], None], then: Callable[[], None]) -> None:
        """Runs ``work`` on a thread, then ``then`` on the event loop that is running now."""
        if self._pool is None:
            self._pool = ThreadPoolExecutor(MAX_THREADS, thread_name_prefix="writer")
        self._pool.submit(_run, work, then, asyncio.get_running_loop())

    def next_turn(self, callback: Callable[[], None]) -> None:
        """Calls back in the next turn of the event loop that is running now."""
        WRITES.soon(callback)


def _run(work: Callable[[], None], then: Callable[[], None], loop: asyncio.AbstractEventLoop) -> None:
    WRITES.call(work)
    WRITES.soon_in(loop, then)
