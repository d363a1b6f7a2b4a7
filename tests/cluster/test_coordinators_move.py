"""Coordinators move between brokers of ours: committed offsets and transactions survive the broker that had them."""

from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from odradek.protocol.internal_topics import OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC
from support.brokers.our_cluster import OurCluster
from support.eventually import eventually

pytestmark = pytest.mark.ci

TIMEOUT_S = 60
CONFIGS = {"replica.lag.time.max.ms": "3000", "replica.fetch.backoff.ms": "100", "offsets.commit.timeout.ms": "1000"}


def create(cluster: OurCluster, topic: str, **config: str) -> None:
    """A topic with one partition on both brokers, broker 1 first."""
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
    created = admin.create_topics([NewTopic(topic, 1, replica_assignment=[[1, 2]], config=config)])
    created[topic].result(TIMEOUT_S)


def in_sync(cluster: OurCluster, topic: str) -> None:
    eventually(f"{topic} is in sync", lambda: len(cluster.partition(topic).isr) == 2)


def commit(consumer: Consumer, offset: int) -> None:
    """Commits until it is taken: librdkafka gives a commit up while the coordinator moves."""

    def taken() -> bool:
        try:
            consumer.commit(offsets=[TopicPartition("t", 0, offset)], asynchronous=False)
        except KafkaException:
            return False
        return True

    eventually(f"offset {offset} is committed", taken)


def committed(consumer: Consumer) -> int:
    offsets: list[int] = []

    def read() -> bool:
        try:
            [partition] = consumer.committed([TopicPartition("t", 0)], timeout=10)
        except KafkaException:
            return False
        offsets.append(partition.offset)
        return partition.error is None

    eventually("the committed offset is read", read)
    return offsets[-1]


def test_committed_offsets_follow_the_leader(tmp_path: Path) -> None:
    with OurCluster(tmp_path, 2, CONFIGS) as cluster:
        create(cluster, "t")
        create(cluster, OFFSETS_TOPIC, **{"cleanup.policy": "compact"})
        consumer = Consumer({"bootstrap.servers": cluster.bootstrap_servers, "group.id": "g"})
        leader, offset = 1, 0
        for _ in range(3):
            assert cluster.partition(OFFSETS_TOPIC).leader == leader
            in_sync(cluster, OFFSETS_TOPIC)
            offset += 1
            commit(consumer, offset)
            cluster[leader].kill()
            cluster.until_fenced(leader)
            assert cluster.partition(OFFSETS_TOPIC).leader == 3 - leader
            assert committed(consumer) == offset
            offset += 1
            commit(consumer, offset)
            assert committed(consumer) == offset
            cluster[leader].start()
            leader = 3 - leader
        consumer.close()


def test_an_open_transaction_ends_at_the_next_coordinator(tmp_path: Path) -> None:
    with OurCluster(tmp_path, 2, CONFIGS) as cluster:
        for topic in ("t", TRANSACTION_STATE_TOPIC):
            create(cluster, topic)
            in_sync(cluster, topic)
        producer = Producer({"bootstrap.servers": cluster.bootstrap_servers, "transactional.id": "x"})
        producer.init_transactions(TIMEOUT_S)
        producer.begin_transaction()
        producer.produce("t", "a")
        producer.flush(TIMEOUT_S)
        cluster[1].kill()
        cluster.until_fenced(1)
        producer.commit_transaction(TIMEOUT_S)
        settings = {
            "bootstrap.servers": cluster.bootstrap_servers,
            "group.id": "r",
            "isolation.level": "read_committed",
        }
        reader = Consumer(settings)
        reader.assign([TopicPartition("t", 0, 0)])
        [message] = reader.consume(1, TIMEOUT_S)
        assert message.value() == b"a"
        reader.close()


def test_a_group_with_a_member_goes_on_at_the_next_coordinator(tmp_path: Path) -> None:
    with OurCluster(tmp_path, 2, CONFIGS) as cluster:
        for topic in ("t", OFFSETS_TOPIC):
            create(cluster, topic)
            in_sync(cluster, topic)
        settings = {"bootstrap.servers": cluster.bootstrap_servers, "group.id": "m", "auto.offset.reset": "earliest"}
        consumer = Consumer({**settings, "enable.auto.commit": False})
        consumer.subscribe(["t"])
        producer = Producer({"bootstrap.servers": cluster.bootstrap_servers, "acks": "all"})
        for offset, value in enumerate((b"a", b"b"), 1):
            producer.produce("t", value)
            assert producer.flush(TIMEOUT_S) == 0
            [message] = consumer.consume(1, TIMEOUT_S)
            assert message.value() == value
            commit(consumer, offset)
            if offset == 1:
                cluster[1].kill()
                cluster.until_fenced(1)
        assert committed(consumer) == 2
        consumer.close()
