"""Quix Streams. The arguments are those of ``scenario.py``."""

import sys
from collections.abc import Callable

from quixstreams import Application
from quixstreams.models import TopicConfig


def create(servers: str, topic: str) -> None:
    application = Application(broker_address=servers, consumer_group=f"{topic}-admin")
    application.topic(topic, config=TopicConfig(num_partitions=3, replication_factor=1))


def produce(servers: str, topic: str, *values: str) -> None:
    with Application(broker_address=servers, consumer_group=f"{topic}-writer").get_producer() as producer:
        for value in values:
            producer.produce(topic, value=value.encode(), key=value.encode())


def consume(servers: str, topic: str, group: str, count: str) -> None:
    application = Application(broker_address=servers, consumer_group=group, auto_offset_reset="earliest")
    read = application.topic(topic, key_deserializer="bytes", value_deserializer="bytes")
    application.dataframe(read).update(lambda value: print("read", value.decode()))
    application.run(count=int(count), timeout=60)


VERBS: dict[str, Callable[..., None]] = {"create": create, "produce": produce, "consume": consume}
VERBS[sys.argv[1]](*sys.argv[2:])
