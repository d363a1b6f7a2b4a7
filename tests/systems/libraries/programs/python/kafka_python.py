"""kafka-python, and kafka-python-ng of the same names. The arguments are those of ``scenario.py``."""

import sys
from collections.abc import Callable

from kafka import KafkaConsumer, KafkaProducer
from kafka.admin import KafkaAdminClient, NewTopic


def create(servers: str, topic: str) -> None:
    admin = KafkaAdminClient(bootstrap_servers=servers)
    admin.create_topics([NewTopic(topic, 3, 1)])
    admin.close()


def produce(servers: str, topic: str, *values: str) -> None:
    producer = KafkaProducer(bootstrap_servers=servers)
    for sent in [producer.send(topic, key=value.encode(), value=value.encode()) for value in values]:
        sent.get(60)
    producer.close()


def consume(servers: str, topic: str, group: str, count: str) -> None:
    consumer = KafkaConsumer(topic, bootstrap_servers=servers, group_id=group, auto_offset_reset="earliest")
    for number, record in enumerate(consumer, start=1):
        print("read", record.value.decode())
        if number == int(count):
            break
    consumer.commit()
    consumer.close()


def transact(servers: str, topic: str, kept: str, dropped: str) -> None:
    producer = KafkaProducer(bootstrap_servers=servers, transactional_id=f"{topic}-writer")
    producer.init_transactions()
    producer.begin_transaction()
    producer.send(topic, kept.encode())
    producer.commit_transaction()
    producer.begin_transaction()
    producer.send(topic, dropped.encode())
    producer.flush()
    producer.abort_transaction()
    producer.close()


VERBS: dict[str, Callable[..., None]] = {"create": create, "produce": produce, "consume": consume, "transact": transact}
VERBS[sys.argv[1]](*sys.argv[2:])
