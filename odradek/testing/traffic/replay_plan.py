"""The order of a replay: which recorded requests may be sent, given what has been answered. Pure.

Owns: that order. A request is sent after all earlier requests of the recording, and after the answers that preceded it
in the recording have arrived again. So exchanges that followed each other do so again, and exchanges that overlapped (a
Fetch that waits for a Produce) overlap again.
"""

from collections.abc import Iterable

from .exchange import RecordedExchange


class ReplayPlan:
    """The requests of a replay that are still to be sent, and the answers that are still to arrive."""

    def __init__(self, exchanges: Iterable[RecordedExchange]) -> None:
        self._left = sorted(exchanges, key=lambda exchange: exchange.step)[::-1]
        """The requests that were not sent yet, the next one last."""
        answers = [
            (exchange.answer_step, exchange.number) for exchange in self._left if exchange.answer_step is not None
        ]
        self._answers = sorted(answers)[::-1]
        """(step, request number) of the recorded answers that have not arrived again, the first one last."""
        self._settled: set[int] = set()

    def ready(self) -> list[RecordedExchange]:
        """The requests that may be sent now, in their order. Each is returned once."""
        found = []
        while self._left and self._left[-1].step < self._first_missing():
            found.append(self._left.pop())
        return found

    def settle(self, number: int) -> None:
        """Notes that a request was answered, or will never be."""
        self._settled.add(number)

    @property
    def is_done(self) -> bool:
        """Whether all requests were sent, and those answered in the recording were answered again."""
        return not self._left and self._first_missing() == float("inf")

    def awaited(self) -> list[int]:
        """The numbers of the requests that must be answered before the next one is sent, in the recorded order."""
        limit = self._left[-1].step if self._left else float("inf")
        return [number for step, number in reversed(self._answers) if step < limit and number not in self._settled]

    def _first_missing(self) -> float:
        """The step of the first recorded answer that has not arrived again; infinite if there is none."""
        while self._answers and self._answers[-1][1] in self._settled:
            self._answers.pop()
        return self._answers[-1][0] if self._answers else float("inf")
