"""Sums over the most recent time windows, and rates computed from them.

Pure. Owns: the samples. Never does: reading a clock. Invariant: each sum and rate equals that of Kafka's classes for
the same events. Source: SampledStat, WindowedSum, Rate, SimpleRate, Avg.
"""

from collections import deque

METRIC_SAMPLES, METRIC_WINDOW_MS = 2, 30_000
"""Kafka's ``metrics.num.samples`` and ``metrics.sample.window.ms``."""


class RateWindow:
    """The sum of one window."""

    __slots__ = ("last_event_ms", "start_ms", "total")

    def __init__(self, now_ms: int) -> None:
        self.start_ms = now_ms
        self.last_event_ms = now_ms
        self.total = 0.0


class SampledSum:
    """The sum of the values recorded in the most recent windows."""

    __slots__ = ("_expiry_ms", "_kept", "_samples", "_window_ms")

    def __init__(self, samples: int, window_ms: int) -> None:
        """``samples``: the number of windows, of ``window_ms`` each, in the sum."""
        self._window_ms = window_ms
        self._expiry_ms = samples * window_ms
        self._kept = samples + 1
        """One more than ``samples``, because a sample that began before the oldest window may still reach into it."""
        self._samples: deque[RateWindow] = deque()
        """The windows, with the newest last."""

    def record(self, value: float, now_ms: int) -> None:
        """Adds ``value``. A negative value takes back an earlier one."""
        samples = self._samples
        if not samples or now_ms - samples[-1].start_ms >= self._window_ms:
            if len(samples) == self._kept:
                samples.popleft()
            samples.append(RateWindow(now_ms))
        newest = samples[-1]
        newest.total += value
        newest.last_event_ms = now_ms

    def total(self, now_ms: int) -> float:
        """The sum of the windows that have not expired."""
        self._expire(now_ms)
        return sum(sample.total for sample in self._samples)

    def elapsed_ms(self, now_ms: int) -> int:
        """The time in ms since the oldest window began."""
        self._expire(now_ms)
        return now_ms - min(sample.start_ms for sample in self._samples)

    def has_expired(self, now_ms: int) -> bool:
        """Whether all recorded values have expired, so that a new sum would be equal."""
        return all(now_ms - sample.last_event_ms >= self._expiry_ms for sample in self._samples)

    def _expire(self, now_ms: int) -> None:
        """Sets samples to 0 whose last event has expired. As in Kafka, they begin again now."""
        if not self._samples:
            self._samples.append(RateWindow(now_ms))
        for sample in self._samples:
            if now_ms - sample.last_event_ms >= self._expiry_ms:
                sample.start_ms = sample.last_event_ms = now_ms
                sample.total = 0.0


class Rate(SampledSum):
    """A rate for client quotas (Kafka's ``Rate``). It is measured over at least ``samples - 1`` windows."""

    __slots__ = ()

    def window_ms(self, now_ms: int) -> int:
        """The time in ms over which the rate is measured."""
        elapsed_ms = self.elapsed_ms(now_ms)
        missing = self._kept - 2 - elapsed_ms // self._window_ms
        if missing > 0:
            elapsed_ms += missing * self._window_ms
        return max(elapsed_ms, 1)

    def rate(self, now_ms: int) -> float:
        """The recorded sum for each second of :meth:`window_ms`."""
        total = self.total(now_ms)
        return total / (self.window_ms(now_ms) / 1000)


class Average:
    """The average of what was recorded in the last minute (Kafka's ``Avg`` with the defaults of its metrics)."""

    __slots__ = ("_count", "_sum")

    def __init__(self) -> None:
        self._sum = SampledSum(METRIC_SAMPLES, METRIC_WINDOW_MS)
        self._count = SampledSum(METRIC_SAMPLES, METRIC_WINDOW_MS)

    def record(self, value: float, now_ms: int) -> None:
        """Adds a value."""
        self._sum.record(value, now_ms)
        self._count.record(1, now_ms)

    def value(self, now_ms: int) -> float | None:
        """The average; None if nothing was recorded."""
        count = self._count.total(now_ms)
        return self._sum.total(now_ms) / count if count else None


class SimpleRate(SampledSum):
    """A rate for replication quotas (Kafka's ``SimpleRate``). It is measured over at least one window."""

    __slots__ = ()

    def rate(self, now_ms: int) -> float:
        """The recorded sum for each second."""
        total = self.total(now_ms)
        return total / (max(self.elapsed_ms(now_ms), self._window_ms) / 1000)
