"""The result of a replay: differences and requests that could not be sent. Pure."""

from collections.abc import Sequence
from itertools import groupby

from .differences import Difference
from .exchange import RecordedExchange

SHOWN = 50
"""The highest number of differences, and of skipped requests, that are printed."""


class ReplayResult:
    """The differences between recorded and replayed answers, and the requests that could not be sent."""

    def __init__(self) -> None:
        self.compared = 0
        """The number of answers that were compared."""
        self.differences: list[Difference] = []
        """The fields that differ, in the order of the answers."""
        self.skipped: list[tuple[RecordedExchange, str]] = []
        """Requests that could not be sent, each with its reason."""

    def differ(self, differences: Sequence[Difference]) -> None:
        """Adds differences."""
        self.differences.extend(differences)

    def skip(self, exchange: RecordedExchange, reason: str) -> None:
        """Adds a request that could not be sent."""
        self.skipped.append((exchange, reason))

    def check(self) -> None:
        """Raises AssertionError, with a readable list, if an answer differs or a request could not be sent."""
        if self.differences or self.skipped:
            raise AssertionError(str(self))

    def __str__(self) -> str:
        """The differences, grouped by request, then the requests that could not be sent."""
        if not self.differences and not self.skipped:
            return f"all {self.compared} answers are as recorded"
        differing = len({difference.number for difference in self.differences})
        lines = [f"{differing} of {self.compared} answers differ, {len(self.skipped)} requests could not be sent"]
        for request, found in groupby(self.differences[:SHOWN], key=lambda difference: difference.request):
            lines += [request, *(f"    {difference}" for difference in found)]
        if len(self.differences) > SHOWN:
            lines.append(f"… and {len(self.differences) - SHOWN} more differences")
        lines += [f"{exchange}\n    not sent: {reason}" for exchange, reason in self.skipped[:SHOWN]]
        return "\n".join(lines)
