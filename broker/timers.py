"""Timers of the broker: one queue for all, driven by one timer of the event loop.

Owns: what is due when. Never does: reading a clock of its own (the shell gives one), keeping cancelled callbacks alive.
Deadlines are rounded up to a tick, so that thousands of sessions share few wake-ups: setting a timer costs a dictionary
look-up and an append, cancelling one assignment. Source: Kafka's hierarchical timing wheel (``SystemTimer``), for the
same reason; here one level of buckets in a heap does, since the heap holds ticks and not timers.
"""

from collections.abc import Callable
from heapq import heappop, heappush

TICK_MS = 4


class TimerHandle:
    """A timer that was set; :meth:`cancel` takes it back."""

    __slots__ = ("callback", "deadline_ms")

    def __init__(self, deadline_ms: int, callback: Callable[[], None]) -> None:
        self.deadline_ms = deadline_ms
        self.callback: Callable[[], None] | None = callback

    def cancel(self) -> None:
        """Forgets the callback; harmless when the timer has fired."""
        self.callback = None


class TimerQueue:
    """Timers by deadline, in milliseconds of a monotonic clock that the caller reads."""

    __slots__ = ("_buckets", "_ticks")

    def __init__(self) -> None:
        self._buckets: dict[int, list[TimerHandle]] = {}
        self._ticks: list[int] = []

    def add(self, deadline_ms: int, callback: Callable[[], None]) -> TimerHandle:
        """Sets a timer for ``deadline_ms``; it fires at that time or up to ``TICK_MS`` later."""
        handle = TimerHandle(deadline_ms, callback)
        tick = -(-deadline_ms // TICK_MS)
        bucket = self._buckets.get(tick)
        if bucket is None:
            self._buckets[tick] = [handle]
            heappush(self._ticks, tick)
        else:
            bucket.append(handle)
        return handle

    def next_deadline_ms(self) -> int | None:
        """When the next timer that was not cancelled is due, or None; drops buckets in which all were cancelled."""
        while self._ticks:
            tick = self._ticks[0]
            if any(handle.callback is not None for handle in self._buckets[tick]):
                return tick * TICK_MS
            heappop(self._ticks)
            del self._buckets[tick]
        return None

    def pop_due(self, now_ms: int) -> list[Callable[[], None]]:
        """Takes out the callbacks due at ``now_ms``, in the order of their ticks, then of their setting."""
        due: list[Callable[[], None]] = []
        while self._ticks and self._ticks[0] * TICK_MS <= now_ms:
            for handle in self._buckets.pop(heappop(self._ticks)):
                if handle.callback is not None:
                    due.append(handle.callback)
                    handle.callback = None
        return due
