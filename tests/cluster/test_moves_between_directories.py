"""Replicas of leaders and followers move between the log directories of brokers of a cluster."""

import contextlib
from functools import partial
from pathlib import Path

import pytest
from confluent_kafka import ElectionType, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.configs import DescribeConfigsRequest, IncrementalAlterConfigsRequest
from odradek.protocol.messages.topics import AlterPartitionReassignmentsRequest
from odradek.storage.files.files import Files
from odradek.storage.files.meta_properties import read_meta_properties
from support.brokers.asking import Asking
from support.brokers.our_cluster import CLIENT_TIMEOUT_S, OurCluster
from support.eventually import eventually

pytestmark = pytest.mark.ci

MANY = 1_000
THROTTLE = "replica.alter.log.dirs.io.max.bytes.per.second"
LARGE = "x" * 1_000


def other(cluster: OurCluster, node_id: int, topic: str) -> Path:
    """The log directory of a broker without the partition."""
    broker = cluster[node_id]
    [found] = [path for path in broker.log_dirs if path != broker.holder(topic)]
    return found


def move(cluster: OurCluster, node_id: int, topic: str, to: Path) -> int:
    """Sends AlterReplicaLogDirs; returns the error code."""
    return Asking(cluster[node_id].port).move(topic, 0, str(to))


def is_in(cluster: OurCluster, node_id: int, topic: str, path: Path) -> bool:
    """Whether a replica is in a directory, and the controller knows it."""
    meta = read_meta_properties(Files(), path)
    assert meta is not None
    lies_there = (path / f"{topic}-0").is_dir()
    return lies_there and cluster.partition(topic).directory_of(node_id) == meta.directory_id


def segment(cluster: OurCluster, node_id: int, topic: str) -> bytes:
    """The bytes of a replica's first segment."""
    return (cluster[node_id].holder(topic) / f"{topic}-0" / f"{0:020}.log").read_bytes()


def are_equal(cluster: OurCluster, topic: str) -> bool:
    with contextlib.suppress(FileNotFoundError, ValueError):  # the segment is just being moved
        return len({segment(cluster, node_id, topic) for node_id in cluster.brokers}) == 1
    return False


def throttle(cluster: OurCluster, node_id: int, rate: int) -> None:
    """Limits the moves of all brokers, in bytes a second, and waits until one of them knows it."""
    config = IncrementalAlterConfigsRequest.AlterableConfig(THROTTLE, 0, str(rate))
    resource = IncrementalAlterConfigsRequest.AlterConfigsResource(4, "", [config])
    asking = Asking(cluster[node_id].port)
    answer = asking.ask(IncrementalAlterConfigsRequest([resource], False), 1)
    assert answer.responses[0].error_code == 0, answer.responses[0].error_message
    wanted = DescribeConfigsRequest.DescribeConfigsResource(4, str(node_id), [THROTTLE])

    def knows_it() -> bool:
        found = asking.ask(DescribeConfigsRequest([wanted]), 1).results[0].configs  # empty until it has been set
        return [str(config.value) for config in found] == [str(rate)]

    eventually("the broker knows the limit", knows_it)


def futures(cluster: OurCluster, node_id: int) -> list[Path]:
    """The copies in progress."""
    return [path for log_dir in cluster[node_id].log_dirs for path in log_dir.glob("*-future")]


def test_leader_and_followers_move_during_writes(tmp_path: Path) -> None:
    with OurCluster(tmp_path, brokers=3, log_dirs=2) as cluster:
        cluster.create("t", [[1, 2, 3]])
        cluster.produce("t", map(str, range(MANY)))
        targets = {node_id: other(cluster, node_id, "t") for node_id in cluster.brokers}
        for node_id, target in targets.items():
            assert move(cluster, node_id, "t", target) == 0
            cluster.produce("t", map(str, range(MANY * node_id, MANY * (node_id + 1))))
        for node_id, target in targets.items():
            eventually(f"the replica of {node_id} has moved", partial(is_in, cluster, node_id, "t", target))
        cluster.produce("t", map(str, range(MANY * 4, MANY * 5)))
        cluster.until_in_sync("t", {1, 2, 3})
        eventually("equal bytes", partial(are_equal, cluster, "t"))
        assert cluster.partition("t").leader == 1
        cluster[1].kill()
        cluster.until_fenced(1)
        cluster[1].start()
        cluster.until_in_sync("t", {1, 2, 3})
        assert cluster.read("t", MANY * 5) == set(map(str, range(MANY * 5)))
        assert all(is_in(cluster, node_id, "t", target) for node_id, target in targets.items())
        assert not any(" ERROR " in broker.log() for broker in cluster.brokers.values())


def test_killed_broker_goes_on_with_its_moves(tmp_path: Path) -> None:
    with OurCluster(tmp_path, brokers=2, log_dirs=2) as cluster:
        cluster.create("t", [[1, 2]])
        cluster.produce("t", [f"{number} {LARGE}" for number in range(3_000)])
        for node_id in (1, 2):
            throttle(cluster, node_id, 1)
        targets = {node_id: other(cluster, node_id, "t") for node_id in (1, 2)}
        for node_id, target in targets.items():
            assert move(cluster, node_id, "t", target) == 0
            eventually("the copy is under way", partial(futures, cluster, node_id))
            cluster[node_id].kill()
            cluster[node_id].start()
            assert len(futures(cluster, node_id)) == 1
            cluster.until_in_sync("t", {1, 2})
        assert not is_in(cluster, 1, "t", targets[1])
        for node_id, target in targets.items():
            throttle(cluster, node_id, 100_000_000)
            eventually(f"the replica of {node_id} has moved", partial(is_in, cluster, node_id, "t", target))
        cluster.produce("t", ["last"])
        eventually("equal bytes", partial(are_equal, cluster, "t"))
        assert len(cluster.read("t", 3_001)) == 3_001


def test_truncated_follower_moves_what_its_leader_has(tmp_path: Path) -> None:
    """After an unclean election, the old leader's last records are truncated after they were copied."""
    with OurCluster(tmp_path, brokers=2, log_dirs=2) as cluster:
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
        topic = NewTopic("t", 1, replica_assignment=[[1, 2]], config={"unclean.leader.election.enable": "true"})
        admin.create_topics([topic])["t"].result(CLIENT_TIMEOUT_S)
        cluster.produce("t", map(str, range(100)))
        cluster.until_in_sync("t", {1, 2})
        cluster[2].kill()
        cluster.until_fenced(2)
        cluster.produce("t", [f"lost {number} {LARGE}" for number in range(3_000)])
        throttle(cluster, 1, 1)
        target = other(cluster, 1, "t")
        assert move(cluster, 1, "t", target) == 0

        def has_copied() -> bool:
            return any(b"lost" in path.read_bytes() for one in futures(cluster, 1) for path in one.glob("*.log"))

        eventually("the copy has what will be lost", has_copied)
        cluster[1].kill()
        cluster.until_fenced(1)
        cluster[2].start()
        cluster.until_unfenced(2)
        admin.elect_leaders(ElectionType.UNCLEAN, [TopicPartition("t", 0)]).result(CLIENT_TIMEOUT_S)
        assert cluster.partition("t").leader == 2
        cluster.produce("t", [f"kept {number} {LARGE}" for number in range(2_000)])
        cluster[1].start()
        cluster.until_in_sync("t", {1, 2})
        throttle(cluster, 1, 100_000_000)
        eventually("the replica has moved", partial(is_in, cluster, 1, "t", target))
        eventually("equal bytes", partial(are_equal, cluster, "t"))
        assert b"lost" not in segment(cluster, 1, "t")


def test_moves_that_cannot_be_are_refused(tmp_path: Path) -> None:
    with OurCluster(tmp_path, brokers=2, log_dirs=2) as cluster:
        cluster.create("t", [[1]])
        cluster.produce("t", ["a"])
        here, there = cluster[1].holder("t"), other(cluster, 1, "t")
        assert move(cluster, 1, "t", here) == 0
        assert move(cluster, 1, "t", tmp_path) == ErrorCode.LOG_DIR_NOT_FOUND
        assert move(cluster, 1, "none", there) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        eventually("the other broker knows the topic", lambda: Asking(cluster[2].port).partition("t", 0)[1] == 1)
        assert move(cluster, 2, "t", cluster[2].log_dirs[1]) == ErrorCode.REPLICA_NOT_AVAILABLE
        assert move(cluster, 1, "t", there) == 0
        eventually("the replica has moved", partial(is_in, cluster, 1, "t", there))
        assert cluster.read("t", 1) == {"a"}


def test_replica_that_comes_later_lies_in_the_directory_that_was_asked_for(tmp_path: Path) -> None:
    """As in a plan of ``reassign-partitions`` with ``log_dirs``: the request comes before or after the replica is
    created.
    """
    with OurCluster(tmp_path, brokers=2, log_dirs=2) as cluster:
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
        for topic in ("t", "u"):
            cluster.create(topic, [[1]])
        cluster.produce("u", ["a"])
        asking = Asking(cluster[2].port)
        target = cluster[2].log_dirs[1]
        for topic in ("t", "u", "new"):
            code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if topic == "new" else ErrorCode.REPLICA_NOT_AVAILABLE
            eventually(f"{code} for {topic}", lambda t=topic, c=code: move(cluster, 2, t, target) == c)  # type: ignore[misc]
        kind = AlterPartitionReassignmentsRequest
        wanted = [kind.ReassignableTopic(topic, [kind.ReassignablePartition(0, [1, 2])]) for topic in ("t", "u")]
        assert asking.ask(kind(60_000, topics=wanted), 0).error_code == 0
        admin.create_topics([NewTopic("new", 1, replica_assignment=[[2]])])["new"].result(CLIENT_TIMEOUT_S)
        for topic in ("t", "u", "new"):
            eventually(f"{topic} lies in {target}", partial(is_in, cluster, 2, topic, target))
            cluster.until_in_sync(topic, {2} if topic == "new" else {1, 2})
