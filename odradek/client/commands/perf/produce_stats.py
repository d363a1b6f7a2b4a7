"""The output of ``kafka-producer-perf-test.sh``: one line for each interval, and the summary.

Pure: the caller passes times in ms. Source: ``ProducerPerformance.Stats``.
"""

from ..latencies import Latencies

MEBIBYTE = 1024 * 1024


class ProduceStats:
    """Counts acknowledged records."""

    def __init__(self, start_ms: float, interval_ms: int, *, steady: bool = False) -> None:
        """``steady``: it is for the records after the warm-up, and its lines say so."""
        self._earlier = Latencies()
        """The latencies of the windows that are over."""
        self.quiet = False
        """True: no lines for the intervals."""
        self._start_ms = start_ms
        self._interval_ms = interval_ms
        self._steady = steady
        self._bytes = 0
        self._windows = 0
        self._window = Latencies()
        self._window_bytes = 0
        self._window_start_ms = start_ms

    @property
    def latencies(self) -> Latencies:
        """All latencies."""
        both = Latencies()
        both.merge(self._earlier)
        both.merge(self._window)
        return both

    def record(self, latency_ms: float, count: int, size: int, now_ms: float) -> list[str]:
        """Counts ``count`` records with ``size`` bytes in total. Returns the lines to print now."""
        self._window.add(latency_ms, count)
        self._bytes += size
        self._window_bytes += size
        if now_ms - self._window_start_ms < self._interval_ms:
            return []
        lines = [] if self.quiet else [self._window_line(now_ms)]
        if self._steady and not self._windows and not self.quiet:
            lines.insert(0, "In steady state.")
        self._windows += 1
        self._earlier.merge(self._window)
        self._window, self._window_bytes, self._window_start_ms = Latencies(), 0, now_ms
        return lines

    def _window_line(self, now_ms: float) -> str:
        window = self._window
        rate, megabytes = self._rates(window.count, self._window_bytes, now_ms - self._window_start_ms)
        return (
            f"{window.count} records sent, {rate:.1f} records/sec ({megabytes:.2f} MB/sec), "
            f"{window.mean_ms:.1f} ms avg latency, {window.max_ms:.1f} ms max latency."
        )

    def summary(self, now_ms: float) -> str:
        """The summary line."""
        latencies = self.latencies
        rate, megabytes = self._rates(latencies.count, self._bytes, now_ms - self._start_ms)
        p50, p95, p99, p999 = map(int, latencies.percentiles(0.5, 0.95, 0.99, 0.999))
        return (
            f"{latencies.count}{' steady state' if self._steady else ''} records sent, {rate:f} records/sec "
            f"({megabytes:.2f} MB/sec), {latencies.mean_ms:.2f} ms avg latency, {latencies.max_ms:.2f} ms max latency, "
            f"{p50} ms 50th, {p95} ms 95th, {p99} ms 99th, {p999} ms 99.9th."
        )

    @staticmethod
    def _rates(count: int, size: int, elapsed_ms: float) -> tuple[float, float]:
        """Records and MiB a second."""
        seconds = max(elapsed_ms, 1) / 1000
        return count / seconds, size / seconds / MEBIBYTE
