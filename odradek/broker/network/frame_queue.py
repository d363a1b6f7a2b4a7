"""Frames of one connection that wait for an earlier request.

Owns: these frames, their size, when each arrived. Never does: serving them.
"""

from collections import deque
from collections.abc import Callable


class FrameQueue(deque[memoryview]):
    """Frames in the order of their arrival.

    It is a deque, so that a connection asks whether a frame waits without a call of Python.
    """

    __slots__ = ("_arrivals", "_clock_ns", "nbytes")

    def __init__(self, clock_ns: Callable[[], int] | None) -> None:
        """``clock_ns``: None without metrics."""
        super().__init__()
        self.nbytes = 0
        """The bytes of all frames."""
        self._clock_ns = clock_ns
        self._arrivals: deque[int] = deque()

    def keep(self, frame: memoryview, owned: bool) -> None:
        """Adds a frame: a copy, unless the frame owns its bytes."""
        self.append(frame if owned else memoryview(bytes(frame)))
        self.nbytes += len(frame)
        if self._clock_ns is not None:
            self._arrivals.append(self._clock_ns())

    def take(self) -> tuple[memoryview, int]:
        """Removes the oldest frame. Returns it and when it arrived; 0 without metrics."""
        frame = self.popleft()
        self.nbytes -= len(frame)
        return frame, self._arrivals.popleft() if self._arrivals else 0
