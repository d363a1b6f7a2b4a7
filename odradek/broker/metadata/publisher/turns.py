"""A queue for changes of the metadata: one at a time, in FIFO order.

Pure. Owns: the queue. Never does: I/O, waiting. Invariant: a change that has the turn releases it exactly once.
Source: the event queue of Kafka's QuorumController, which handles one event after the other on one thread.
"""

from collections import deque
from collections.abc import Callable


class Turns:
    """The queue of changes."""

    def __init__(self) -> None:
        self._waiting: deque[Callable[[], object]] = deque()
        self.is_acquired = False

    def __len__(self) -> int:
        """The number of waiting changes."""
        return len(self._waiting)

    def acquire(self, begin: Callable[[], object]) -> None:
        """Calls ``begin`` when the caller has the turn: at once if no other change has it."""
        if self.is_acquired:
            self._waiting.append(begin)
        else:
            self.is_acquired = True
            begin()

    def release(self) -> None:
        """Ends a turn. The next one begins at once."""
        assert self.is_acquired, "a turn was released twice"
        if self._waiting:
            self._waiting.popleft()()
        else:
            self.is_acquired = False

    def close(self) -> None:
        """Drops the waiting changes, because the broker stops."""
        self._waiting.clear()
