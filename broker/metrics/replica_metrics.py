"""The metrics of replication, by the names that the JMX exporter gives Kafka's MBeans.

Never does: counting followers; the values are read from the leaders at each request. Source: ReplicaManager and
Partition (newGauge): ``kafka.server:type=ReplicaManager``, ``kafka.cluster:type=Partition``.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric

from .pieces import Sample, in_pieces
from .replica_state import IsrChanges, LedPartition

PARTITION_LABELS = ("topic", "partition")

PARTITION_GAUGES: Sequence[tuple[str, str, Callable[[LedPartition], int]]] = (
    ("replicascount", "Replicas of a partition that this broker leads.", lambda led: led.replicas),
    ("insyncreplicascount", "Its in-sync replicas.", lambda led: led.in_sync),
    ("underreplicated", "1 if a replica is not in sync.", lambda led: led.in_sync < led.replicas),
    ("underminisr", "1 if acks=all is refused.", lambda led: led.in_sync < led.min_isr),
    ("atminisr", "1 if one more loss refuses acks=all.", lambda led: led.in_sync == led.min_isr),
)
"""Name after ``kafka_cluster_partition_``, meaning and value."""


class ReplicaMetrics:
    """Collects the metrics at each request, in pieces."""

    def __init__(
        self,
        led: Callable[[], Iterator[LedPartition]],
        isr_changes: IsrChanges,
        partitions: Callable[[], int],
    ) -> None:
        """``led``: the partitions with several replicas that this broker leads; ``partitions``: the number of all that
        it hosts."""
        self._led = led
        self._isr_changes = isr_changes
        self._partitions = partitions

    def pieces(self) -> Iterator[Metric]:
        """All metrics with their current values."""
        totals = dict.fromkeys((name for name, _, _ in PARTITION_GAUGES), 0)
        for name, what, value in PARTITION_GAUGES:
            yield from in_pieces(
                partial(GaugeMetricFamily, f"kafka_cluster_partition_{name}", what, labels=PARTITION_LABELS),
                self._samples(name, value, totals),
            )
        for name, what, number in (
            ("partitioncount", "Partitions of this broker.", self._partitions()),
            ("underreplicatedpartitions", "Led here, with a replica that is not in sync.", totals["underreplicated"]),
            ("underminisrpartitioncount", "Led here, with acks=all refused.", totals["underminisr"]),
            ("atminisrpartitioncount", "Led here, one loss away from that.", totals["atminisr"]),
        ):
            yield GaugeMetricFamily(f"kafka_server_replicamanager_{name}", what, value=number)
        changes = self._isr_changes
        for name, what, count in (
            ("isrshrinks", "Replicas have left an ISR of a partition led here.", changes.shrinks),
            ("isrexpands", "Replicas have joined one.", changes.expands),
        ):
            yield CounterMetricFamily(f"kafka_server_replicamanager_{name}", what, value=count)

    def _samples(self, name: str, value: Callable[[LedPartition], int], totals: dict[str, int]) -> Iterator[Sample]:
        for led in self._led():
            number = int(value(led))
            totals[name] += number
            yield Sample((led.topic, str(led.partition)), number)
