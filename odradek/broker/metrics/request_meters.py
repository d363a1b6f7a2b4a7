"""Counts requests by API, with their times, sizes and errors. Pure.

Owns: the counts. Never does: reading a clock, I/O, knowing of Prometheus. Invariant: what is kept is bounded by the
APIs, their versions and the error codes, whatever clients send. Source: ``RequestChannel``, ``RequestMetrics``, whose
times are percentiles. Here they are histograms, which can be added up over brokers.

The route of a request adds to these counts directly (:mod:`..dispatch.metering`). A request whose handler answers
it is counted in one histogram, :attr:`ApiMeter.served`, since it has waited for nothing. The two
histograms that Prometheus reads are sums, made when it reads them.
"""

from collections.abc import Iterator, Sequence

from .error_plan import ErrorPlan, error_plan
from .waits import Times, Waits

BUCKETS = 26
"""The buckets that Prometheus reads: bucket 25 ends at 33.6 s, and one more holds longer times."""


class VersionMeter:
    """The requests of one version of an API. ``api``: those of all its versions."""

    __slots__ = ("api", "request_bytes", "requests")

    def __init__(self, api: "ApiMeter") -> None:
        self.api = api
        self.requests = 0
        self.request_bytes = 0


class ApiMeter:
    """The requests of one API."""

    __slots__ = (
        "answered",
        "failures",
        "name",
        "queue_waits",
        "response_bytes",
        "response_queue_waits",
        "send_waits",
        "served",
        "successes",
        "throttle_waits",
        "versions",
        "worked",
    )

    def __init__(self, name: str) -> None:
        self.name = name
        self.versions: dict[int, VersionMeter] = {}
        self.served = Times()
        """Requests that their handlers have answered: the time until the answer."""
        self.worked = Times()
        """Other requests: the time for which the event loop has worked on each."""
        self.answered = Times()
        """Other requests: the time from the beginning to the answer."""
        self.queue_waits = Waits()
        """From the last byte of a request until its handler begins."""
        self.response_queue_waits = Waits()
        """Of answers, for those to requests that were received together."""
        self.send_waits = Waits()
        """Of answers, for a client that reads slowly."""
        self.throttle_waits = Waits()
        """Of connections, because their client is over a quota."""
        self.response_bytes = 0
        self.failures: dict[int, int] = {}
        """Error code -> how often it occurs, in answers and in their items that have a code."""
        self.successes = 0
        """How often such a code is 0 (none)."""

    def version(self, version: int) -> VersionMeter:
        """The meter of one version."""
        meter = self.versions.get(version)
        if meter is None:
            meter = self.versions[version] = VersionMeter(self)
        return meter

    @property
    def errors(self) -> dict[int, int]:
        """Error code (0: none) -> how often it occurs, in answers and in their items that have a code."""
        return {0: self.successes, **self.failures} if self.successes else self.failures

    @property
    def request_bytes(self) -> int:
        """The bytes of all requests."""
        return sum(version.request_bytes for version in self.versions.values())

    @property
    def total(self) -> Times:
        """From the beginning of a request to its answer."""
        return self.served + self.answered

    @property
    def request_queue(self) -> Times:
        """The time for which a request has waited for its handler. Requests that still wait are left out."""
        return self.queue_waits.among(sum(version.requests for version in self.versions.values()))

    @property
    def response_queue(self) -> Times:
        """The time for which an answer has waited before it was sent."""
        return self.response_queue_waits.among(self.total.count)

    @property
    def response_send(self) -> Times:
        """The time for which an answer has waited for its reader. Answers that still wait are left out."""
        return self.send_waits.among(self.total.count)

    @property
    def throttle(self) -> Times:
        """The throttle time of each request."""
        return self.throttle_waits.among(self.total.count)

    @property
    def local(self) -> Times:
        """The time for which the event loop has worked on a request, without the time that it has waited."""
        return self.served + self.worked


def cumulative(buckets: Sequence[int]) -> Iterator[tuple[str, int]]:
    """The buckets of a Prometheus histogram in milliseconds: upper limit and number of requests up to it."""
    count = 0
    for exponent, size in enumerate(buckets[:BUCKETS]):
        count += size
        yield repr(2**exponent / 1000), count
    yield "+Inf", sum(buckets)


class RequestMeters:
    """The meters of all APIs that were requested."""

    def __init__(self) -> None:
        self._meters: dict[str, ApiMeter] = {}

    def of(self, name: str) -> ApiMeter:
        """The meter of an API."""
        meter = self._meters.get(name)
        if meter is None:
            meter = self._meters[name] = ApiMeter(name)
        return meter

    def errors_of(self, name: str, version: int) -> ErrorPlan:
        """The places of the error codes in one version of an API's response."""
        return error_plan(f"{name}Response", version)

    def __iter__(self) -> Iterator[ApiMeter]:
        """The meters, by the names of the APIs."""
        return iter([self._meters[name] for name in sorted(self._meters)])
