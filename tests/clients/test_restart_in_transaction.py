"""The broker restarts in the middle of a transaction of librdkafka, and the transaction goes on (issue 5511 there).

Without the broker's help ``send_offsets_to_transaction`` waits for ever.
"""

from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from support.brokers.our_broker import OurBroker
from support.eventually import PATIENCE_S, eventually

pytestmark = pytest.mark.ci

COUNT = 4
Settings = dict[str, str | int | float | bool]


def restart(broker: OurBroker) -> None:
    broker.stop()
    broker.start()


def kill(broker: OurBroker) -> None:
    broker.kill()
    broker.start()


def read_all(address: Settings, topic: str, group: str) -> list[bytes | None]:
    """The committed records of a topic."""
    consumer = Consumer(
        address | {"group.id": group, "auto.offset.reset": "earliest", "isolation.level": "read_committed"}
    )
    consumer.assign([TopicPartition(topic, 0, 0)])
    found: list[bytes | None] = []

    def has_all() -> bool:
        message = consumer.poll(0.5)
        if message is not None and message.error() is None:
            found.append(message.value())
        return len(found) >= COUNT

    eventually(f"{COUNT} records in {topic}", has_all)
    extra = consumer.poll(0.5)
    assert extra is None or extra.error() is not None
    consumer.close()
    return found


@pytest.mark.parametrize("end", [restart, kill], ids=["stop", "kill"])
@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_consume_transform_produce_goes_on(tmp_path: Path, end: Callable[[OurBroker], None], protocol: str) -> None:
    with OurBroker(tmp_path, {"group.initial.rebalance.delay.ms": "0"}) as broker:
        address: Settings = {"bootstrap.servers": f"127.0.0.1:{broker.port}"}
        admin = AdminClient(address)
        for created in admin.create_topics([NewTopic("in", 1, 1), NewTopic("out", 1, 1)]).values():
            created.result(PATIENCE_S)
        writer = Producer(address)
        for number in range(COUNT):
            writer.produce("in", str(number))
        assert not writer.flush(PATIENCE_S)
        copy_with_restart(broker, address, lambda: end(broker), protocol)
        assert read_all(address, "out", "check") == [str(number).encode() for number in range(COUNT)]


def copy_with_restart(broker: OurBroker, address: Settings, end: Callable[[], None], protocol: str) -> None:
    """Copies all records in transactions of one; the broker ends in the second one."""
    consumer = Consumer(
        address
        | {
            "group.id": "copy",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "group.protocol": protocol,
        }
    )
    consumer.subscribe(["in"])
    producer = Producer(address | {"transactional.id": "copy"})
    producer.init_transactions(PATIENCE_S)
    copied = 0

    def next_message() -> Message | None:
        message = consumer.poll(1.0)
        return None if message is None or message.error() is not None else message

    while copied < COUNT:
        message = eventually("a record", next_message)
        assert message is not None
        producer.begin_transaction()
        producer.produce("out", message.value())
        if copied == 1:
            end()
        position = [TopicPartition("in", 0, (message.offset() or 0) + 1)]
        producer.send_offsets_to_transaction(position, consumer.consumer_group_metadata(), PATIENCE_S)
        producer.commit_transaction(PATIENCE_S)
        copied += 1
    consumer.close()
