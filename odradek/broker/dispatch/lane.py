"""The short way of a small request: from the bytes of its frame to the bytes of its answer, without messages.

A lane serves the common shape of one version of an API (:mod:`..lanes` has them). It decides from the bytes whether it
knows a request. If not, it has changed nothing, and the dispatcher serves the request on the general path. So a lane
adds no behaviour: the general path gives the same answer to every request that a lane serves.

Owns: sending and counting the answers of lanes. Never does: knowing an API. Source: ours.
"""

from collections.abc import Callable, Sequence
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, Protocol

from ..network.connection import Connection
from ..network.response_writer import Part
from .request_in_service import RequestInService
from .route import Keep, Lane, Route

if TYPE_CHECKING:
    from ..metrics.error_plan import CountErrors
    from ..metrics.request_meters import ApiMeter
    from ..metrics.waits import Times
    from ..network.waiting import Waiting

NO_FAILURES: dict[int, int] = {}
IN_PIECES_BYTES = 64 * 1024
"""A larger answer is sent at the speed of its reader."""


class Sending(Protocol):
    """Sends answers of a lane."""

    def send(
        self,
        connection: Connection,
        parts: list[Part] | None,
        successes: int = 1,
        failures: dict[int, int] = NO_FAILURES,
    ) -> None:
        """Sends the parts of a frame; None if the client wants no answer. ``successes``, ``failures``: as
        :meth:`Answering.count`."""


class PostponedAnswering(Sending, Protocol):
    """Sends one answer of a lane, later."""

    def hand_over(self, context: RequestInService) -> None:
        """Lets the general path answer the request instead, with this context."""


class Answering(Sending, Protocol):
    """Sends the answers of a lane."""

    def postponed(self) -> PostponedAnswering:
        """For the answer to the request that the lane serves now, which waits."""

    def count(self, response: Any) -> tuple[int, dict[int, int]]:
        """How many error codes in a response are 0, and code -> how often it occurs for the others. (0, nothing)
        without metrics."""


class Lanes(Protocol):
    """Makes the lanes of a broker."""

    def lane_of(self, route: Route, answering: Answering, *, is_charged: bool) -> Lane | None:
        """The lane of one version of an API; None if there is none. ``is_charged``: whether clients have quotas."""


def _send_parts(connection: Connection, parts: list[Part]) -> None:
    """Sends an answer of several parts."""
    if sum(map(len, parts)) > IN_PIECES_BYTES:
        connection.answered_in_pieces(parts)
    else:
        connection.answered(parts)


class SentAnswers:
    """Sends answers without counting them."""

    __slots__ = ()

    def send(
        self,
        connection: Connection,
        parts: list[Part] | None,
        successes: int = 1,
        failures: dict[int, int] = NO_FAILURES,
    ) -> None:
        """Sends an answer."""
        if parts is None or len(parts) == 1:
            connection.answered(parts)
        else:
            _send_parts(connection, parts)

    def postponed(self) -> "SentAnswers":
        """Itself: nothing is measured."""
        return self

    def hand_over(self, context: RequestInService) -> None:
        """Does nothing: nothing is measured."""

    def count(self, response: Any) -> tuple[int, dict[int, int]]:
        """Nothing."""
        return 0, NO_FAILURES


class _CountedSending:
    """Counts an answer and sends it. ``begun_ns``: when its request began, in ns of ``perf_counter_ns``."""

    __slots__ = ("_begun_ns", "_meter", "_times", "_waiting")

    def __init__(self, meter: "ApiMeter", times: "Times", waiting: "Waiting", begun_ns: int) -> None:
        """``times``: the histogram of such answers."""
        self._meter = meter
        self._times = times
        self._waiting = waiting
        self._begun_ns = begun_ns

    def send(
        self,
        connection: Connection,
        parts: list[Part] | None,
        successes: int = 1,
        failures: dict[int, int] = NO_FAILURES,
    ) -> None:
        """Counts an answer and sends it."""
        meter, times = self._meter, self._times
        ns = perf_counter_ns() - self._begun_ns
        times.ns += ns
        times.buckets[(ns // 1000).bit_length()] += 1  # Times.note, without its call
        self._waiting.answering = meter
        if parts is not None:
            meter.response_bytes += sum(map(len, parts))
            meter.successes += successes
            for code, count in failures.items():
                meter.failures[code] = meter.failures.get(code, 0) + count
        if parts is None or len(parts) == 1:
            connection.answered(parts)
        else:
            _send_parts(connection, parts)


class CountedAnswers(_CountedSending):
    """Sends answers and counts them, as :func:`.metering.answer_counter` does on the general path."""

    __slots__ = ("_count_errors",)

    def __init__(self, meter: "ApiMeter", count_errors: "CountErrors", waiting: "Waiting") -> None:
        super().__init__(meter, meter.served, waiting, 0)
        self._count_errors = count_errors

    def postponed(self) -> "CountedLater":
        """Notes that the lane has returned before the answer (:func:`.metering.return_counter`)."""
        self._meter.worked.note(perf_counter_ns() - self._begun_ns)
        return CountedLater(self._meter, self._meter.answered, self._waiting, self._begun_ns)

    def count(self, response: Any) -> tuple[int, dict[int, int]]:
        """The error codes in a response."""
        failures: dict[int, int] = {}
        successes = self._count_errors(response, failures)
        return successes, failures

    def timed(self, lane: Lane) -> Lane:
        """The lane, with its time measured."""

        def serve(connection: Connection, frame: memoryview) -> bool | Keep:
            self._begun_ns = perf_counter_ns()
            return lane(connection, frame)

        return serve


class CountedLater(_CountedSending):
    """Sends one answer that has waited, and counts it."""

    __slots__ = ()

    def hand_over(self, context: RequestInService) -> None:
        """Lets the general path count the answer: the context's handler has returned before it."""
        context.begun_ns = -self._begun_ns


def unless(is_intercepting: Callable[[], bool], lane: Lane) -> Lane:
    """The lane, which leaves every request to the general path while ``is_intercepting`` returns True."""

    def serve(connection: Connection, frame: memoryview) -> bool | Keep:
        return False if is_intercepting() else lane(connection, frame)

    return serve


def only_part(parts: Sequence[Any]) -> bytes:
    """An encoded answer as one piece."""
    return bytes(parts[0]) if len(parts) == 1 else b"".join(parts)
