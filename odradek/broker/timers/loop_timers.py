"""The event loop's side of the timers: wakes up when the next one is due.

Owns at most one ``call_at`` of the loop. The rules are in :mod:`.timer_queue`; the clock here is the loop's monotonic
one.
"""

import time
from collections.abc import Callable

from .timer_queue import DueCallbacks, TimerHandle, TimerQueue
from .timers import CancelHandle, Loop, Timer


def monotonic_ms() -> int:
    """A monotonic clock, in milliseconds. Its zero is arbitrary, and the same in the whole process."""
    return time.monotonic_ns() // 1_000_000


class LoopTimers:
    """Schedules callbacks on an event loop through one :class:`TimerQueue`."""

    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self.time_s: Callable[[], float] = loop.time
        """The loop's monotonic clock in seconds, for code that reads it with every request."""
        self._queue = TimerQueue()
        self._due = DueCallbacks(loop.call_soon)
        self._wake_up: CancelHandle | None = None
        self._wake_up_ms = 0
        self._closed = False

    def now_ms(self) -> int:
        """The loop's monotonic clock in milliseconds."""
        return int(self._loop.time() * 1000)

    def every(self, interval_ms: int, work: Callable[[], object], first_ms: int | None = None) -> None:
        """Runs ``work`` every ``interval_ms``, for the first time after ``first_ms``; None: after one interval."""

        def run() -> None:
            self.schedule(interval_ms, run)
            work()

        self.schedule(interval_ms if first_ms is None else first_ms, run)

    def schedule(self, delay_ms: int, callback: Callable[[], None]) -> TimerHandle:
        """Calls ``callback`` after ``delay_ms`` (rounded up to a tick); the handle cancels it."""
        deadline_ms = int(self.time_s() * 1000) + (delay_ms if delay_ms > 0 else 0)
        handle = self._queue.add(deadline_ms, callback)
        if not self._closed and (self._wake_up is None or deadline_ms < self._wake_up_ms):
            self._arm(deadline_ms)
        return handle

    def postpone(self, timer: Timer, delay_ms: int) -> bool:
        """Postpones a timer of :meth:`schedule` until ``delay_ms`` from now. Returns False if the timer is already due
        or the new time is earlier.

        The loop's own timer is not changed: when it fires, it is set for the next deadline.
        """
        return timer.postpone(int(self.time_s() * 1000) + delay_ms)

    def look_again(self) -> None:
        """Fires the due timers in the next turn, because the clock was set forward."""
        if not self._closed:
            self._arm(self.now_ms())

    def close(self) -> None:
        """Stops: no timer fires any more."""
        self._closed = True
        if self._wake_up is not None:
            self._wake_up.cancel()
            self._wake_up = None

    def _arm(self, deadline_ms: int) -> None:
        if self._wake_up is not None:
            self._wake_up.cancel()
        self._wake_up_ms = deadline_ms
        self._wake_up = self._loop.call_at(deadline_ms / 1000 + 0.001, self._fire)

    def _fire(self) -> None:
        self._wake_up = None
        self._due.add(self._queue.pop_due(self.now_ms()))
        if not self._closed and self._wake_up is None:
            deadline_ms = self._queue.next_deadline_ms()
            if deadline_ms is not None:
                self._arm(deadline_ms)
