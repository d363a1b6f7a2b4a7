"""A Fetch request that waits for data: long polling.

Pure. Owns: its registration with the partitions and its timer. Never does: polling. Invariant: completes exactly once,
by enough appended bytes, by a change of a partition, or by its timer. Source: ``DelayedFetch``.
"""

from collections.abc import Callable, Iterable

from ..replicas.partition import Partition
from ..timers.timers import Timer


class FetchWait:
    """Waits until ``missing_bytes`` more can be read from the partitions together, or until the timeout."""

    __slots__ = ("_complete", "_missing_bytes", "_partitions", "_timer", "is_over")

    def __init__(
        self,
        partitions: Iterable[Partition],
        missing_bytes: int,
        delay_ms: int,
        schedule: Callable[[int, Callable[[], None]], Timer],
        complete: Callable[[], None],
    ) -> None:
        """``complete`` is called once; ``schedule(delay_ms, callback)`` sets the timer."""
        self._partitions = list(partitions)
        self._missing_bytes = missing_bytes
        self._complete = complete
        self.is_over = False
        self._timer = schedule(delay_ms, self.complete)
        for partition in self._partitions:
            partition.wait(self._appended)

    def _appended(self, partition: Partition, appended_bytes: int) -> None:
        self._missing_bytes -= appended_bytes
        if self._missing_bytes <= 0 or appended_bytes == 0:
            self.complete()

    def complete(self) -> None:
        """Completes now, unless it has completed already."""
        if self.is_over:
            return
        self.is_over = True
        self._timer.cancel()
        for partition in self._partitions:
            partition.stop_waiting(self._appended)
        self._complete()
