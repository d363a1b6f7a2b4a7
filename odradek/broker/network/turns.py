"""The time that connections share in a turn of the event loop, and those that have more to do than there is time for.

Owns: the order of these connections. Never does: their work. Invariants: one turn of the loop works for ``turn_s`` and
one piece of work more, for all connections together: at most half of it for those that wait, so that some is left for
those that receive in this turn; those with little to do come first, in half of that time; while others wait, a
connection gets QUANTUM_S and a piece, and then the next one has its turn. Source: ours; Kafka's network threads take
turns in the same way, a buffer at a time.
"""

from collections import deque
from collections.abc import Callable
from time import perf_counter
from typing import Protocol

from ..timers.work import KindOfWork

TURNS = KindOfWork("turns", "works for connections that wait for their turn")
QUANTUM_S = 0.0002
"""The time in seconds after which a connection makes room for others that wait."""
NESTED = -1.0
LATE_BYTES = 4096
"""The most bytes that a connection receives in a turn whose time is over."""


class TurnTaker(Protocol):
    """A connection with work that waits."""

    def continue_turn(self) -> None:
        """Does at least one piece of the work. Puts itself into the queue again if more is left."""


class SharedTurns:
    """The time for one kind of work in each turn of an event loop."""

    def __init__(self, turn_s: float, clock_s: Callable[[], float] = perf_counter) -> None:
        """``turn_s``: the seconds after which a turn of the loop begins no further piece."""
        self._light: deque[TurnTaker] = deque()
        """The connections with little to do."""
        self._waiting: deque[TurnTaker] = deque()
        self._turn_s = turn_s
        self._queue_s = turn_s / 2
        """The part of it for connections that wait."""
        self._clock_s = clock_s
        self._spent_s = 0.0
        """In this turn, and up to half a turn of earlier ones: to learn of each turn's end would cost a callback."""
        self.has_time = True
        """Whether a connection may begin to work in this turn. An attribute, since each request asks twice."""
        self._began_s: float | None = None
        """When the measurement began that is under way."""
        self._is_scheduled = False

    def __len__(self) -> int:
        """The number of connections that wait."""
        return len(self._light) + len(self._waiting)

    def room(self, buffer: memoryview) -> memoryview:
        """The part of a receive buffer to fill now: all of it, or little in a turn whose time is over, since thousands
        of sockets can be read in one turn."""
        return buffer if self.has_time else buffer[:LATE_BYTES]

    def begin(self) -> float:
        """Begins a measurement; returns its time for :meth:`end`. One within another counts nothing by itself."""
        if self._began_s is not None:
            return NESTED
        self._began_s = began_s = self._clock_s()
        return began_s

    def may_go_on(self) -> bool:
        """Whether a connection that has done a piece of work in the measurement under way may begin another one."""
        assert self._began_s is not None, "a piece of work is measured"
        elapsed_s = self._clock_s() - self._began_s
        return self._spent_s + elapsed_s < self._turn_s and (
            elapsed_s < QUANTUM_S or not (self._waiting or self._light)
        )

    def end(self, began_s: float) -> None:
        """Counts the time since ``began_s`` as spent."""
        if began_s == NESTED:
            return
        self._began_s = None
        self._spent_s += self._clock_s() - began_s
        if self._spent_s >= self._queue_s:
            self.has_time = self._spent_s < self._turn_s
            self._schedule()

    def put(self, connection: TurnTaker, is_light: bool = False) -> None:
        """Queues a connection for its turn. Do not queue it again before that. ``is_light``: whether it has little to
        do, such as one request.
        """
        (self._light if is_light else self._waiting).append(connection)
        self._schedule()

    def run_some(self) -> None:
        """Begins a turn: works for those that wait. What is left continues in the next turn."""
        self._is_scheduled = False
        self._spent_s = 0.0
        self.has_time = True
        try:
            for queue, until_s in ((self._light, self._queue_s / 2), (self._waiting, self._queue_s)):
                if queue:
                    queue.popleft().continue_turn()
                while queue and self._spent_s < until_s:
                    queue.popleft().continue_turn()
        finally:  # an error of one connection must not stop the others
            if len(self):
                self._schedule()

    def _schedule(self) -> None:
        if not self._is_scheduled:
            self._is_scheduled = True
            TURNS.soon(self.run_some)
