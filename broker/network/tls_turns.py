"""The turns of TLS connections that have received more than there is time to decrypt.

Owns: the order of these connections. Never does: TLS itself. Invariants: one turn of the event loop decrypts for TURN_S
and one piece of records more, for all connections together: at most QUEUE_S of it for those that wait, so that some is
left for those that receive in this turn; a connection that waits gets one piece, and then the next one has its turn.
Serving the requests that were decrypted counts, too. Source: ours; Kafka's network threads take turns in the same way,
a buffer at a time.
"""

from collections import deque
from collections.abc import Callable
from time import perf_counter
from typing import Protocol

from ..timers.work import KindOfWork

DECRYPTING = KindOfWork("tls-turns", "decrypts for connections that wait for their turn")
TURN_S = 0.002
"""The time in seconds after which a turn of the loop decrypts no further piece."""
QUEUE_S = 0.001
"""The part of it for connections that wait."""


class Decrypting(Protocol):
    """A connection with ciphertext that waits."""

    def continue_decrypting(self) -> None:
        """Decrypts at least one piece. Puts itself into the queue again if more is left."""


class TlsTurns:
    """The time for decryption in each turn of an event loop, and the connections that wait for some."""

    def __init__(self, clock_s: Callable[[], float] = perf_counter) -> None:
        self._waiting: deque[Decrypting] = deque()
        self._clock_s = clock_s
        self._spent_s = 0.0
        """In this turn. It may include up to QUEUE_S of earlier turns: to learn of each turn's end costs a callback."""
        self._is_scheduled = False

    def __len__(self) -> int:
        """The number of connections that wait."""
        return len(self._waiting)

    def has_time(self) -> bool:
        """Whether a connection may begin to decrypt in this turn."""
        return self._spent_s < TURN_S

    def begin(self) -> float:
        """Begins a measurement; returns its time for :meth:`may_go_on` and :meth:`end`."""
        return self._clock_s()

    def may_go_on(self, began_s: float) -> bool:
        """Whether a connection that has decrypted a piece since ``began_s`` may decrypt another one."""
        return not self._waiting and self._spent_s + self._clock_s() - began_s < TURN_S

    def end(self, began_s: float) -> None:
        """Counts the time since ``began_s`` as spent."""
        self._spent_s += self._clock_s() - began_s
        if self._spent_s >= QUEUE_S:
            self._schedule()

    def put(self, connection: Decrypting) -> None:
        """Queues a connection for a piece. Do not queue it again before that."""
        self._waiting.append(connection)
        self._schedule()

    def run_some(self) -> None:
        """Begins a turn: decrypts for those that wait. What is left continues in the next turn."""
        self._is_scheduled = False
        self._spent_s = 0.0
        waiting = self._waiting
        try:
            while waiting and self._spent_s < QUEUE_S:
                waiting.popleft().continue_decrypting()
        finally:  # an error of one connection must not stop the others
            if waiting:
                self._schedule()

    def _schedule(self) -> None:
        if not self._is_scheduled:
            self._is_scheduled = True
            DECRYPTING.turn(self.run_some)
