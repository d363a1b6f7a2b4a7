"""Runs a function in turns of the event loop: after each event that may give it work, and after a delay of its choice.

Owns: the scheduled turn and the timer. A turn is a callback and no task, because a task that waits with a timeout costs
as much as the turn. Invariant: at most one turn is scheduled, however many events come before it.
"""

import asyncio
from collections.abc import Callable


class SenderTurns:
    """Calls ``work`` in turns between ``start`` and ``stop``."""

    def __init__(self, work: Callable[[], float | None], failed: Callable[[BaseException], None]) -> None:
        """``work`` returns the ms until its next turn is needed; None: only after ``wake``.

        ``failed`` gets the exception of a turn that raised. The exception then goes to the event loop's handler.
        """
        self._work = work
        self._failed = failed
        self.loop: asyncio.AbstractEventLoop
        """The event loop, from ``start`` on."""
        self._is_running = False
        self._is_woken = False
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at_s = 0.0

    def start(self) -> None:
        """Schedules the first turn."""
        self.loop = asyncio.get_running_loop()
        self._is_running = True
        self.wake()

    def stop(self) -> None:
        """Ends the turns. May be called again."""
        self._is_running = False
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def wake(self) -> None:
        """Schedules a turn, unless one is scheduled. Does nothing before ``start`` and after ``stop``."""
        if not self._is_woken and self._is_running:
            self._is_woken = True
            self.loop.call_soon(self._turn)

    def _turn(self) -> None:
        self._is_woken = False
        if not self._is_running:
            return
        try:
            delay_ms = self._work()
        except Exception as failure:
            self._failed(failure)
            raise
        if delay_ms is not None:
            self._turn_within(delay_ms / 1000)

    def _turn_within(self, delay_s: float) -> None:
        """Schedules a turn in ``delay_s`` seconds at the latest. One that is too early waits again."""
        at_s = self.loop.time() + delay_s
        if self._timer is not None:
            if self._timer_at_s <= at_s:
                return
            self._timer.cancel()
        self._timer_at_s = at_s
        self._timer = self.loop.call_at(at_s, self._timer_ended)

    def _timer_ended(self) -> None:
        self._timer = None
        self.wake()
