"""Counts requests by API, with their times, sizes and errors. Pure.

Owns: the counts. Never does: reading a clock, I/O, knowing of Prometheus. Invariants: noting a request costs about
1 us; what is kept is bounded by the APIs, their versions and the error codes, whatever clients send. Source:
``RequestChannel``, ``RequestMetrics``, whose times are percentiles. Here they are histograms, which can be added up
over brokers.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from .error_plan import ErrorPlan, error_plan

BUCKETS = 26
"""Bucket ``n`` holds times below 2^n us: bucket 25 ends at 33.6 s, and one more holds longer times."""


class ApiMeter:
    """The requests of one API."""

    __slots__ = (
        "buckets",
        "errors",
        "local_buckets",
        "local_s",
        "name",
        "request_bytes",
        "response_bytes",
        "time_s",
        "versions",
    )

    def __init__(self, name: str) -> None:
        self.name = name
        self.versions: dict[int, int] = {}
        """Requests by version."""
        self.buckets = [0] * (BUCKETS + 1)
        self.time_s = 0.0
        self.local_buckets = [0] * (BUCKETS + 1)
        self.local_s = 0.0
        self.request_bytes = 0
        self.response_bytes = 0
        self.errors: dict[int, int] = {}
        """Error code (0: none) -> how often it occurs, in answers and in their items that have a code."""

    def received(self, version: int, size: int) -> None:
        """Counts a request of ``size`` bytes."""
        self.versions[version] = self.versions.get(version, 0) + 1
        self.request_bytes += size

    def answered(self, seconds: float, response: Any, parts: Sequence[Any] | None, errors: ErrorPlan) -> None:
        """Counts its answer, after ``seconds``. ``parts``: its bytes; None if the client wants none. ``errors``: where
        the response has error codes.
        """
        self.time_s += seconds
        bucket = int(seconds * 1_000_000).bit_length()
        self.buckets[bucket if bucket < BUCKETS else BUCKETS] += 1
        if parts is not None:
            self.response_bytes += sum(map(len, parts))
            if not isinstance(response, bytes):  # bytes are a controller's answer, forwarded unchanged
                errors.count(response, self.errors)

    def served(self, seconds: float) -> None:
        """Counts the time that the event loop has worked on a request, without the time that it has waited."""
        self.local_s += seconds
        bucket = int(seconds * 1_000_000).bit_length()
        self.local_buckets[bucket if bucket < BUCKETS else BUCKETS] += 1


def cumulative(buckets: Sequence[int]) -> Iterator[tuple[str, int]]:
    """The buckets of a Prometheus histogram in milliseconds: upper limit and number of requests up to it."""
    count = 0
    for exponent, size in enumerate(buckets):
        count += size
        yield ("+Inf" if exponent == BUCKETS else repr(2**exponent / 1000)), count


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
