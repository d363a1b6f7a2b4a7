"""Clients see none of the defects of other brokers and fakes: offsets by time, commits, groups, restarts.

Each is a known defect. The test has its repository and issue number.
"""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from odradek.testing.broker.in_process import InProcessBroker
from support.brokers.our_broker import OurBroker
from support.brokers.python_clients import CLIENTS
from support.data.numbered_records import number_of
from support.eventually import eventually

WAIT_S = 60.0
START_MS = 1_700_000_000_000


def consumer_of(servers: str, group: str, **settings: Any) -> Consumer:
    return Consumer({"bootstrap.servers": servers, "group.id": group, "auto.offset.reset": "earliest", **settings})


def poll(consumer: Consumer) -> Message:
    message = consumer.poll(WAIT_S)
    assert message is not None, "no record in time"
    assert message.error() is None, str(message.error())
    return message


def produce_one_batch(servers: str, topic: str, timestamps: list[int]) -> None:
    """All records in one batch: the client waits for more until it is flushed."""
    producer = Producer({"bootstrap.servers": servers, "linger.ms": 10_000, "compression.type": "lz4"})
    for number, timestamp in enumerate(timestamps):
        producer.produce(topic, b"%d" % number, timestamp=timestamp)
    assert producer.flush(WAIT_S) == 0


def test_an_offset_by_time_is_the_record_s_not_the_batch_s(kafka_broker: InProcessBroker) -> None:
    """redpanda#6604, #6606: inside one compressed batch; redpanda#4322: the end if no record is that late; kop#334."""
    servers = kafka_broker.bootstrap_servers
    produce_one_batch(servers, "by-time", [START_MS + 1_000 * number for number in range(10)])
    consumer = consumer_of(servers, "by-time")
    expected = {
        START_MS - 5: 0,
        START_MS: 0,
        START_MS + 1: 1,
        START_MS + 4_000: 4,
        START_MS + 4_001: 5,
        START_MS + 9_000: 9,
        START_MS + 9_001: -1,  # librdkafka's OFFSET_END: no such record
    }
    for timestamp, offset in expected.items():
        (found,) = consumer.offsets_for_times([TopicPartition("by-time", 0, timestamp)], timeout=WAIT_S)
        assert found.offset == offset, f"for {timestamp - START_MS} ms"
    consumer.close()


def test_a_fetch_from_the_middle_of_a_batch_starts_there(kafka_broker: InProcessBroker) -> None:
    """tansu, FINDINGS.md: a fetch of offset 3 returned nothing, for ever."""
    servers = kafka_broker.bootstrap_servers
    produce_one_batch(servers, "middle", [START_MS] * 10)
    for offset in range(10):
        consumer = consumer_of(servers, "middle")
        consumer.assign([TopicPartition("middle", 0, offset)])
        message = poll(consumer)
        assert (message.offset(), message.value()) == (offset, b"%d" % offset)
        consumer.close()


def test_every_record_has_an_offset_of_its_own(kafka_broker: InProcessBroker) -> None:
    """mockforge#187: every stored record had offset 0."""
    producer = Producer({"bootstrap.servers": kafka_broker.bootstrap_servers})
    offsets: list[int | None] = []
    for _ in range(20):
        producer.produce("own-offsets", b"value", on_delivery=lambda _, message: offsets.append(message.offset()))
        assert producer.flush(WAIT_S) == 0
    assert offsets == list(range(20))


@pytest.mark.parametrize("how", ["restart", "kill"])
def test_a_commit_is_kept(kafka_broker_factory: Callable[..., InProcessBroker], how: str) -> None:
    """mockforge#676: commits accepted and forgotten."""
    broker = kafka_broker_factory()
    produce_one_batch(broker.bootstrap_servers, "committed", [START_MS] * 10)
    consumer = consumer_of(broker.bootstrap_servers, "keeper")
    consumer.commit(offsets=[TopicPartition("committed", 0, 7, metadata="seven")], asynchronous=False)
    consumer.close()
    if how == "kill":
        broker.kill()
        broker.start()
    else:
        broker.restart()
    consumer = consumer_of(broker.bootstrap_servers, "keeper")
    (committed,) = consumer.committed([TopicPartition("committed", 0)], timeout=WAIT_S)
    assert (committed.offset, committed.metadata) == (7, "seven")
    consumer.subscribe(["committed"])
    assert poll(consumer).offset() == 7
    consumer.close()


def test_commits_are_found_after_the_number_of_partitions_was_changed(tmp_path: Path) -> None:
    """apache/kafka#20005: after a change of offsets.topic.num.partitions, groups were not found."""
    groups = [f"group-{number}" for number in range(20)]
    with InProcessBroker(tmp_path) as broker:
        produce_one_batch(broker.bootstrap_servers, "topic", [START_MS] * 10)
        for number, group in enumerate(groups):
            consumer = consumer_of(broker.bootstrap_servers, group)
            consumer.commit(offsets=[TopicPartition("topic", 0, number % 10)], asynchronous=False)
            consumer.close()
    with InProcessBroker(tmp_path, {"offsets.topic.num.partitions": "7"}) as broker:
        for number, group in enumerate(groups):
            consumer = consumer_of(broker.bootstrap_servers, group)
            (committed,) = consumer.committed([TopicPartition("topic", 0)], timeout=WAIT_S)
            assert committed.offset == number % 10, group
            consumer.close()


def test_groups_work_after_the_offsets_topic_was_deleted(
    kafka_broker_factory: Callable[..., InProcessBroker],
) -> None:
    """Found by hostile frames: an administrator may delete it, and it is created again, empty."""
    broker = kafka_broker_factory()
    servers = broker.bootstrap_servers
    produce_one_batch(servers, "topic", [START_MS] * 3)
    consumer = consumer_of(servers, "group")
    consumer.commit(offsets=[TopicPartition("topic", 0, 2)], asynchronous=False)
    consumer.close()
    admin = AdminClient({"bootstrap.servers": servers})
    admin.delete_topics(["__consumer_offsets"])["__consumer_offsets"].result(WAIT_S)
    consumer = consumer_of(servers, "group")
    consumer.subscribe(["topic"])
    message: Any = poll(consumer)
    assert message.offset() == 0
    consumer.commit(message=message, asynchronous=False)
    (committed,) = consumer.committed([TopicPartition("topic", 0)], timeout=WAIT_S)
    assert committed.offset == 1
    consumer.close()


def test_a_topic_is_gone_when_its_deletion_is_answered_and_may_come_again(kafka_broker: InProcessBroker) -> None:
    """spring-kafka#1114, faststream#3107: state remains in the next test, deletion is late."""
    servers = kafka_broker.bootstrap_servers
    admin = AdminClient({"bootstrap.servers": servers})
    for number in range(5):
        admin.create_topics([NewTopic("again", number + 1)])["again"].result(WAIT_S)
        described = admin.list_topics("again", timeout=WAIT_S).topics["again"]
        assert len(described.partitions) == number + 1
        assert all(partition.leader == 1 for partition in described.partitions.values())
        produce_one_batch(servers, "again", [START_MS])
        consumer = consumer_of(servers, f"again-{number}")
        assert (
            sum(
                consumer.get_watermark_offsets(TopicPartition("again", index), timeout=WAIT_S)[1]
                for index in range(number + 1)
            )
            == 1
        ), "the records of the topic before are gone"
        consumer.close()
        admin.delete_topics(["again"])["again"].result(WAIT_S)
        assert "again" not in admin.list_topics(timeout=WAIT_S).topics


IDEMPOTENT: dict[str, dict[str, Any]] = {
    "kafka-python": {},  # its default
    "confluent-kafka": {"enable.idempotence": True},
    "aiokafka": {"enable_idempotence": True},
}


@pytest.mark.parametrize(
    "name", [name if name == "confluent-kafka" else pytest.param(name, marks=pytest.mark.ci) for name in CLIENTS]
)
def test_an_idempotent_producer_sends_once_over_a_kill(name: str, tmp_path: Path) -> None:
    """automq#106, and the reason for producer state on disk: a retry after the kill neither duplicates nor reorders."""
    client = CLIENTS[name]
    count = 20_000
    with OurBroker(tmp_path) as broker:
        client.create_topic(broker.bootstrap_servers, "once", 1)
        errors: list[BaseException] = []

        def produce() -> None:
            try:
                client.produce(broker.bootstrap_servers, "once", "none", range(count), IDEMPOTENT[name])
            except Exception as error:  # noqa: BLE001 raised again by the test's own thread
                errors.append(error)

        producing = threading.Thread(target=produce)
        producing.start()
        log = broker.log_dir / "once-0" / f"{0:020}.log"
        for kilobytes in (100, 600):
            eventually(
                f"a log of {kilobytes} KiB",
                lambda size=kilobytes * 1024: not producing.is_alive() or (log.exists() and log.stat().st_size >= size),  # type: ignore[misc]
                every_s=0.002,
            )
            broker.kill()
            broker.start()
        producing.join()
        assert not errors, errors
        consumer = consumer_of(broker.bootstrap_servers, "once")
        consumer.assign([TopicPartition("once", 0, 0)])
        numbers: list[int] = []
        while len(numbers) < count:
            message: Any = poll(consumer)
            numbers.append(number_of(message.key(), message.value(), message.headers() or []))
        low, high = consumer.get_watermark_offsets(TopicPartition("once", 0), timeout=WAIT_S)
        consumer.close()
    assert numbers == list(range(count))
    assert (low, high) == (0, count)
