"""A clock that a test sets forward: for retention, sessions, transaction timeouts and everything that expires.

Owns: how far it is ahead. Never does: going back. Invariants: timestamps (ms since the epoch) and timers move by the
same time; the jump does not count as a stall, so that they expire as if the time had passed without a word of their
clients.
"""

import asyncio
from collections.abc import Callable

from ..broker.timers.timers import CancelHandle
from ..protocol.wall_clock import clock_ms


class AdvanceableClock:
    """The system's clock, and the time that a test has added."""

    def __init__(self) -> None:
        self._ahead_ms = 0

    def clock_ms(self) -> int:
        """Milliseconds since the epoch."""
        return clock_ms() + self._ahead_ms

    @property
    def ahead_ms(self) -> int:
        """How far it is ahead of the system's clock, in ms."""
        return self._ahead_ms

    def advance(self, ms: int) -> None:
        """Sets it forward. Timers have to look again then. Raises ValueError if ``ms`` is negative."""
        if ms < 0:
            raise ValueError(f"a clock can't go back by {-ms} ms")
        self._ahead_ms += ms

    def reset(self) -> None:
        """Makes it the system's clock again, for a new broker."""
        self._ahead_ms = 0

    def timer_loop(self, loop: asyncio.AbstractEventLoop) -> "AdvancedLoop":
        """The event loop with this clock, for timers."""
        return AdvancedLoop(loop, self)


class AdvancedLoop:
    """The clock and the wake-ups of an event loop, ahead by the time of a clock."""

    def __init__(self, loop: asyncio.AbstractEventLoop, clock: AdvanceableClock) -> None:
        self._loop = loop
        self._clock = clock

    def time(self) -> float:
        """A monotonic clock in seconds."""
        return self._loop.time() + self._clock.ahead_ms / 1000

    def call_at(self, when: float, callback: Callable[[], None]) -> CancelHandle:
        """Calls back at a time of :meth:`time`."""
        return self._loop.call_at(when - self._clock.ahead_ms / 1000, callback)

    def call_soon(self, callback: Callable[[], None]) -> object:
        """Calls back in the next turn."""
        return self._loop.call_soon(callback)
