"""Counts how long the requests of one API wait, without counting each request that does not. Pure.

Owns: the waits that have happened. Never does: reading a clock, I/O. Invariant: no bucket ever shrinks, because
Prometheus would take that for a restart: a request counts when it has waited, or as a time of 0 if it does not wait.
Source: ``RequestMetrics``, which counts a time for each request.
"""

from operator import add

COUNTED_BUCKETS = 64
"""The buckets that are counted: one for every time in 64 bits, so that counting compares nothing. Bucket ``n`` holds
times below 2^n us. Longer times are added up when they are read.
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

    @property
    def count(self) -> int:
        """How many times were counted."""
        return sum(self.buckets)


AT_ONCE_NS = 100_000
"""A wait below this counts as none: the time between two steps of the same turn. (Kafka rounds to whole ms.)"""


class Waits:
    """One kind of wait. A request that does not wait takes no call."""

    __slots__ = ("_begun", "_times")

    def __init__(self) -> None:
        self._begun = 0
        """The waits that have begun, or ended after AT_ONCE_NS."""
        self._times = Times()

    def begin(self) -> None:
        """A request begins to wait. If its client leaves before :meth:`end`, the request does not count at all."""
        self._begun += 1

    def end(self, ns: int) -> None:
        """A wait that has begun is over, after ``ns``."""
        if ns < AT_ONCE_NS:
            self._begun -= 1
        else:
            self._times.note(ns)

    def note(self, ns: int) -> None:
        """A whole wait of ``ns``."""
        if ns >= AT_ONCE_NS:
            self._begun += 1
            self._times.note(ns)

    def among(self, requests: int) -> Times:
        """The waits of all ``requests``: those that have not begun to wait count as 0."""
        unwaited = Times()
        unwaited.buckets[0] = requests - self._begun
        return self._times + unwaited
