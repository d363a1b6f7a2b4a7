"""A histogram of times in buckets of powers of two. Pure.

Owns: the buckets. Never does: reading a clock, knowing of Prometheus. Source: ours; Kafka has percentiles, which can't
be added up over brokers.
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
