"""Counts latencies, and computes percentiles and a text histogram.

Pure. Latencies are in ms. They are counted in buckets of µs rounded down to ten significant bits, so that memory is
bounded and a percentile's error is at most 1/500. Over the time of a run they are grouped into at most ``POINTS_MAX``
points of equal width. If a run needs more, the width doubles: each two points are merged.
"""

from bisect import bisect_left
from itertools import accumulate

KEPT_BITS = 10
BAR_WIDTH = 40
BOUNDS_MS = (
    *(0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500),
    *(1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, float("inf")),
)
"""The upper bounds of the histogram's rows."""


class Latencies:
    """Counted latencies in ms."""

    def __init__(self) -> None:
        self._counts: dict[int, int] = {}
        self.count = 0
        self.total_ms = 0.0
        self.max_ms = 0.0

    def add(self, latency_ms: float, count: int = 1) -> None:
        """Counts a latency ``count`` times. A negative latency (a clock was set back) counts as 0."""
        if latency_ms < 0.0:
            latency_ms = 0.0
        bucket = int(latency_ms * 1000)
        dropped = bucket.bit_length() - KEPT_BITS
        if dropped > 0:
            bucket = bucket >> dropped << dropped
        self._counts[bucket] = self._counts.get(bucket, 0) + count
        self.count += count
        self.total_ms += latency_ms * count
        if latency_ms > self.max_ms:
            self.max_ms = latency_ms

    def merge(self, other: "Latencies") -> None:
        """Adds the counts of ``other``."""
        for bucket, count in other._counts.items():
            self._counts[bucket] = self._counts.get(bucket, 0) + count
        self.count += other.count
        self.total_ms += other.total_ms
        self.max_ms = max(self.max_ms, other.max_ms)

    @property
    def mean_ms(self) -> float:
        """The mean; NaN without latencies, as Kafka's tools print it."""
        return self.total_ms / self.count if self.count else float("nan")

    def percentiles(self, *fractions: float) -> list[float]:
        """The latency (ms) at each fraction of the sorted latencies, as in Kafka's tools. 0 if none was counted."""
        buckets = sorted(self._counts)
        if not buckets:
            return [0.0] * len(fractions)
        ends = list(accumulate(self._counts[bucket] for bucket in buckets))
        last = self.count - 1
        return [buckets[bisect_left(ends, min(int(part * self.count), last) + 1)] / 1000 for part in fractions]

    def histogram(self) -> list[str]:
        """A line for each row, lowest latency first: upper bound, bar, count, cumulative percentage."""
        rows = [0] * len(BOUNDS_MS)
        for bucket, count in self._counts.items():
            rows[bisect_left(BOUNDS_MS, bucket / 1000)] += count
        filled = [at for at, count in enumerate(rows) if count]
        if not filled:
            return []
        longest, so_far, lines = max(rows), 0, []
        for at in range(filled[0], filled[-1] + 1):
            so_far += rows[at]
            bound = f"<= {BOUNDS_MS[at]:g} ms" if at + 1 < len(BOUNDS_MS) else "more"
            bar = bar_of(rows[at] / longest)
            lines.append(f"{bound:>14}  {bar:<{BAR_WIDTH}}  {rows[at]:>10}  {100 * so_far / self.count:6.2f} %")
        return lines


def bar_of(share: float) -> str:
    """A bar of block characters, in steps of an eighth of a character; not empty unless the share is 0."""
    eighths = max(round(share * BAR_WIDTH * 8), 1 if share else 0)
    rest = "" if eighths % 8 == 0 else chr(0x2590 - eighths % 8)
    return "█" * (eighths // 8) + rest


POINTS_MAX = 600
FIRST_WIDTH_S = 0.25


class LatencySeries:
    """Latencies in ms, by the time at which the records were sent."""

    def __init__(self) -> None:
        self.width_s = FIRST_WIDTH_S
        """The width of a point in seconds."""
        self.points: dict[int, Latencies] = {}
        """Index of a point (start time / width) -> its latencies. Points without records are missing."""
        self.all = Latencies()

    def add(self, sent_s: float, latency_ms: float) -> None:
        """Counts a record. ``sent_s``: seconds since the start of the run."""
        while sent_s >= POINTS_MAX * self.width_s:
            self._halve()
        point = self.points.setdefault(int(sent_s / self.width_s), Latencies())
        point.add(latency_ms)
        self.all.add(latency_ms)

    def _halve(self) -> None:
        points, self.points = self.points, {}
        self.width_s *= 2
        for at, latencies in points.items():
            self.points.setdefault(at // 2, Latencies()).merge(latencies)
