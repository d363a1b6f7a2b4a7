"""The order in which the persister is asked about the share partitions of a group: one request after the other.

Shell. Owns: the requests that wait. Never does: asking. Invariant: a request of a group begins after all answers to the
one before it. Without this order, a deletion of many share partitions could still delete the state that a member
has made anew: the group would take it for stored, and its members would get no records. Source: none; Kafka has no
order.
"""

from collections import deque
from collections.abc import Callable

from odradek.protocol.errors import ErrorCode

from ...timers.timers import Timers

Begin = Callable[[ErrorCode], None]
"""Begins a request. The error is NONE, or NOT_COORDINATOR if the group moved to another broker while it waited."""


class StateTurns:
    """The requests of the groups of one coordinator. ``is_served``: whether this broker coordinates a group."""

    def __init__(self, timers: Timers, is_served: Callable[[str], bool]) -> None:
        self._timers = timers
        self._is_served = is_served
        self._waiting: dict[str, deque[Begin]] = {}
        """The requests that wait, of each group with one under way."""

    def take(self, group_id: str, begin: Begin) -> None:
        """Begins a request now, or after those of the group that came before it. It ends with :meth:`end`."""
        waiting = self._waiting.get(group_id)
        if waiting is not None:
            waiting.append(begin)
            return
        self._waiting[group_id] = deque()
        begin(ErrorCode.NONE)

    def end(self, group_id: str) -> None:
        """Ends the request of a group. The next one begins in a later turn of the event loop."""
        if self._waiting[group_id]:
            self._timers.schedule(0, lambda: self._next(group_id))
        else:
            del self._waiting[group_id]

    def _next(self, group_id: str) -> None:
        begin = self._waiting[group_id].popleft()
        begin(ErrorCode.NONE if self._is_served(group_id) else ErrorCode.NOT_COORDINATOR)
