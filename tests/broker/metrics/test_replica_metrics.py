"""The metrics of replication, as Prometheus reads them."""

from prometheus_client import generate_latest

from odradek.broker.metrics.pieces import encoded
from odradek.broker.metrics.replica_metrics import ReplicaMetrics
from odradek.broker.metrics.replica_state import IsrChanges, LedPartition

LED = (
    LedPartition("orders", 0, replicas=3, in_sync=3, min_isr=2),
    LedPartition("orders", 1, replicas=3, in_sync=2, min_isr=2),
    LedPartition("orders", 2, replicas=3, in_sync=1, min_isr=2),
)


def test_totals_and_partitions() -> None:
    metrics = ReplicaMetrics(lambda: iter(LED), IsrChanges(shrinks=4, expands=1), lambda: 10)
    lines = b"".join(encoded(metrics, generate_latest)).decode().splitlines()
    values = dict(line.rsplit(" ", 1) for line in lines if line[0] != "#")
    assert {name: float(value) for name, value in values.items() if "{" not in name} == {
        "kafka_server_replicamanager_partitioncount": 10,
        "kafka_server_replicamanager_underreplicatedpartitions": 2,
        "kafka_server_replicamanager_underminisrpartitioncount": 1,
        "kafka_server_replicamanager_atminisrpartitioncount": 1,
        "kafka_server_replicamanager_isrshrinks_total": 4,
        "kafka_server_replicamanager_isrexpands_total": 1,
    }
    in_sync = "kafka_cluster_partition_insyncreplicascount"
    assert values[f'{in_sync}{{partition="2",topic="orders"}}'] == "1.0"
    assert len(values) == 6 + 5 * len(LED)
