"""The timers that the core of one partition has set.

Owns: the timer of each key, and the retry of an event whose records could not be appended, or that raised an exception.
Never does: deciding what an event means, catching exceptions. Invariant: a timer that has fired was handled, or is set
again. Source: ``CoordinatorTimer``.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from odradek.protocol.errors import ErrorCode

from ..timers.timers import Timer, Timers
from .effects import CancelTimer, SetTimer, TimerKey

TIMER_RETRY_MS = 500
"""How long the retry of an event waits if its records could not be appended or it raised (``CoordinatorTimer``,
retryBackoff)."""


class _RunningTimer:
    """A timer that is set. It stays the same object while it is only postponed, as session timers are."""

    __slots__ = ("event", "handle", "key")

    handle: Timer

    def __init__(self, key: TimerKey, event: Any) -> None:
        self.key = key
        self.event = event


class ShardTimers:
    """Sets and cancels timers by their keys."""

    __slots__ = ("_by_key", "_fire", "_timers")

    def __init__(self, timers: Timers, fire: Callable[[Any], ErrorCode]) -> None:
        """``fire`` handles an event; if it returns an error or raises, it gets the event again after TIMER_RETRY_MS."""
        self._timers = timers
        self._fire = fire
        self._by_key: dict[TimerKey, _RunningTimer] = {}

    def carry_out(self, timers: list[SetTimer | CancelTimer]) -> None:
        """Sets and cancels timers, in order. A timer of the same key is postponed if possible, else replaced."""
        for wanted in timers:
            if isinstance(wanted, SetTimer):
                key, delay_ms, event = wanted
                known = self._by_key.get(key)
                if known is not None:
                    if self._timers.postpone(known.handle, delay_ms):
                        known.event = event
                        continue
                    known.handle.cancel()
                self._set(wanted)
            else:
                known = self._by_key.pop(wanted.key, None)
                if known is not None:
                    known.handle.cancel()

    def cancel_all(self) -> None:
        """Cancels every timer."""
        for timer in self._by_key.values():
            timer.handle.cancel()
        self._by_key.clear()

    def _set(self, wanted: SetTimer) -> None:
        timer = self._by_key[wanted.key] = _RunningTimer(wanted.key, wanted.event)
        timer.handle = self._timers.schedule(wanted.delay_ms, partial(self._due, timer))

    def _due(self, timer: _RunningTimer) -> None:
        del self._by_key[timer.key]
        is_handled = False
        try:
            is_handled = not self._fire(timer.event)
        except Exception as error:
            error.add_note(f"The timer's event, which is repeated in {TIMER_RETRY_MS} ms: {timer.event}")
            raise
        finally:
            if not is_handled and timer.key not in self._by_key:
                self._set(SetTimer(timer.key, TIMER_RETRY_MS, timer.event))
