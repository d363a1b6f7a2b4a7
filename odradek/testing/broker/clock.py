"""A clock that a test sets forward: for retention, sessions, transaction timeouts and everything that expires.

Owns: how far it is ahead of the system's clock. Never does: going back. Invariants: timestamps (ms since the epoch) and
timers move by the same time. The broker does not treat the jump as a stall of its own process, so sessions expire as if
that time had passed without a heartbeat.
"""

import asyncio
from collections.abc import Callable

from odradek.broker.timers.timers import CancelHandle
from odradek.protocol.common.wall_clock import clock_ms


class AdvanceableClock:
    """The system's clock plus the time that a test has added."""

    def __init__(self) -> None:
        self._ahead_ms = 0

    def clock_ms(self) -> int:
        """The time in ms since the epoch, with the added time."""
        return clock_ms() + self._ahead_ms

    @property
    def ahead_ms(self) -> int:
        """The time that was added, in ms."""
        return self._ahead_ms

    def advance(self, ms: int) -> None:
        """Sets the clock forward. The caller must then have the timers check which are due. Raises ValueError if ``ms``
        is negative.
        """
        if ms < 0:
            raise ValueError(f"a clock can't go back by {-ms} ms")
        self._ahead_ms += ms

    def reset(self) -> None:
        """Removes the added time, for a new broker."""
        self._ahead_ms = 0

    def timer_loop(self, loop: asyncio.AbstractEventLoop) -> "AdvancedLoop":
        """The event loop as timers see it: its clock is ahead by the added time."""
        return AdvancedLoop(loop, self)


class AdvancedLoop:
    """The clock and the timers of an event loop, moved forward by the time that an AdvanceableClock is ahead."""

    def __init__(self, loop: asyncio.AbstractEventLoop, clock: AdvanceableClock) -> None:
        self._loop = loop
        self._clock = clock

    def time(self) -> float:
        """The time of the loop's monotonic clock plus the added time, in seconds."""
        return self._loop.time() + self._clock.ahead_ms / 1000

    def call_at(self, when: float, callback: Callable[[], None]) -> CancelHandle:
        """Calls ``callback`` when :meth:`time` reaches ``when``. A later advance does not move the call."""
        return self._loop.call_at(when - self._clock.ahead_ms / 1000, callback)

    def call_soon(self, callback: Callable[[], None]) -> object:
        """Calls ``callback`` in the next iteration of the loop."""
        return self._loop.call_soon(callback)
