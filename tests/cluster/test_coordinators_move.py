"""Coordinators move between brokers of ours: committed offsets and transactions survive the loss of a broker."""

import asyncio
from functools import partial
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from cluster.plain_clients import create_topic
from odradek.broker.network.node_client import NodeClient
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.groups import OffsetCommitRequest, OffsetCommitResponse
from odradek.protocol.messages.transactions import (
    EndTxnRequest,
    EndTxnResponse,
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from odradek.protocol.names.topics import OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC
from support.brokers.our_cluster import OurCluster
from support.eventually import eventually

pytestmark = pytest.mark.ci

TIMEOUT_S = 60
CONFIGS = {"replica.lag.time.max.ms": "3000", "replica.fetch.backoff.ms": "100", "offsets.commit.timeout.ms": "1000"}


def create(cluster: OurCluster, topic: str, **config: str) -> None:
    """Creates a topic with one partition on both brokers, broker 1 first."""
    create_topic(cluster.bootstrap_servers, topic, [[1, 2]], **config)


def in_sync(cluster: OurCluster, topic: str) -> None:
    eventually(f"{topic} is in sync", lambda: len(cluster.partition(topic).isr) == 2)


def commit(consumer: Consumer, offset: int) -> None:
    """Commits until it succeeds: librdkafka gives up a commit while the coordinator moves."""

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


def commit_request(offset: int) -> OffsetCommitRequest:
    partition = OffsetCommitRequest.OffsetCommitRequestPartition(0, offset)
    return OffsetCommitRequest("g", topics=[OffsetCommitRequest.OffsetCommitRequestTopic("t", partitions=[partition])])


async def test_a_coordinator_that_was_stopped_for_longer_than_its_session_has_no_say(tmp_path: Path) -> None:
    """Requests that reach it during that time are refused, and change nothing at the next coordinator."""
    with OurCluster(tmp_path, 2, CONFIGS) as cluster:
        for topic in ("t", OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC):
            create(cluster, topic)
            in_sync(cluster, topic)
        # A paused broker accepts requests and answers none. librdkafka gives up after this time.
        settings = {"bootstrap.servers": cluster.bootstrap_servers, "socket.timeout.ms": 3_000}
        consumer = Consumer({**settings, "group.id": "g"})
        commit(consumer, 1)
        producer = Producer({**settings, "transactional.id": "x"})
        producer.init_transactions(TIMEOUT_S)
        producer.begin_transaction()
        producer.produce("t", "a")
        producer.flush(TIMEOUT_S)
        old = [NodeClient("127.0.0.1", cluster[1].port, "test") for _ in range(2)]
        for client in old:
            await client.connect(TIMEOUT_S)
        with cluster.paused(1):
            late = asyncio.create_task(old[0].send(commit_request(99), OffsetCommitResponse, TIMEOUT_S, 8))
            zombie = InitProducerIdRequest("x", 60_000, -1, -1)
            fences = asyncio.create_task(old[1].send(zombie, InitProducerIdResponse, TIMEOUT_S, 4))
            await asyncio.to_thread(cluster.until_fenced, 1)
            await asyncio.to_thread(commit, consumer, 2)
            await asyncio.to_thread(producer.commit_transaction, TIMEOUT_S)
        answer = await late
        assert answer.topics[0].partitions[0].error_code == ErrorCode.NOT_COORDINATOR
        assert (await fences).error_code == ErrorCode.NOT_COORDINATOR
        answer = await old[0].send(commit_request(98), OffsetCommitResponse, TIMEOUT_S, 8)
        assert answer.topics[0].partitions[0].error_code == ErrorCode.NOT_COORDINATOR
        ended = await old[1].send(EndTxnRequest("x", 0, 0, True), EndTxnResponse, TIMEOUT_S, 4)
        assert ended.error_code == ErrorCode.NOT_COORDINATOR
        for client in old:
            client.close()
        await asyncio.to_thread(goes_on, cluster, consumer, producer)
        consumer.close()


def goes_on(cluster: OurCluster, consumer: Consumer, producer: Producer) -> None:
    """The paused broker takes over again, and has the decisions of the other one exactly once."""
    for topic in ("t", OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC):
        in_sync(cluster, topic)
    assert committed(consumer) == 2
    cluster[2].kill()
    cluster.until_fenced(2)
    assert committed(consumer) == 2
    producer.begin_transaction()
    producer.produce("t", "b")
    producer.commit_transaction(TIMEOUT_S)
    reader = Consumer(
        {
            "bootstrap.servers": cluster.bootstrap_servers,
            "group.id": "r",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
        }
    )
    reader.assign([TopicPartition("t", 0, 0)])
    values: list[bytes | str | None] = []
    while (message := reader.poll(TIMEOUT_S)) is not None and message.error() is None:
        values.append(message.value())
    reader.close()
    assert values == [b"a", b"b"]


def test_transactions_are_refused_below_the_minimum_isr_and_commits_time_out(tmp_path: Path) -> None:
    """As in Kafka: the coordinator of transactions writes with acks=all, that of groups with acks=1."""
    with OurCluster(tmp_path, 2, CONFIGS) as cluster:
        for topic in ("t", OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC):
            create(cluster, topic, **{"min.insync.replicas": "2"})
            in_sync(cluster, topic)
        consumer = Consumer({"bootstrap.servers": cluster.bootstrap_servers, "group.id": "g"})
        commit(consumer, 1)
        cluster[2].kill()
        cluster.until_fenced(2)
        eventually("the broker knows its ISR", partial(is_alone, cluster[1].port, TRANSACTION_STATE_TOPIC))
        log = cluster[1].log_dir / f"{TRANSACTION_STATE_TOPIC}-0" / f"{0:020}.log"
        size = log.stat().st_size
        answers = asyncio.run(below_the_minimum(cluster[1].port))
        assert answers == (ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.COORDINATOR_NOT_AVAILABLE)
        assert log.stat().st_size == size
        cluster[2].start()
        in_sync(cluster, OFFSETS_TOPIC)
        assert committed(consumer) == 7, "the commit stayed in the log, and counts since it is replicated"
        consumer.close()


def is_alone(port: int, topic: str) -> bool:
    """Whether a broker knows that the ISR of a topic has one replica. It learns of that after the controller's
    decision.
    """
    metadata = AdminClient({"bootstrap.servers": f"127.0.0.1:{port}"}).list_topics(topic, TIMEOUT_S)
    return len(metadata.topics[topic].partitions[0].isrs) == 1


async def below_the_minimum(port: int) -> tuple[int, int]:
    """The answers to InitProducerId and to a commit of offset 7."""
    client = NodeClient("127.0.0.1", port, "test")
    initialised = await client.send(InitProducerIdRequest("x", 60_000, -1, -1), InitProducerIdResponse, TIMEOUT_S, 4)
    answer = await client.send(commit_request(7), OffsetCommitResponse, TIMEOUT_S, 8)
    client.close()
    return initialised.error_code, answer.topics[0].partitions[0].error_code
