"""A queue for changes of the metadata: one at a time, in FIFO order.

Pure. Owns: the queue. Never does: I/O, waiting. Invariant: a change that has the turn gives it back exactly once.
Source: the event queue of Kafka's QuorumController, which handles one event after the other on one thread.
"""

from collections import deque
from collections.abc import Callable


class Turns:
    """The queue of changes."""

    def __init__(self) -> None:
        self._waiting: deque[Callable[[], object]] = deque()
        self.is_taken = False

    def __len__(self) -> int:
        """The number of waiting changes."""
        return len(self._waiting)

    def take(self, begin: Callable[[], object]) -> None:
        """Calls ``begin`` when it is the caller's turn: now, if no other change has it."""
        if self.is_taken:
            self._waiting.append(begin)
        else:
            self.is_taken = True
            begin()

    def give_back(self) -> None:
        """Ends a turn. The next one begins at once."""
        assert self.is_taken, "a turn was given back twice"
        if self._waiting:
            self._waiting.popleft()()
        else:
            self.is_taken = False

    def close(self) -> None:
        """Drops the waiting changes, because the broker stops."""
        self._waiting.clear()
