"""The interfaces of timers, for all packages of the broker.

Pure. Owns: these protocols. Never does: anything. :class:`.loop_timers.LoopTimers`,
:class:`.patient_timers.PatientTimers` and the virtual timers of the tests implement them.
"""

from collections.abc import Callable
from typing import Protocol


class Timer(Protocol):
    """A timer that was set."""

    def cancel(self) -> None:
        """Drops the callback. Does nothing if the timer has fired."""

    def postpone(self, deadline_ms: int) -> bool:
        """Moves the timer to a later deadline, in ms of the clock of its timers.

        Returns False and changes nothing if the timer is due already, or if the new deadline is earlier.
        """


class Timers(Protocol):
    """Sets timers."""

    def schedule(self, delay_ms: int, callback: Callable[[], None]) -> Timer:
        """Calls back once after ``delay_ms``, never inside this call."""

    def postpone(self, timer: Timer, delay_ms: int) -> bool:
        """Postpones a timer until ``delay_ms`` from now.

        Returns False and changes nothing if the timer is already due or the new time is earlier. This is much
        cheaper than cancelling it and setting another: every heartbeat of a member does it.
        """


class CancelHandle(Protocol):
    """A scheduled callback of the event loop."""

    def cancel(self) -> None:
        """Cancels the callback."""


class Loop(Protocol):
    """The methods of an event loop that are needed."""

    def time(self) -> float:
        """Its monotonic clock in seconds."""

    def call_at(self, when: float, callback: Callable[[], None]) -> CancelHandle:
        """Calls back at a time of its clock."""

    def call_soon(self, callback: Callable[[], None]) -> object:
        """Calls back in the next turn."""
