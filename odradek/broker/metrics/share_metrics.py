"""The metrics of share groups: acknowledgements, locks, sessions, records in flight, dead letters.

Owns: nothing. Never does: counting. Source: ``ShareGroupMetrics``, ``SharePartitionMetrics``, ``ShareSessionCache``.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import NamedTuple

from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric

from .counts import ShareCounts
from .pieces import Sample, in_pieces

GROUP = "kafka_server_sharegroupmetrics_"
PARTITION = "kafka_server_sharepartitionmetrics_"
SESSIONS = "kafka_server_sharesessioncache_"
TYPES = ("gap", "accept", "release", "reject", "renew")
PARTITION_LABELS = ("group", "topic", "partition")


class SharePartitionSeen(NamedTuple):
    """One share partition: the offsets and the batches in flight."""

    group: str
    topic: str
    partition: int
    messages: int
    batches: int


class ShareSources(NamedTuple):
    """What share groups have done, and functions that return what they have now."""

    counts: ShareCounts
    sessions: Callable[[], int]
    session_partitions: Callable[[], int]
    in_flight: Callable[[], Iterable[SharePartitionSeen]]


class ShareMetrics:
    """Collects the metrics at each request; none before the first share group."""

    def __init__(self, sources: Callable[[], ShareSources | None]) -> None:
        self._sources = sources

    def pieces(self) -> Iterator[Metric]:
        """All metrics with their current values."""
        sources = self._sources()
        if sources is None:
            return
        counts = sources.counts
        family = CounterMetricFamily(
            f"{GROUP}recordacknowledgements", "Records that members have acknowledged.", labels=("acktype",)
        )
        for kind, name in enumerate(TYPES):
            family.add_metric((name,), counts.acknowledgements[kind])
        yield family
        for name, what, count in (
            (f"{PARTITION}acquisitionlocktimeout", "Records whose locks ended.", counts.lock_timeouts),
            (f"{SESSIONS}sharesessionevictions", "Share sessions that the broker ended.", counts.evictions),
            (f"{GROUP}deadletterqueuerecord", "Dead letters that were written.", counts.letters),
            (f"{GROUP}deadletterqueuefailedrecord", "Dead letters that could not be written.", counts.lost_letters),
        ):
            yield CounterMetricFamily(name, what, count)
        yield GaugeMetricFamily(f"{SESSIONS}sharesessionscount", "Share sessions.", sources.sessions())
        yield GaugeMetricFamily(
            f"{SESSIONS}sharepartitionscount", "Partitions of all share sessions.", sources.session_partitions()
        )
        seen = list(sources.in_flight())
        for name, what, values in (
            ("inflightmessagecount", "Offsets in flight.", [one.messages for one in seen]),
            ("inflightbatchcount", "Batches in flight.", [one.batches for one in seen]),
        ):
            yield from in_pieces(
                partial(GaugeMetricFamily, f"{PARTITION}{name}", what, labels=PARTITION_LABELS),
                (
                    Sample((one.group, one.topic, str(one.partition)), value)
                    for one, value in zip(seen, values, strict=True)
                ),
            )
