"""pykafka. The arguments are those of ``scenario.py``."""

import sys
from collections.abc import Callable

from pykafka import KafkaClient
from pykafka.common import OffsetType


def produce(servers: str, topic: str, *values: str) -> None:
    client = KafkaClient(hosts=servers)  # its topics don't keep it
    with client.topics[topic].get_sync_producer() as producer:
        for value in values:
            producer.produce(value.encode(), partition_key=value.encode())


def consume(servers: str, topic: str, group: str, count: str) -> None:
    client = KafkaClient(hosts=servers)
    consumer = client.topics[topic].get_balanced_consumer(
        group.encode(), managed=True, auto_offset_reset=OffsetType.EARLIEST
    )
    for _ in range(int(count)):
        print("read", consumer.consume().value.decode())
    consumer.commit_offsets()
    consumer.stop()


VERBS: dict[str, Callable[..., None]] = {"produce": produce, "consume": consume}
VERBS[sys.argv[1]](*sys.argv[2:])
