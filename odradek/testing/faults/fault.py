"""One fault, as the test handles it: counts the requests that it has met, and ends it.

Owns: the count, and how many times are left. Never does: serving requests. Invariant: only the broker's thread counts;
any thread may read the count, wait for it and end the fault.
"""

import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self

WAIT_S = 60.0


class RequestFault:
    """A fault that a test has added. Used in a ``with`` statement, it ends with the block."""

    def __init__(self, description: str, times: int | None, remove: Callable[["RequestFault"], None]) -> None:
        """``times``: how many requests it may meet; None: no limit. ``remove`` removes it from the broker's list."""
        self.description = description
        self._left = times
        self._remove = remove
        self._fired = 0
        self._changed = threading.Condition()

    @property
    def fired(self) -> int:
        """The number of requests that the fault has met."""
        return self._fired

    @property
    def is_over(self) -> bool:
        """Whether no further request meets the fault: it has met ``times`` requests, or was removed."""
        return self._left == 0

    def note(self) -> bool:
        """Counts one request that the fault meets. Returns False without counting if the fault is over."""
        with self._changed:
            if self._left == 0:
                return False
            if self._left is not None:
                self._left -= 1
            self._fired += 1
            self._changed.notify_all()
            return True

    def wait_until_fired(self, times: int = 1, timeout_s: float = WAIT_S) -> None:
        """Waits until the fault has met ``times`` requests. Raises TimeoutError after ``timeout_s`` seconds."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._fired >= times, timeout_s):
                raise TimeoutError(
                    f"{self.description}: only {self._fired} of {times} requests arrived within {timeout_s:g} s"
                )

    def remove(self) -> None:
        """Ends the fault: no further request meets it. Does nothing if it has ended."""
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
    """A fault that holds requests, served or not, until the test releases their answers."""

    def __init__(self, description: str, times: int | None, remove: Callable[[RequestFault], None]) -> None:
        super().__init__(description, times, remove)
        self._waiting: list[Callable[[], object]] = []
        self._is_open = False

    def keep(self, answer: Callable[[], object]) -> None:
        """Holds an answer; after :meth:`release`, sends it at once.

        ``answer`` sends it, or serves the request. Any thread may call it.
        """
        with self._changed:
            if not self._is_open:
                self._waiting.append(answer)
                self._changed.notify_all()
                return
        answer()

    @property
    def held(self) -> int:
        """The number of answers, or of requests that are not served yet, that are held."""
        return len(self._waiting)

    def wait_until_held(self, answers: int = 1, timeout_s: float = WAIT_S) -> None:
        """Waits until ``answers`` answers are held. Their requests have been served, unless the fault has
        ``served=False``. Raises TimeoutError after ``timeout_s`` seconds.
        """
        with self._changed:
            if not self._changed.wait_for(lambda: self.held >= answers, timeout_s):
                raise TimeoutError(
                    f"{self.description}: only {self.held} of {answers} answers are held after {timeout_s:g} s"
                )

    def release(self) -> None:
        """Sends the held answers in their order, and ends the fault.

        Answers of a broker that was stopped or killed in between are dropped: its connections are closed.
        """
        with self._changed:
            self._is_open = True
            waiting, self._waiting = self._waiting, []
        for answer in waiting:
            answer()
        super().remove()

    def remove(self) -> None:
        """The same as :meth:`release`, so that no client waits forever after the test has ended."""
        self.release()
