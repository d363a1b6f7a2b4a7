"""How fast replicas may be copied in bytes a second, measured over the last samples as Kafka does (KIP-73).

Pure. Owns: the samples. Never does: reading a clock, knowing what is throttled. Invariant: the rate at each moment is
that of Kafka's SimpleRate with the same samples. Source: ReplicationQuotaManager, SimpleRate, SampledStat.
"""

from collections import deque
from dataclasses import dataclass


@dataclass(slots=True)
class RateSample:
    """The bytes of one window."""

    start_ms: int
    last_event_ms: int
    total: int = 0


class ReplicationQuota:
    """The rate of what was copied."""

    def __init__(self, samples: int, window_ms: int) -> None:
        """``replication.quota.window.num`` samples of ``replication.quota.window.size.seconds``."""
        self._window_ms = window_ms
        self._expiry_ms = samples * window_ms
        self._samples: deque[RateSample] = deque(maxlen=samples + 1)
        """The newest last. One more than counts: a sample that began before the oldest window may still reach into
        it."""

    def record(self, size: int, now_ms: int) -> None:
        """Adds ``size`` bytes."""
        if not self._samples or now_ms - self._samples[-1].start_ms >= self._window_ms:
            self._samples.append(RateSample(now_ms, now_ms))
        newest = self._samples[-1]
        newest.total += size
        newest.last_event_ms = now_ms

    def rate(self, now_ms: int) -> float:
        """Bytes a second since the oldest sample began, which counts as one window at least."""
        if not self._samples:
            self._samples.append(RateSample(now_ms, now_ms))
        for sample in self._samples:
            if now_ms - sample.last_event_ms >= self._expiry_ms:
                sample.start_ms = sample.last_event_ms = now_ms
                sample.total = 0
        elapsed_ms = now_ms - min(sample.start_ms for sample in self._samples)
        return sum(sample.total for sample in self._samples) / (max(elapsed_ms, self._window_ms) / 1000)

    def is_exceeded(self, rate_limit: int, now_ms: int) -> bool:
        """Whether the rate is above ``rate_limit`` bytes a second."""
        return self.rate(now_ms) > rate_limit
