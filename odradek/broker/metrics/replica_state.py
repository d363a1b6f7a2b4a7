"""The numbers that the metrics show for this broker's replicas: partitions that it leads, and copies of others'.

Pure. Owns: the shape of these numbers. It is separate from :mod:`.replica_metrics`, which a broker without metrics
never imports.
"""

from dataclasses import dataclass
from math import exp
from typing import NamedTuple


class LedPartition(NamedTuple):
    """One partition with several replicas. ``min_isr``: ``min.insync.replicas``, at most ``replicas``."""

    topic: str
    partition: int
    replicas: int
    in_sync: int
    min_isr: int
    is_reassigning: bool = False


@dataclass(slots=True)
class IsrChanges:
    """The changes of ISRs that the controllers have accepted or refused since the start."""

    shrinks: int = 0
    expands: int = 0
    failed: int = 0


class HostedReplicaCounts(NamedTuple):
    """The partitions on this broker, those that it leads, and those in failed log directories."""

    hosted: int
    led: int
    offline: int


class FollowedReplica(NamedTuple):
    """One replica that follows a leader. ``lag``: records up to the leader's high watermark that it lacks;
    ``has_failed``: it is not fetched until the metadata changes."""

    client_id: str
    topic: str
    partition: int
    lag: int
    has_failed: bool


class FetcherState(NamedTuple):
    """The fetcher of the leader at an address: requests sent, bytes copied, requests a second over the last minute."""

    client_id: str
    host: str
    port: int
    requests: int
    copied_bytes: int
    request_rate: float


TICK_MS = 5_000
ALPHA = 1 - exp(-TICK_MS / 60_000)


class OneMinuteRate:
    """Events a second, weighted over a minute as Kafka's meters do (EWMA of Yammer metrics). Times in ms."""

    __slots__ = ("_last_tick_ms", "_rate", "_uncounted", "count")

    def __init__(self, now_ms: int) -> None:
        self.count = 0
        """All events so far."""
        self._uncounted = 0
        self._rate: float | None = None
        self._last_tick_ms = now_ms

    def mark(self, now_ms: int) -> None:
        """Counts one event."""
        self._tick(now_ms)
        self._uncounted += 1
        self.count += 1

    def rate(self, now_ms: int) -> float:
        """The rate as of the last tick; 0 before the first."""
        self._tick(now_ms)
        return self._rate or 0.0

    def _tick(self, now_ms: int) -> None:
        ticks = (now_ms - self._last_tick_ms) // TICK_MS
        if ticks <= 0:
            return
        newest = self._uncounted * 1000 / TICK_MS
        rate = newest if self._rate is None else self._rate + ALPHA * (newest - self._rate)
        self._rate = float(rate * (1 - ALPHA) ** (ticks - 1))
        self._uncounted = 0
        self._last_tick_ms += ticks * TICK_MS
