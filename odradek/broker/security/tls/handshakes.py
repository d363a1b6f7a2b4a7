"""The handshakes that are under way: a few in each turn of the event loop.

Owns: their order. Never does: TLS itself. Invariant: a turn of the loop spends at most ``TURN_S`` and one step of a
handshake (0.5 to 1 ms) on them, so a flood of handshakes leaves every other turn to the clients that are connected.
"""

from collections import deque
from collections.abc import Callable
from time import perf_counter
from typing import Protocol

from ...timers.work import KindOfWork

HANDSHAKES = KindOfWork("tls-handshakes", "continues TLS handshakes")

TURN_S = 0.001
"""The time for handshakes in one turn of the loop, in seconds. A step that has begun is finished."""


class Handshake(Protocol):
    """A connection in its handshake."""

    def continue_handshake(self) -> None:
        """Does one step with what was received."""


class HandshakeQueue:
    """Connections whose handshake can continue, in the order in which their bytes arrived."""

    def __init__(self, clock_s: Callable[[], float] = perf_counter) -> None:
        self._ready: deque[Handshake] = deque()
        self._clock_s = clock_s

    def __len__(self) -> int:
        return len(self._ready)

    def put(self, handshake: Handshake) -> None:
        """Queues a handshake for one step. Do not queue it again before that."""
        if not self._ready:
            HANDSHAKES.soon(self.run_some)
        self._ready.append(handshake)

    def run_some(self) -> None:
        """Takes the steps of this turn, at least one. What is left continues in the next turn."""
        until_s = self._clock_s() + TURN_S
        ready = self._ready
        try:
            while ready:
                try:
                    ready[0].continue_handshake()
                finally:
                    ready.popleft()  # after the step: an empty queue means that no turn is scheduled
                if self._clock_s() >= until_s:
                    break
        finally:  # a step that raises ends its own handshake only
            if ready:
                HANDSHAKES.soon(self.run_some)
