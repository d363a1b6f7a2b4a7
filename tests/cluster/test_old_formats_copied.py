"""Followers copy logs with message formats 0, 1 and 2 byte for byte, from ours and from a real Kafka, and to both."""

import shutil
from pathlib import Path

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from odradek.testing.clusters.cluster import KafkaCluster
from support.brokers.asking import Asking
from support.data.old_formats import TOPICS, stored, unpack
from support.eventually import eventually
from support.kafka.real_controllers import RealControllers

pytestmark = pytest.mark.ci

KEPT = {"log.retention.ms": "-1", "replica.fetch.wait.max.ms": "50"}
DELETED = 60
"""The log start offset after a DeleteRecords."""
KAFKA, OURS = 2, 1


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpack(tmp_path_factory.mktemp("kafka-2.8"))


def take_over(written: Path, log_dir: Path) -> None:
    """Replaces the empty logs of a stopped broker by those of Kafka 2.8, as after a kill."""
    for topic in TOPICS:
        directory = log_dir / f"{topic}-0"
        for path in [one for one in directory.iterdir() if one.name[:20].isdigit()]:
            path.unlink()
        (directory / "leader-epoch-checkpoint").unlink(missing_ok=True)
        for path in (written / directory.name).glob("*.log"):
            shutil.copy(path, directory)
    (log_dir / ".kafka_cleanshutdown").unlink(missing_ok=True)
    (log_dir / "recovery-point-offset-checkpoint").unlink(missing_ok=True)


def bytes_of(log_dir: Path) -> dict[str, bytes]:
    """The records of each topic, whatever its segments are."""
    return {
        topic: b"".join(path.read_bytes() for path in sorted((log_dir / f"{topic}-0").glob("*.log")))
        for topic in TOPICS
    }


def values(topic: str, first: int = 0) -> list[bytes]:
    """The values of a topic from an offset on, as :class:`.Asking` has them: null ones are empty."""
    return [record.value or b"" for record in stored(topic)[first:]]


def delete_records(servers: str) -> None:
    """Deletes the first records of each topic."""
    admin = AdminClient({"bootstrap.servers": servers})
    for future in admin.delete_records([TopicPartition(topic, 0, DELETED) for topic in TOPICS]).values():
        assert future.result(60).low_watermark == DELETED


def test_between_brokers_of_ours(written: Path, tmp_path: Path) -> None:
    with KafkaCluster(tmp_path, 2, KEPT) as cluster:
        for topic in TOPICS:
            cluster.create_topic(topic)
        for topic in TOPICS:
            cluster.wait_until_in_sync(topic)
        first, second = cluster.brokers
        second.stop()
        first.stop()
        take_over(written, first.log_dir)
        expected = bytes_of(first.log_dir)
        first.start()
        cluster.wait_until(lambda: all(cluster.leader_of(topic) is first for topic in TOPICS))
        second.start()
        eventually("all is copied", lambda: bytes_of(second.log_dir) == expected)
        for topic in TOPICS:
            cluster.wait_until_in_sync(topic)
        delete_records(first.bootstrap_servers)
        first.stop()
        cluster.wait_until(lambda: all(cluster.leader_of(topic) is second for topic in TOPICS))
        asking = Asking(second.port)
        for topic in TOPICS:
            assert asking.fetch(topic, 0, DELETED) == (0, values(topic, DELETED))
            assert asking.produce(topic, 0, b"new", acks=1) == 0
            assert asking.fetch(topic, 0, len(stored(topic))) == (0, [b"new"])
        first.start()
        for topic in TOPICS:
            cluster.wait_until_in_sync(topic)
        second.stop()
        cluster.wait_until(lambda: all(cluster.leader_of(topic) is first for topic in TOPICS))
        asking = Asking(first.port)
        for topic in TOPICS:
            assert asking.fetch(topic, 0, DELETED) == (0, [*values(topic, DELETED), b"new"])


@pytest.mark.java
def test_from_a_real_kafka_and_back(written: Path, tmp_path: Path) -> None:
    with RealControllers(tmp_path / "controllers") as controllers:
        kafka = controllers.kafka_broker(tmp_path / "kafka", KAFKA, KEPT)
        ours = controllers.broker(tmp_path / "ours", OURS, KEPT)
        with kafka, ours:
            admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
            new = [NewTopic(topic, 1, replica_assignment=[[KAFKA, OURS]]) for topic in TOPICS]
            for future in admin.create_topics(new).values():
                future.result(60)
            for topic in TOPICS:
                eventually("our copy is made", (ours.log_dir / f"{topic}-0").exists)
            assert ours.stop() == 0
            kafka.stop()
            take_over(written, kafka.log_dir)
            expected = bytes_of(kafka.log_dir)
            kafka.start()
            ours.start()
            eventually("all is copied by ours", lambda: bytes_of(ours.log_dir) == expected)
            asking = Asking(ours.port)
            eventually("all are in sync", lambda: all(len(asking.partition(one, 0)[2]) == 2 for one in TOPICS))
            kafka.stop()
            for topic in TOPICS:
                shutil.rmtree(kafka.log_dir / f"{topic}-0")
            eventually("ours leads", lambda: all(asking.partition(one, 0)[1] == OURS for one in TOPICS))
            for topic in TOPICS:
                assert asking.fetch(topic, 0) == (0, values(topic))
            kafka.start()
            eventually("all is copied by Kafka", lambda: bytes_of(kafka.log_dir) == expected)
