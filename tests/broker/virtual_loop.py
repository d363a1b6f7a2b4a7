"""The timers of an event loop in virtual time."""

import heapq
import itertools
from collections.abc import Callable


class Callback:
    """A scheduled callback."""

    def __init__(self, callback: Callable[[], None]) -> None:
        self.callback: Callable[[], None] | None = callback

    def cancel(self) -> None:
        """Drops the callback."""
        self.callback = None


class VirtualLoop:
    """An event loop with a virtual clock. A stall advances it without running callbacks."""

    def __init__(self) -> None:
        self.now_ms = 1_000.0
        self._queue: list[tuple[float, int, Callback]] = []
        self._order = itertools.count()

    @property
    def waits(self) -> bool:
        """Whether a callback is scheduled."""
        return any(handle.callback is not None for _, _, handle in self._queue)

    def time(self) -> float:
        """The clock in seconds."""
        return self.now_ms / 1000

    def call_at(self, when: float, callback: Callable[[], None]) -> Callback:
        """Schedules a callback at a time of the clock."""
        handle = Callback(callback)
        heapq.heappush(self._queue, (when * 1000, next(self._order), handle))
        return handle

    def call_soon(self, callback: Callable[[], None]) -> Callback:
        """Schedules a callback for now."""
        return self.call_at(self.time(), callback)

    def run(self, ms: float) -> None:
        """Advances the clock by ``ms`` and runs callbacks in time."""
        end = self.now_ms + ms
        while self._queue and self._queue[0][0] <= end:
            due, _, handle = heapq.heappop(self._queue)
            self.now_ms = max(self.now_ms, due)
            if handle.callback is not None:
                handle.callback()
        self.now_ms = max(self.now_ms, end)

    def stall(self, ms: float) -> None:
        """Advances the clock by ``ms`` without running callbacks."""
        self.now_ms += ms
