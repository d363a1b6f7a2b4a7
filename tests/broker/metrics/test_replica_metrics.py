"""The metrics of replication in the exposition for Prometheus."""

import pytest
from prometheus_client import generate_latest

from odradek.broker.metrics.pieces import encoded
from odradek.broker.metrics.replica_metrics import ReplicaMetrics, ReplicaSources
from odradek.broker.metrics.replica_state import (
    FetcherState,
    FollowedReplica,
    HostedReplicaCounts,
    IsrChanges,
    LedPartition,
    OneMinuteRate,
)

LED = (
    LedPartition("orders", 0, replicas=3, in_sync=3, min_isr=2),
    LedPartition("orders", 1, replicas=3, in_sync=2, min_isr=2, is_reassigning=True),
    LedPartition("orders", 2, replicas=3, in_sync=1, min_isr=2),
)
FOLLOWED = (
    FollowedReplica("ReplicaFetcherThread-0-2", "bills", 0, lag=0, has_failed=False),
    FollowedReplica("ReplicaFetcherThread-0-2", "bills", 1, lag=7, has_failed=False),
    FollowedReplica("ReplicaFetcherThread-0-3", "bills", 2, lag=4, has_failed=True),
)
FETCHERS = (
    FetcherState("ReplicaFetcherThread-0-2", "two", 92, 100, 5_000, 2.0),
    FetcherState("ReplicaFetcherThread-0-3", "three", 93, 40, 0, 0.5),
)


def values(
    led: tuple[LedPartition, ...] = (),
    followed: tuple[FollowedReplica, ...] = (),
    fetchers: tuple[FetcherState, ...] = (),
) -> dict[str, float]:
    sources = ReplicaSources(
        lambda: iter(led),
        IsrChanges(shrinks=4, expands=1, failed=2),
        lambda: HostedReplicaCounts(10, 3, 1),
        lambda: iter(followed),
        lambda: iter(fetchers),
    )
    lines = b"".join(encoded(ReplicaMetrics(sources), generate_latest)).decode().splitlines()
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines if line[0] != "#")}


def test_totals_and_partitions() -> None:
    found = values(LED)
    assert {name: value for name, value in found.items() if "{" not in name} == {
        "kafka_server_replicamanager_partitioncount": 10,
        "kafka_server_replicamanager_leadercount": 3,
        "kafka_server_replicamanager_offlinereplicacount": 1,
        "kafka_server_replicamanager_reassigningpartitions": 1,
        "kafka_server_replicamanager_underreplicatedpartitions": 2,
        "kafka_server_replicamanager_underminisrpartitioncount": 1,
        "kafka_server_replicamanager_atminisrpartitioncount": 1,
        "kafka_server_replicamanager_isrshrinks_total": 4,
        "kafka_server_replicamanager_isrexpands_total": 1,
        "kafka_server_replicamanager_failedisrupdates_total": 2,
    }
    in_sync = "kafka_cluster_partition_insyncreplicascount"
    assert found[f'{in_sync}{{partition="2",topic="orders"}}'] == 1
    assert sum(name.startswith("kafka_cluster_partition_") for name in found) == 5 * len(LED)


def test_lag_of_copies_and_the_fetchers() -> None:
    found = values(followed=FOLLOWED, fetchers=FETCHERS)
    of_fetchers = {name: value for name, value in found.items() if "fetcher" in name}
    lag, second, third = "kafka_server_fetcherlagmetrics_consumerlag", FETCHERS[0].client_id, FETCHERS[1].client_id
    manager = "kafka_server_replicafetchermanager"
    assert of_fetchers == {
        f'{lag}{{clientId="{second}",partition="0",topic="bills"}}': 0,
        f'{lag}{{clientId="{second}",partition="1",topic="bills"}}': 7,
        f'{lag}{{clientId="{third}",partition="2",topic="bills"}}': 4,
        f'{manager}_maxlag{{clientId="Replica"}}': 7,
        f'{manager}_failedpartitionscount{{clientId="Replica"}}': 1,
        f'{manager}_minfetchrate{{clientId="Replica"}}': 0.5,
        f'kafka_server_fetcherstats_requests_total{{brokerHost="two",brokerPort="92",clientId="{second}"}}': 100,
        f'kafka_server_fetcherstats_requests_total{{brokerHost="three",brokerPort="93",clientId="{third}"}}': 40,
        f'kafka_server_fetcherstats_bytes_total{{brokerHost="two",brokerPort="92",clientId="{second}"}}': 5_000,
        f'kafka_server_fetcherstats_bytes_total{{brokerHost="three",brokerPort="93",clientId="{third}"}}': 0,
    }


def test_without_other_brokers_the_largest_lag_is_zero() -> None:
    found = values()
    assert found['kafka_server_replicafetchermanager_maxlag{clientId="Replica"}'] == 0
    assert found['kafka_server_replicafetchermanager_minfetchrate{clientId="Replica"}'] == 0


def test_rate_of_a_minute_is_weighted_as_kafkas_meters_do() -> None:
    """The first tick of 5 s sets the rate. A minute without events then leaves 1/e of it."""
    rate = OneMinuteRate(0)
    for _ in range(10):
        rate.mark(1_000)
    assert rate.rate(4_999) == 0
    assert rate.rate(5_000) == 2
    assert rate.rate(65_000) == pytest.approx(2 * 2.718281828**-1)
    assert rate.count == 10
