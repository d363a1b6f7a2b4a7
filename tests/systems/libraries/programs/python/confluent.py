"""confluent-kafka. The arguments are those of ``scenario.py``."""

import sys
from collections.abc import Callable

from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]


def create(servers: str, topic: str) -> None:
    admin = AdminClient({"bootstrap.servers": servers})  # its requests end with it
    admin.create_topics([NewTopic(topic, 3)])[topic].result(60)


def produce(servers: str, topic: str, *values: str) -> None:
    producer = Producer({"bootstrap.servers": servers})
    for value in values:
        producer.produce(topic, value, value)
    assert producer.flush(60) == 0


def consume(servers: str, topic: str, group: str, count: str) -> None:
    consumer = Consumer({"bootstrap.servers": servers, "group.id": group, "auto.offset.reset": "earliest"})
    consumer.subscribe([topic])
    for _ in range(int(count)):
        message = consumer.poll(60)
        assert message is not None
        assert message.error() is None, message.error()
        print("read", (message.value() or b"").decode())
    consumer.commit(asynchronous=False)
    consumer.close()


def transact(servers: str, topic: str, kept: str, dropped: str) -> None:
    producer = Producer({"bootstrap.servers": servers, "transactional.id": f"{topic}-writer"})
    producer.init_transactions()
    producer.begin_transaction()
    producer.produce(topic, kept)
    producer.commit_transaction()
    producer.begin_transaction()
    producer.produce(topic, dropped)
    producer.flush()
    producer.abort_transaction()


VERBS: dict[str, Callable[..., None]] = {"create": create, "produce": produce, "consume": consume, "transact": transact}
VERBS[sys.argv[1]](*sys.argv[2:])
