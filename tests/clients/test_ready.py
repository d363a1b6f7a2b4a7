"""Clients that connect immediately after a start get no transient error, not even in their logs.

As soon as the broker listens, each unmodified client creates a topic, has another one created by producing to it, joins
a group, reads and commits. Its log must have no warning and no error.
"""

import logging
import time
from pathlib import Path
from typing import Any

import pytest

from support.brokers.our_broker import OurBroker

FIRST_REQUEST_WITHIN_S = 0.1
STARTS = 20
WAIT_S = 60
QUIET = {
    # Each consumer logs this once before its first metadata, with any broker.
    "No partition metadata for topic",
    # From kafka-python's own tasks, on a busy machine.
    "It is blocking the event loop",
}


@pytest.fixture
def fresh_broker(tmp_path: Path) -> Any:
    """A broker that became ready a moment ago, with Kafka's defaults except for the initial rebalance delay.

    If this process was too late to prove anything, as on a busy machine, it starts another one.
    """
    for number in range(STARTS):
        directory = tmp_path / str(number)
        directory.mkdir()
        with OurBroker(directory, {"group.initial.rebalance.delay.ms": "0"}) as broker:
            written = (directory / "ready.json").stat().st_mtime
            if time.time() - written < FIRST_REQUEST_WITHIN_S:
                yield broker
                return
    raise AssertionError(f"{STARTS} times this process came too late to show anything")


def complaints(records: list[logging.LogRecord], client: str) -> list[str]:
    """The lines of a client's log at WARNING or above."""
    lines = [f"{r.name}: {r.getMessage()}" for r in records if r.levelno >= logging.WARNING]
    return [line for line in lines if line.startswith(client) and not any(words in line for words in QUIET)]


def test_kafka_python_meets_no_error(fresh_broker: OurBroker, caplog: pytest.LogCaptureFixture) -> None:
    from kafka import KafkaConsumer, KafkaProducer
    from kafka.admin import KafkaAdminClient, NewTopic

    servers = fresh_broker.bootstrap_servers
    admin = KafkaAdminClient(bootstrap_servers=servers)
    admin.create_topics([NewTopic("created", 3, 1)])
    producer = KafkaProducer(bootstrap_servers=servers)
    sent = [producer.send(topic, b"value") for topic in ("created", "auto-created")]
    assert [future.get(WAIT_S).offset for future in sent] == [0, 0]
    consumer = KafkaConsumer(
        "created", "auto-created", bootstrap_servers=servers, group_id="group", auto_offset_reset="earliest"
    )
    received = [next(consumer).topic for _ in range(2)]
    consumer.commit()
    assert set(received) == {"created", "auto-created"}
    # Before they are closed, because kafka-python still reads from a socket that it has closed itself, and logs that.
    assert not complaints(caplog.records, "kafka")
    for each in (consumer, producer, admin):
        each.close()


def test_confluent_kafka_meets_no_error(fresh_broker: OurBroker, caplog: pytest.LogCaptureFixture) -> None:
    from confluent_kafka import Consumer, Producer
    from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

    errors: list[str] = []
    log = logging.getLogger("librdkafka")
    base: dict[str, Any] = {
        "bootstrap.servers": fresh_broker.bootstrap_servers,
        "error_cb": lambda error: errors.append(str(error)),
        "logger": log,
    }
    admin = AdminClient(base)
    admin.create_topics([NewTopic("created", 3)])["created"].result(WAIT_S)
    producer = Producer(base)

    def delivered(error: Any, _: Any) -> None:
        if error is not None:
            errors.append(str(error))

    for topic in ("created", "auto-created"):
        producer.produce(topic, b"value", on_delivery=delivered)
    assert producer.flush(WAIT_S) == 0
    consumer = Consumer({**base, "group.id": "group", "auto.offset.reset": "earliest"})
    consumer.subscribe(["created", "auto-created"])
    received = []
    for _ in range(2):
        message = consumer.poll(WAIT_S)
        assert message is not None
        assert message.error() is None, str(message.error())
        received.append(message.topic())
    consumer.commit(asynchronous=False)
    consumer.close()
    assert set(received) == {"created", "auto-created"}
    assert not errors
    assert not complaints(caplog.records, "librdkafka")


async def test_aiokafka_meets_no_error(fresh_broker: OurBroker, caplog: pytest.LogCaptureFixture) -> None:
    from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
    from aiokafka.admin import AIOKafkaAdminClient, NewTopic

    servers = fresh_broker.bootstrap_servers
    admin = AIOKafkaAdminClient(bootstrap_servers=servers)
    await admin.start()
    await admin.create_topics([NewTopic("created", 3, 1)])
    await admin.close()
    async with AIOKafkaProducer(bootstrap_servers=servers) as producer:
        for topic in ("created", "auto-created"):
            sent = await producer.send_and_wait(topic, b"value")
            assert sent.offset == 0
    consumer = AIOKafkaConsumer(
        "created", "auto-created", bootstrap_servers=servers, group_id="group", auto_offset_reset="earliest"
    )
    async with consumer:
        received = [(await consumer.getone()).topic for _ in range(2)]
        await consumer.commit()
    assert set(received) == {"created", "auto-created"}
    assert not complaints(caplog.records, "aiokafka")


def test_the_offsets_topic_is_there(fresh_broker: OurBroker) -> None:
    from confluent_kafka.admin import AdminClient

    listed = AdminClient({"bootstrap.servers": fresh_broker.bootstrap_servers}).list_topics(timeout=WAIT_S)
    offsets = listed.topics["__consumer_offsets"]
    assert len(offsets.partitions) == 50
    assert {partition.leader for partition in offsets.partitions.values()} == {1}
