"""One changed byte on a leader's disk: the follower names it, copies its other partitions, and heals by itself."""

from pathlib import Path

import pytest

from cluster.damaged_batch import LENGTH, change_byte, fill
from odradek.broker.timers.work import KINDS
from odradek.testing.clusters.cluster import KafkaCluster
from support.eventually import eventually

pytestmark = pytest.mark.ci


@pytest.mark.parametrize("by", [1, -1, 64])
def test_a_changed_length_stops_one_partition_until_it_is_right_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, by: int
) -> None:
    configs = {"replica.fetch.backoff.ms": 50, "replica.fetch.wait.max.ms": 50}
    with KafkaCluster(tmp_path, 2, configs) as cluster:
        for topic in ("damaged", "other"):
            cluster.create_topic(topic)
            cluster.wait_until_in_sync(topic)
        leader = cluster.leader_of("damaged")
        assert leader is not None
        (follower,) = (broker for broker in cluster.brokers if broker is not leader)
        follower.kill()
        cluster.wait_until(lambda: cluster.leader_of("other") is leader)
        for topic in ("damaged", "other"):
            fill(cluster.bootstrap_servers, topic)
        log = leader.log_dir / "damaged-0" / f"{0:020}.log"
        healthy = log.read_bytes()
        change_byte(log, LENGTH, by)
        failures = KINDS["replica-fetch"].failures
        follower.start()
        cluster.wait_until_in_sync("other")
        eventually("it is counted", lambda: KINDS["replica-fetch"].failures > failures + 1)
        fill(cluster.bootstrap_servers, "other")
        assert follower.is_running
        assert cluster.in_sync_replicas_of("damaged") == [leader]
        log.write_bytes(healthy)
        cluster.wait_until_in_sync("damaged")
        copy = follower.log_dir / "damaged-0" / f"{0:020}.log"
        eventually("it is copied", lambda: copy.read_bytes() == log.read_bytes())
    lines = [record.getMessage() for record in caplog.records]
    begin = f"replica-fetch: damaged-0 from broker {leader.node_id} at offset "
    assert any(line.startswith(begin) and "fetching it again in" in line for line in lines)
