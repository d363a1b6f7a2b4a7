"""End-to-end latencies over the time of a run.

Pure. Latencies are grouped by time into at most ``POINTS_MAX`` points of equal width. If a run needs more, the width
doubles: each two points are merged.
"""

from ..latencies import Latencies

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
