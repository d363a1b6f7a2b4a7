"""The topics of clients that go on over restarts: IN is read and OUT is written."""

import confluent_kafka
from confluent_kafka import Consumer, KafkaError, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from support.eventually import PATIENCE_S, eventually

IN, OUT, GROUP = "in", "out", "restart-group"


def create_topics(address: str) -> None:
    """Creates the topics that no client has created by asking for them."""
    admin = AdminClient({"bootstrap.servers": address})
    for created in admin.create_topics([NewTopic(IN, 1, 1), NewTopic(OUT, 1, 1)]).values():
        error = created.exception(PATIENCE_S)
        if error is not None and error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
            raise error


def numbers(address: str, count: int) -> list[int]:
    """The committed numbers in OUT, at least ``count``."""
    consumer = Consumer({"bootstrap.servers": address, "group.id": "check", "isolation.level": "read_committed"})
    consumer.assign([TopicPartition(OUT, 0, 0)])
    found: list[int] = []

    def new() -> list[int]:
        messages = consumer.consume(1_000, 0.5)
        return [int(message.value() or b"-1") for message in messages if message.error() is None]

    def has_all() -> bool:
        found.extend(new())
        return len(found) >= count

    eventually(lambda: f"{count} numbers, and not only {found[:20]} to {found[-20:]}", has_all)
    while more := new():
        found.extend(more)
    consumer.close()
    return found


def write(address: str, number: int) -> None:
    """Writes a number for a reader, with a client of its own."""
    producer = confluent_kafka.Producer({"bootstrap.servers": address})
    producer.produce(IN, str(number))
    assert not producer.flush(PATIENCE_S)
