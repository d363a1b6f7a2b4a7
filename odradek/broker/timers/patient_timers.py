"""The timers of sessions and transactions: a stall of the broker does not make them fire.

Owns: one ``call_at`` of the event loop. The rules are in :mod:`.patience`. The clock of these timers is the loop's
minus the time of stalls.
"""

import time
from collections.abc import Callable

from .patience import TICK_MS, Patience
from .timer_queue import TIMERS, DueCallbacks, TimerHandle, TimerQueue
from .timers import CancelHandle, Loop, Timer

HOLD_CHECK_MS = 10
"""The interval of checks for drained sockets while expirations are held back."""


class PatientTimers:
    """Schedules callbacks on an event loop, and holds them back after a stall."""

    def __init__(
        self,
        loop: Loop,
        unread: Callable[[], Callable[[], bool]],
        on_wake_up: Callable[[int, int], None],
        suspended_ms: Callable[[], int],
    ) -> None:
        """``unread`` finds the sockets with unread bytes, and returns a function that tells whether those were read
        since. ``on_wake_up`` is called with the time in ms and the suspension before it; ``suspended_ms`` returns the
        total time of suspensions, from any starting point.
        """
        self._loop = loop
        self._time_s = loop.time
        self._unread = unread
        self._on_wake_up = on_wake_up
        self._suspended_ms = suspended_ms
        self._patience = Patience(suspended_ms())
        self._is_drained: Callable[[], bool] = bool
        self._queue = TimerQueue()
        self._due = DueCallbacks(loop.call_soon)
        self._wake_up: CancelHandle | None = None
        self._wake_up_ms = 0
        self._closed = False

    def now_ms(self) -> int:
        """The clock of these timers in milliseconds: it stands still while the broker is stalled."""
        return int(self._time_s() * 1000) - self._patience.stalled_ms

    def lost_ms(self) -> int:
        """The total time of stalls in ms, with suspensions of the machine."""
        return self._patience.lost_ms

    def schedule(self, delay_ms: int, callback: Callable[[], None]) -> TimerHandle:
        """Calls ``callback`` after ``delay_ms`` (rounded up to a tick); the handle cancels it."""
        deadline_ms = self.now_ms() + max(0, delay_ms)
        handle = self._queue.add(deadline_ms, callback)
        if not self._closed and not self._patience.is_holding:
            due_ms = deadline_ms + self._patience.stalled_ms
            if self._wake_up is None or due_ms < self._wake_up_ms:
                self._arm(due_ms)
        return handle

    def postpone(self, timer: Timer, delay_ms: int) -> bool:
        """Postpones a timer of :meth:`schedule` until ``delay_ms`` from now. Returns False if the timer is already due
        or the new time is earlier.
        """
        return timer.postpone(int(self._time_s() * 1000) - self._patience.stalled_ms + delay_ms)

    def every(self, interval_ms: int, work: Callable[[], object]) -> None:
        """Runs ``work`` every ``interval_ms``, for the first time after one interval."""

        def run() -> None:
            self.schedule(interval_ms, run)
            work()

        self.schedule(interval_ms, run)

    def look_again(self) -> None:
        """Fires the due timers in the next turn, because the clock was set forward. Does not count as a stall."""
        if not self._closed:
            self._arm(self._patience.stalled_ms + self.now_ms())

    def close(self) -> None:
        """Stops: no timer fires any more."""
        self._closed = True
        if self._wake_up is not None:
            self._wake_up.cancel()
            self._wake_up = None

    def _arm(self, due_ms: int) -> None:
        """Wakes up at ``due_ms`` of the loop's clock, and within a tick in any case."""
        if self._wake_up is not None:
            self._wake_up.cancel()
        self._wake_up_ms = due_ms = min(due_ms, int(self._time_s() * 1000) + TICK_MS)
        self._patience.armed(due_ms)
        self._wake_up = self._loop.call_at(due_ms / 1000 + 0.001, self._fire)

    def _fire(self) -> None:
        self._wake_up = None
        now_ms = int(self._time_s() * 1000)
        suspended_ms = self._suspended_ms()
        stall_ms = self._patience.note_wakeup(now_ms, suspended_ms)
        self._on_wake_up(now_ms, suspended_ms)
        if not self._patience.may_expire(now_ms, self._was_drained(has_stalled=stall_ms > 0)):
            self._arm(now_ms + HOLD_CHECK_MS)
            return
        self._is_drained = bool
        self._due.add(self._queue.pop_due(now_ms - self._patience.stalled_ms))
        if not self._closed and self._wake_up is None:
            deadline_ms = self._queue.next_deadline_ms()
            if deadline_ms is not None:
                self._arm(deadline_ms + self._patience.stalled_ms)

    def _was_drained(self, *, has_stalled: bool) -> bool:
        """Whether what lay in the sockets after the last stall has been read. False after an exception: no timer fires
        before the next wake-up is set, and ``Patience`` limits the time for which timers are held back."""
        try:
            if has_stalled:
                self._is_drained = self._unread()
            return self._patience.is_holding and self._is_drained()
        except Exception as error:  # noqa: BLE001 - a bug: all sessions and transactions wait for these timers
            TIMERS.failed("looking at the sockets after a stall", error)
            return False


def suspended_ms() -> int:
    """The time that this machine has been suspended, in ms from an unknown starting point.

    Linux has a clock that includes suspensions. Other systems use the wall clock: setting it looks like a suspension,
    which only causes a grace period.
    """
    clock = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_REALTIME)
    return int((time.clock_gettime(clock) - time.monotonic()) * 1000)
