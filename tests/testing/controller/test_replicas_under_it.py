"""Partitions with several replicas on brokers of ours under the embedded controller."""

from pathlib import Path

import pytest
from confluent_kafka import ElectionType, TopicPartition
from confluent_kafka.admin import AdminClient

from odradek.broker.network.node_client import NodeClient
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.topics import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
)
from support.brokers.our_cluster import CLIENT_TIMEOUT_S, OurCluster
from support.eventually import eventually


@pytest.mark.ci
def test_three_replicas_survive_the_leader(tmp_path: Path) -> None:
    with OurCluster(tmp_path, brokers=3) as cluster:
        cluster.create("orders", [[1, 2, 3]])
        cluster.produce("orders", [f"before {number}" for number in range(100)])
        cluster[1].kill()
        cluster.until_fenced(1)
        led = cluster.partition("orders")
        assert (led.leader, set(led.isr)) == (2, {2, 3})
        cluster.produce("orders", [f"after {number}" for number in range(100)])
        cluster[1].start()
        cluster.until_in_sync("orders", {1, 2, 3})
        expected = {f"{when} {number}" for when in ("before", "after") for number in range(100)}
        assert cluster.read("orders", 200) == expected
        logs = [cluster[node_id].log_dir / "orders-0" / f"{0:020}.log" for node_id in (1, 2, 3)]
        assert logs[0].read_bytes() == logs[1].read_bytes() == logs[2].read_bytes()


def test_controlled_shutdown_moves_leaderships_first(tmp_path: Path) -> None:
    with OurCluster(tmp_path, brokers=2) as cluster:
        cluster.create("orders", [[1, 2]])
        cluster.produce("orders", ["a"])
        cluster.until_in_sync("orders", {1, 2})
        assert cluster[1].stop() == 0
        moved = cluster.partition("orders")
        assert (moved.leader, moved.isr, moved.leader_epoch) == (2, (2,), 1)
        cluster.produce("orders", ["b"])
        assert cluster.read("orders", 2) == {"a", "b"}


def test_paused_follower_leaves_the_isr_and_comes_back(tmp_path: Path) -> None:
    with OurCluster(tmp_path, brokers=2) as cluster:
        cluster.create("orders", [[1, 2]])
        with cluster.paused(2):
            cluster.until_in_sync("orders", {1})
            cluster.produce("orders", ["a"])
        cluster.until_in_sync("orders", {1, 2})


@pytest.mark.ci
def test_preferred_leader_leads_again_when_a_client_asks(tmp_path: Path) -> None:
    with OurCluster(tmp_path, brokers=2) as cluster:
        cluster.create("orders", [[1, 2]])
        cluster.produce("orders", ["a"])
        cluster[1].kill()
        cluster.until_fenced(1)
        cluster[1].start()
        cluster.until_in_sync("orders", {1, 2})
        assert cluster.partition("orders").leader == 2
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
        admin.elect_leaders(ElectionType.PREFERRED, [TopicPartition("orders", 0)]).result(CLIENT_TIMEOUT_S)
        assert cluster.partition("orders").leader == 1
        cluster.produce("orders", ["b"])
        assert cluster.read("orders", 2) == {"a", "b"}


async def test_reassigned_partition_moves_with_its_records(tmp_path: Path) -> None:
    with OurCluster(tmp_path, brokers=2) as cluster:
        cluster.create("orders", [[1]])
        cluster.produce("orders", ["a", "b"])
        kind = AlterPartitionReassignmentsRequest
        request = kind(topics=[kind.ReassignableTopic("orders", [kind.ReassignablePartition(0, [2])])])
        client = NodeClient("127.0.0.1", cluster[1].port, "test")
        response = await client.send(request, AlterPartitionReassignmentsResponse, CLIENT_TIMEOUT_S)
        assert response.responses[0].partitions[0].error_code == ErrorCode.NONE
        client.close()
        eventually("broker 2 leads alone", lambda: cluster.partition("orders").replicas == (2,))
        moved = cluster.partition("orders")
        assert (moved.leader, moved.isr, moved.is_reassigning) == (2, (2,), False)
        cluster.produce("orders", ["c"])
        assert cluster.read("orders", 3) == {"a", "b", "c"}
