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
LARGE_APPEND_BYTES = 32 * 1024
"""Batches of at least this size are written on a thread. A hand-over to a thread and back costs 0.1 ms of CPU. A write
of 32 KiB takes 0.01 ms, one of 1 MiB 1 ms, and several times that while the disk is busy. Measured: two connections
write batches at full rate while a third sends small requests. Median latency of the small requests: for batches of 1 MB
10 to 15 ms with writes on the event loop and 2 to 3 ms with threads, for 64 KB 3 to 5 and 0.5 to 0.8 ms, for 32 KB 1.5
to 2.3 and 0.4 ms. Their 99th percentile falls to between a fifth and two thirds of what it was. With batches of up to
64 KB the writers are faster, too; with larger ones the runs do not agree.
"""


class WriterThreads:
    """A few threads, which end with this object."""

    def __init__(self, large_bytes: int = LARGE_APPEND_BYTES) -> None:
        """``large_bytes``: batches of at least this size are written on a thread."""
        self.large_bytes = large_bytes
        self._pool: ThreadPoolExecutor | None = None

    def run(self, work: Callable[[], None], then: Callable[[], None]) -> None:
        """Runs ``work`` on a thread, then ``then`` on the event loop that is running now."""
        if self._pool is None:
            self._pool = ThreadPoolExecutor(MAX_THREADS, thread_name_prefix="writer")
        WRITES.in_pool(self._pool, _run, work, then, asyncio.get_running_loop())

    def next_turn(self, callback: Callable[[], None]) -> None:
        """Calls back in the next turn of the event loop that is running now."""
        WRITES.soon(callback)


def _run(work: Callable[[], None], then: Callable[[], None], loop: asyncio.AbstractEventLoop) -> None:
    WRITES.call(work)
    WRITES.soon_in(loop, then)
