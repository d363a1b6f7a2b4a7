"""Who may change the metadata: one at a time, in the order in which they asked.

Pure. Owns: the queue. Never does: I/O, waiting. Invariant: who has the turn gives it back once, whatever happens.
Source: the event queue of Kafka's QuorumController, which handles one event after the other on one thread.
"""

from collections import deque
from collections.abc import Callable


class Turns:
    """The queue of those who want to change something."""

    def __init__(self) -> None:
        self._waiting: deque[Callable[[], object]] = deque()
        self.is_taken = False

    def __len__(self) -> int:
        """How many wait for their turn."""
        return len(self._waiting)

    def take(self, begin: Callable[[], object]) -> None:
        """Calls ``begin`` when it is the caller's turn: now, if no one else has it."""
        if self.is_taken:
            self._waiting.append(begin)
        else:
            self.is_taken = True
            begin()

    def give_back(self) -> None:
        """Ends a turn; the next one begins at once."""
        assert self.is_taken, "a turn was given back twice"
        if self._waiting:
            self._waiting.popleft()()
        else:
            self.is_taken = False

    def close(self) -> None:
        """Drops those who wait: the broker stops."""
        self._waiting.clear()
