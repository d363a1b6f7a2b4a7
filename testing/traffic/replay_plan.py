"""The order of a replay: which recorded requests may be sent, given what has been answered. Pure.

Owns: that order. A request is sent after all requests that came before it in the recording, and when all answers that
the broker had given before it have come again. So what happened one after the other does so again, and what overlapped
(a Fetch that waits for a Produce) overlaps again.
"""

from collections.abc import Iterable

from .exchange import RecordedExchange


class ReplayPlan:
    """A recording that is being replayed."""

    def __init__(self, exchanges: Iterable[RecordedExchange]) -> None:
        self._left = sorted(exchanges, key=lambda one: one.step)[::-1]
        """The requests that were not sent yet, the next one last."""
        answers = [(one.answer_step, one.number) for one in self._left if one.answer_step is not None]
        self._answers = sorted(answers)[::-1]
        """Recorded answers that have not come again, the first one last."""
        self._settled: set[int] = set()

    def ready(self) -> list[RecordedExchange]:
        """The requests that may be sent now, in their order. Each is returned once."""
        found = []
        while self._left and self._left[-1].step < self._first_missing():
            found.append(self._left.pop())
        return found

    def settle(self, number: int) -> None:
        """Notes that a request is answered, or never will be."""
        self._settled.add(number)

    @property
    def is_done(self) -> bool:
        """Whether everything was sent, and answered if it was answered in the recording."""
        return not self._left and self._first_missing() == float("inf")

    def awaited(self) -> list[int]:
        """The numbers of the requests whose answers the next one waits for, the first one first."""
        limit = self._left[-1].step if self._left else float("inf")
        return [number for step, number in reversed(self._answers) if step < limit and number not in self._settled]

    def _first_missing(self) -> float:
        """The step of the first recorded answer that has not come again."""
        while self._answers and self._answers[-1][1] in self._settled:
            self._answers.pop()
        return self._answers[-1][0] if self._answers else float("inf")
