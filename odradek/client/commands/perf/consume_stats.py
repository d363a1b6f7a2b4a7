"""The output of ``kafka-consumer-perf-test.sh``: header, one line for each interval, summary.

Pure: the caller passes times. Source: ``ConsumerPerformance``.
"""

from datetime import datetime

from .date_format import formatted

MEBIBYTE = 1024 * 1024
EXTRA = ", rebalance.time.ms, fetch.time.ms, fetch.MB.sec, fetch.nMsg.sec"
HEADER = "start.time, end.time, data.consumed.in.MB, MB.sec, data.consumed.in.nMsg, nMsg.sec" + EXTRA
DETAILED_HEADER = "time, threadId, data.consumed.in.MB, MB.sec, data.consumed.in.nMsg, nMsg.sec" + EXTRA


class ConsumeStats:
    """Counts records and bytes. Times are in ms since 1970."""

    def __init__(self, start_ms: int, interval_ms: int, pattern: str) -> None:
        self.count = 0
        self.size = 0
        self._start_ms = start_ms
        self._interval_ms = interval_ms
        self._pattern = pattern
        self._last_ms, self._last_count, self._last_size = start_ms, 0, 0
        self._rebalance_ms = 0
        self._rebalance_ms_now = 0

    def rebalanced(self, elapsed_ms: int) -> None:
        """Adds a time (ms) during which the consumer had no partitions."""
        self._rebalance_ms += elapsed_ms
        self._rebalance_ms_now += elapsed_ms

    def add(self, count: int, size: int, now_ms: int) -> str | None:
        """Counts records and their bytes. If the interval is over, returns its line, otherwise None."""
        self.count += count
        self.size += size
        elapsed_ms = now_ms - self._last_ms
        if elapsed_ms < self._interval_ms or not count:
            return None
        new, megabytes = self.count - self._last_count, (self.size - self._last_size) / MEBIBYTE
        fetch_ms = elapsed_ms - self._rebalance_ms_now
        rates = (1000 * megabytes / fetch_ms, 1000 * new / fetch_ms) if fetch_ms > 0 else (0.0, 0.0)
        line = (
            f"{self._time(now_ms)}, 0, {self.size / MEBIBYTE:.4f}, {1000 * megabytes / elapsed_ms:.4f}, {self.count}, "
            f"{1000 * new / elapsed_ms:.4f}, {self._rebalance_ms_now}, {fetch_ms}, {rates[0]:.4f}, {rates[1]:.4f}"
        )
        self._last_ms, self._last_count, self._last_size, self._rebalance_ms_now = now_ms, self.count, self.size, 0
        return line

    def summary(self, end_ms: int) -> str:
        """The summary line."""
        elapsed_ms = max(end_ms - self._start_ms, 1)
        fetch_ms = max(elapsed_ms - self._rebalance_ms, 1)
        megabytes = self.size / MEBIBYTE
        return (
            f"{self._time(self._start_ms)}, {self._time(end_ms)}, "
            f"{megabytes:.4f}, {1000 * megabytes / elapsed_ms:.4f}, "
            f"{self.count}, {1000 * self.count / elapsed_ms:.4f}, "
            f"{self._rebalance_ms}, {fetch_ms}, {1000 * megabytes / fetch_ms:.4f}, {1000 * self.count / fetch_ms:.4f}"
        )

    def _time(self, moment_ms: int) -> str:
        return formatted(self._pattern, datetime.fromtimestamp(moment_ms / 1000))
