"""Transactions over partitions of two brokers, ours and Apache Kafka's. Each is the coordinator in turn."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from cluster.plain_clients import create_topic
from support.brokers.our_broker import OurBroker
from support.eventually import eventually
from support.kafka.java import run_class
from support.kafka.real_controllers import RealControllers, RealMember

pytestmark = [pytest.mark.java, pytest.mark.ci]

FIRST, SECOND = 1, 2
KINDS = [("ours", "ours"), ("ours", "kafka"), ("kafka", "ours")]
WE_COORDINATE = pytest.mark.parametrize("cluster", KINDS[:2], ids="-".join, indirect=True, scope="module")
"""For tests in which a leader is killed. Apache Kafka 4.3.1 completes a transaction without the marker of a partition
without a leader, and its readers wait for ever: ``KRaftMetadataCache.getPartitionLeaderEndpoint`` is empty for leader
-1, and ``TransactionMarkerChannelManager`` treats that as a deleted partition."""


class Two(NamedTuple):
    """``coordinator`` leads every partition of __transaction_state; ``other`` joined later."""

    coordinator: OurBroker | RealMember
    other: OurBroker | RealMember

    @property
    def servers(self) -> str:
        return self.coordinator.bootstrap_servers


@pytest.fixture(scope="module", params=KINDS, ids="-".join)
def cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Two]:
    place = tmp_path_factory.mktemp("cluster")
    with contextlib.ExitStack() as stack:
        controllers = stack.enter_context(RealControllers(place / "controllers"))

        def broker(kind: str, directory: Path, node_id: int) -> OurBroker | RealMember:
            if kind == "ours":
                return controllers.broker(directory, node_id)
            return controllers.kafka_broker(directory, node_id)

        kind, other_kind = request.param
        coordinator = broker(kind, place / "first", FIRST)
        stack.enter_context(coordinator)
        # A single broker gets every partition of the internal topic.
        producer_at(coordinator.bootstrap_servers, "places-the-topic")
        other = broker(other_kind, place / "second", SECOND)
        stack.enter_context(other)
        yield Two(coordinator, other)


def producer_at(servers: str, transactional_id: str) -> Producer:
    producer = Producer({"bootstrap.servers": servers, "transactional.id": transactional_id})
    producer.init_transactions(60)
    return producer


def create(cluster: Two, topic: str) -> None:
    """Creates a topic with one partition on each broker."""
    create_topic(cluster.servers, topic, [[FIRST], [SECOND]])


def write(producer: Producer, topic: str, value: str) -> None:
    for partition in (0, 1):
        producer.produce(topic, value, partition=partition)
    assert producer.flush(60) == 0


def committed(cluster: Two, topic: str) -> list[list[str]]:
    """The records that a reader of committed data finds in each partition up to its last stable offset."""
    found = []
    for partition in (0, 1):
        consumer = Consumer(
            {
                "bootstrap.servers": cluster.servers,
                "group.id": "reader",
                "isolation.level": "read_committed",
                "enable.partition.eof": True,
                "enable.auto.commit": False,
            }
        )
        consumer.assign([TopicPartition(topic, partition, 0)])
        values: list[str] = []
        while True:
            message = consumer.poll(60)
            assert message is not None
            if message.error() is not None:
                break
            values.append((message.value() or b"").decode())
        consumer.close()
        found.append(values)
    return found


def test_all_or_nothing_on_both_brokers(cluster: Two) -> None:
    create(cluster, "both")
    producer = producer_at(cluster.servers, "both")
    for number in range(6):
        producer.begin_transaction()
        write(producer, "both", str(number))
        if number % 2:
            producer.abort_transaction(60)
        else:
            producer.commit_transaction(60)
    eventually("committed on both", lambda: committed(cluster, "both") == [["0", "2", "4"]] * 2)


def test_open_transaction_is_not_visible_on_either(cluster: Two) -> None:
    create(cluster, "open")
    producer = producer_at(cluster.servers, "open")
    producer.begin_transaction()
    write(producer, "open", "later")
    assert committed(cluster, "open") == [[], []]
    producer.commit_transaction(60)
    eventually("committed on both", lambda: committed(cluster, "open") == [["later"]] * 2)


def test_java_producer_lets_the_leaders_add_the_partitions(cluster: Two) -> None:
    create(cluster, "java")
    result = run_class(
        "org.apache.kafka.tools.ProducerPerformance",
        *("--topic", "java", "--num-records", "2000", "--record-size", "100", "--throughput", "-1"),
        *("--transactional-id", "java", "--transaction-duration-ms", "50"),
        *("--command-property", f"bootstrap.servers={cluster.servers}", "batch.size=1000", "acks=all"),
        timeout_s=120,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    eventually("all committed", lambda: sum(map(len, committed(cluster, "java"))) == 2_000)
    assert all(committed(cluster, "java")), "both brokers have a part"


def test_offsets_are_committed_with_the_transaction_wherever_the_group_is(cluster: Two) -> None:
    create(cluster, "offsets")
    producer = producer_at(cluster.servers, "offsets")
    place = TopicPartition("offsets", 1, 11)
    consumers = [
        Consumer(
            {"bootstrap.servers": cluster.servers, "group.id": f"group-{number}", "isolation.level": "read_committed"}
        )
        for number in range(8)
    ]
    for commits, consumer in zip([True, False] * 4, consumers, strict=True):
        producer.begin_transaction()
        write(producer, "offsets", "x")
        producer.send_offsets_to_transaction([place], consumer.consumer_group_metadata(), 60)
        if commits:
            producer.commit_transaction(60)
        else:
            producer.abort_transaction(60)
    for commits, consumer in zip([True, False] * 4, consumers, strict=True):
        (found,) = consumer.committed([TopicPartition("offsets", 1)], timeout=60)
        assert found.offset == (11 if commits else -1001)
        consumer.close()


@WE_COORDINATE
def test_killed_leader_gets_its_markers_when_it_comes_back(cluster: Two) -> None:
    create(cluster, "killed")
    producer = producer_at(cluster.servers, "killed")
    producer.begin_transaction()
    write(producer, "killed", "survives")
    cluster.other.kill()
    producer.commit_transaction(60)
    cluster.other.start()
    eventually("committed on both", lambda: committed(cluster, "killed") == [["survives"]] * 2)


@WE_COORDINATE
def test_killed_coordinator_sends_the_markers_when_it_comes_back(cluster: Two) -> None:
    create(cluster, "decided")
    producer = producer_at(cluster.servers, "decided")
    producer.begin_transaction()
    write(producer, "decided", "survives")
    cluster.other.kill()
    producer.commit_transaction(60)
    cluster.coordinator.kill()
    cluster.other.start()
    cluster.coordinator.start()
    eventually("committed on both", lambda: committed(cluster, "decided") == [["survives"]] * 2)
