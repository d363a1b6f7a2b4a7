"""A Fetch request that waits for data: long polling.

Pure. Owns: its registration with the partitions and its timer. Never does: polling. Invariant: completes exactly once,
by enough appended bytes, by a change of a partition, or by its timer. Source: ``DelayedFetch``.
"""

from collections.abc import Callable, Iterable
from typing import Protocol

from ..timers.timers import Timer

Waiter = Callable[[int], None]
"""Called with the number of bytes that have become readable; 0: the partition has changed in another way."""


class Source(Protocol):
    """An object that calls a waiting fetch when more can be read: a partition, or its leadership for a follower."""

    def wait(self, waiter: Waiter) -> None:
        """Calls ``waiter`` whenever more can be read, until :meth:`stop_waiting`."""

    def stop_waiting(self, waiter: Waiter) -> None:
        """Removes a waiter, if it is registered."""


class FetchWait:
    """Waits until ``missing_bytes`` more can be read from the partitions together, or until the timeout."""

    __slots__ = ("_complete", "_missing_bytes", "_sources", "_timer", "is_over")

    def __init__(
        self,
        sources: Iterable[Source],
        missing_bytes: int,
        delay_ms: int,
        schedule: Callable[[int, Callable[[], None]], Timer],
        complete: Callable[[], None],
    ) -> None:
        """``sources``: partitions, or :class:`..replicas.leading.Leading` for a follower. ``complete`` is called once;
        ``schedule(delay_ms, callback)`` sets the timer.
        """
        self._sources = list(sources)
        self._missing_bytes = missing_bytes
        self._complete = complete
        self.is_over = False
        self._timer = schedule(delay_ms, self.complete)
        for source in self._sources:
            source.wait(self._appended)

    def _appended(self, appended_bytes: int) -> None:
        self._missing_bytes -= appended_bytes
        if self._missing_bytes <= 0 or appended_bytes == 0:
            self.complete()

    def complete(self) -> None:
        """Completes now, unless it has completed already."""
        if self.is_over:
            return
        self.is_over = True
        self._timer.cancel()
        for source in self._sources:
            source.stop_waiting(self._appended)
        self._complete()
