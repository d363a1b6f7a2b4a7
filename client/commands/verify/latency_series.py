"""End-to-end latencies over the time of a run.

Pure. The time is divided into at most ``POINTS_MAX`` points; when there would be more, two become one.
"""

from ..latencies import Latencies

POINTS_MAX = 600
FIRST_WIDTH_S = 0.25


class LatencySeries:
    """Latencies in ms, by the second of the run in which the record was sent."""

    def __init__(self) -> None:
        self.width_s = FIRST_WIDTH_S
        """The seconds of a point."""
        self.points: dict[int, Latencies] = {}
        """The number of a point -> its latencies. Points without records are missing."""
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
