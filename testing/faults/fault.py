"""One fault, as a test holds it: how often it happened, and its end.

Owns: the count, and how many times are left. Never does: serving requests. Invariant: the broker's thread counts, any
thread may ask.
"""

import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self

WAIT_S = 60.0


class RequestFault:
    """A fault that was asked for. In a ``with`` block it ends with the block."""

    def __init__(self, description: str, times: int | None, remove: Callable[["RequestFault"], None]) -> None:
        """``times``: how often it may happen; None without limit. ``remove`` takes it from the broker's list."""
        self.description = description
        self._left = times
        self._remove = remove
        self._fired = 0
        self._changed = threading.Condition()

    @property
    def fired(self) -> int:
        """How many requests it has met."""
        return self._fired

    @property
    def is_over(self) -> bool:
        """Whether it has happened as often as it may."""
        return self._left == 0

    def note(self) -> bool:
        """Counts one more request. Returns False, and counts nothing, if the fault is over."""
        with self._changed:
            if self._left == 0:
                return False
            if self._left is not None:
                self._left -= 1
            self._fired += 1
            self._changed.notify_all()
            return True

    def wait_until_fired(self, times: int = 1, timeout_s: float = WAIT_S) -> None:
        """Returns when it has met so many requests. Raises TimeoutError after ``timeout_s`` seconds."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._fired >= times, timeout_s):
                raise TimeoutError(f"{self.description}: {self._fired} of {times} requests came in {timeout_s:g} s")

    def remove(self) -> None:
        """Ends it: no further request meets it. Harmless if it has ended."""
        with self._changed:
            self._left = 0
        self._remove(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.remove()

    def __repr__(self) -> str:
        return f"<{self.description}: {self._fired} requests so far>"


class Hold(RequestFault):
    """Answers that wait until the test lets them go."""

    def __init__(self, description: str, times: int | None, remove: Callable[[RequestFault], None]) -> None:
        super().__init__(description, times, remove)
        self._waiting: list[Callable[[], object]] = []
        self._is_open = False

    def keep(self, answer: Callable[[], object]) -> None:
        """Keeps an answer, which is a function that any thread may call. After :meth:`release` it goes at once."""
        with self._changed:
            if not self._is_open:
                self._waiting.append(answer)
                self._changed.notify_all()
                return
        answer()

    @property
    def held(self) -> int:
        """The number of answers that wait."""
        return len(self._waiting)

    def wait_until_held(self, answers: int = 1, timeout_s: float = WAIT_S) -> None:
        """Returns when so many answers wait: their requests have been served. Raises TimeoutError after ``timeout_s``
        seconds.
        """
        with self._changed:
            if not self._changed.wait_for(lambda: self.held >= answers, timeout_s):
                raise TimeoutError(f"{self.description}: {self.held} of {answers} answers wait after {timeout_s:g} s")

    def release(self) -> None:
        """Sends the answers that wait, in their order, and holds no more.

        Answers of a broker that was stopped or killed are dropped: its connections are closed.
        """
        with self._changed:
            self._is_open = True
            waiting, self._waiting = self._waiting, []
        for answer in waiting:
            answer()
        super().remove()

    def remove(self) -> None:
        """As :meth:`release`: no client waits for ever because a test has ended."""
        self.release()
