"""Counts requests by API, with their times, sizes and errors. Pure.

Owns: the counts. Never does: reading a clock, I/O, knowing of Prometheus. Invariant: what is kept is bounded by the
APIs, their versions and the error codes, whatever clients send. Source: ``RequestChannel``, ``RequestMetrics``, whose
times are percentiles. Here they are histograms, which can be added up over brokers.

The route of a request adds to these counts directly (:mod:`..dispatch.metering`). A request whose handler has answered
it is counted in one histogram, :attr:`ApiMeter.served`, since its total time is the time of its handler. The two
histograms that Prometheus reads are sums, made when it reads them.
"""

from collections.abc import Iterator, Sequence
from operator import add

from .error_plan import ErrorPlan, error_plan

BUCKETS = 26
"""Bucket ``n`` holds times below 2^n us: bucket 25 ends at 33.6 s, and one more holds longer times."""
COUNTED_BUCKETS = 64
"""The buckets that are counted: one for every time in 64 bits, so that counting compares nothing. Longer times are
added up when they are read.
"""


class Times:
    """A histogram of times, and their sum in nanoseconds. ``buckets``: see :data:`COUNTED_BUCKETS`."""

    __slots__ = ("buckets", "ns")

    def __init__(self, buckets: list[int] | None = None, ns: int = 0) -> None:
        self.buckets = buckets or [0] * COUNTED_BUCKETS
        self.ns = ns

    def note(self, ns: int) -> None:
        """Counts one time."""
        self.ns += ns
        self.buckets[(ns // 1000).bit_length()] += 1

    def __add__(self, other: "Times") -> "Times":
        """The times of both."""
        return Times(list(map(add, self.buckets, other.buckets)), self.ns + other.ns)


class VersionMeter:
    """The requests of one version of an API."""

    __slots__ = ("request_bytes", "requests")

    def __init__(self) -> None:
        self.requests = 0
        self.request_bytes = 0


class ApiMeter:
    """The requests of one API."""

    __slots__ = ("answered", "failures", "name", "response_bytes", "served", "successes", "versions", "worked")

    def __init__(self, name: str) -> None:
        self.name = name
        self.versions: dict[int, VersionMeter] = {}
        self.served = Times()
        """Requests that their handlers have answered: the time until a handler has returned."""
        self.worked = Times()
        """Other requests: the time for which the event loop has worked on each."""
        self.answered = Times()
        """Other requests: the time from the beginning to the answer."""
        self.response_bytes = 0
        self.failures: dict[int, int] = {}
        """Error code -> how often it occurs, in answers and in their items that have a code."""
        self.successes = 0
        """How often such a code is 0 (none)."""

    def version(self, version: int) -> VersionMeter:
        """The meter of one version."""
        return self.versions.setdefault(version, VersionMeter())

    @property
    def errors(self) -> dict[int, int]:
        """Error code (0: none) -> how often it occurs, in answers and in their items that have a code."""
        return {0: self.successes, **self.failures} if self.successes else self.failures

    @property
    def request_bytes(self) -> int:
        """The bytes of all requests."""
        return sum(one.request_bytes for one in self.versions.values())

    @property
    def total(self) -> Times:
        """From the beginning of a request to its answer."""
        return self.served + self.answered

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
