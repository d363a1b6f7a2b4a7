"""The metrics of replication, by the names that the JMX exporter gives Kafka's MBeans.

Never does: counting followers; the values are read from leaders and fetchers at each request. Source: newGauge and
newMeter of ReplicaManager, Partition, AbstractFetcherManager and AbstractFetcherThread:
``kafka.server:type=ReplicaManager``, ``kafka.cluster:type=Partition``, ``kafka.server:type=ReplicaFetcherManager``,
``FetcherLagMetrics``, ``FetcherStats``. What only controllers have (OfflinePartitionsCount, UncleanLeaderElections) is
not here.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric

from .pieces import Sample, in_pieces
from .replica_state import FetcherState, FollowedReplica, HostedReplicaCounts, IsrChanges, LedPartition

PARTITION_LABELS = ("topic", "partition")
FETCHER_LABELS = ("clientId",)
LEADER_LABELS = (*FETCHER_LABELS, "brokerHost", "brokerPort")
"""The labels of ``AbstractFetcherThread.FetcherStats``."""
LED = "Replicated partitions that this broker leads and that"
REPLICA_FETCHERS = ("Replica",)
"""The client id of Kafka's ReplicaFetcherManager, as opposed to the one for moves between directories."""

PARTITION_GAUGES: Sequence[tuple[str, str, Callable[[LedPartition], int]]] = (
    ("replicascount", "Replicas of a partition that this broker leads.", lambda led: led.replicas),
    ("insyncreplicascount", "In-sync replicas of a partition that this broker leads.", lambda led: led.in_sync),
    ("underreplicated", "1 if a replica of the partition is not in sync.", lambda led: led.in_sync < led.replicas),
    ("underminisr", "1 if too few replicas are in sync for acks=all.", lambda led: led.in_sync < led.min_isr),
    ("atminisr", "1 if just enough replicas are in sync for acks=all.", lambda led: led.in_sync == led.min_isr),
)
"""Name after ``kafka_cluster_partition_``, meaning and value."""


@dataclass(frozen=True, slots=True)
class ReplicaSources:
    """Where the numbers come from. ``led``: the partitions with several replicas that this broker leads."""

    led: Callable[[], Iterator[LedPartition]]
    isr_changes: IsrChanges
    hosted: Callable[[], HostedReplicaCounts]
    followed: Callable[[], Iterator[FollowedReplica]]
    fetchers: Callable[[], Iterator[FetcherState]]


class ReplicaMetrics:
    """Collects the metrics at each request, in pieces."""

    def __init__(self, sources: ReplicaSources) -> None:
        self._sources = sources

    def pieces(self) -> Iterator[Metric]:
        """All metrics with their current values."""
        yield from self._led_pieces()
        yield from self._followed_pieces()

    def _led_pieces(self) -> Iterator[Metric]:
        totals = dict.fromkeys((name for name, _, _ in PARTITION_GAUGES), 0)
        totals["reassigning"] = sum(led.is_reassigning for led in self._sources.led())
        hosted = self._sources.hosted()
        for name, what, value in PARTITION_GAUGES:
            yield from in_pieces(
                partial(GaugeMetricFamily, f"kafka_cluster_partition_{name}", what, labels=PARTITION_LABELS),
                self._samples(name, value, totals),
            )
        for name, what, number in (
            ("partitioncount", "Partitions that this broker has.", hosted.hosted),
            ("leadercount", "Partitions that this broker leads.", hosted.led),
            ("offlinereplicacount", "Partitions of this broker in failed log directories.", hosted.offline),
            ("reassigningpartitions", f"{LED} are being reassigned.", totals["reassigning"]),
            ("underreplicatedpartitions", f"{LED} have a replica that is not in sync.", totals["underreplicated"]),
            ("underminisrpartitioncount", f"{LED} have too few in-sync replicas for acks=all.", totals["underminisr"]),
            ("atminisrpartitioncount", f"{LED} have just enough in-sync replicas for acks=all.", totals["atminisr"]),
        ):
            yield GaugeMetricFamily(f"kafka_server_replicamanager_{name}", what, value=number)
        changes = self._sources.isr_changes
        for name, what, count in (
            ("isrshrinks", "Times that replicas left the ISR of a partition led by this broker.", changes.shrinks),
            ("isrexpands", "Times that replicas joined the ISR of a partition led by this broker.", changes.expands),
            ("failedisrupdates", "Changes of an ISR that the controllers have refused.", changes.failed),
        ):
            yield CounterMetricFamily(f"kafka_server_replicamanager_{name}", what, value=count)

    def _followed_pieces(self) -> Iterator[Metric]:
        max_lag = failed = 0

        def lags() -> Iterator[Sample]:
            nonlocal max_lag, failed
            for replica in self._sources.followed():
                max_lag = max(max_lag, replica.lag)
                failed += replica.has_failed
                yield Sample((replica.client_id, replica.topic, str(replica.partition)), replica.lag)

        name, what = "kafka_server_fetcherlagmetrics_consumerlag", "Records that a replica on this broker lacks."
        labels = (*FETCHER_LABELS, *PARTITION_LABELS)
        yield from in_pieces(partial(GaugeMetricFamily, name, what, labels=labels), lags())
        fetchers = list(self._sources.fetchers())
        for name, what, value in (
            ("maxlag", "Largest lag of a replica on this broker, in records.", max_lag),
            ("failedpartitionscount", "Replicas on this broker that are not fetched because of an error.", failed),
            ("minfetchrate", "Fetch requests a second to the leader that gets fewest.", _least_rate(fetchers)),
        ):
            family = GaugeMetricFamily(f"kafka_server_replicafetchermanager_{name}", what, labels=FETCHER_LABELS)
            family.add_metric(REPLICA_FETCHERS, value)
            yield family
        counts: Sequence[tuple[str, str, Callable[[FetcherState], int]]] = (
            ("requests", "Fetch requests that this broker has sent to a leader.", lambda fetcher: fetcher.requests),
            (
                "bytes",
                "Bytes of records that this broker has copied from a leader.",
                lambda fetcher: fetcher.copied_bytes,
            ),
        )
        for name, what, count in counts:
            counter = CounterMetricFamily(f"kafka_server_fetcherstats_{name}", what, labels=LEADER_LABELS)
            for fetcher in fetchers:
                counter.add_metric((fetcher.client_id, fetcher.host, str(fetcher.port)), count(fetcher))
            yield counter

    def _samples(self, name: str, value: Callable[[LedPartition], int], totals: dict[str, int]) -> Iterator[Sample]:
        for led in self._sources.led():
            number = int(value(led))
            totals[name] += number
            yield Sample((led.topic, str(led.partition)), number)


def _least_rate(fetchers: Sequence[FetcherState]) -> float:
    return min((fetcher.request_rate for fetcher in fetchers), default=0.0)
