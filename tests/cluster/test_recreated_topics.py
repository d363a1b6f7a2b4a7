"""A topic is deleted and created anew under its name while brokers of ours hang or are down: nothing old comes back."""

import signal
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from cluster.plain_clients import create_topic
from support.brokers.our_broker import OurBroker
from support.eventually import eventually
from support.kafka.real_controllers import RealControllers, RealMember

pytestmark = [pytest.mark.java, pytest.mark.ci]

DOWN, KAFKA, HANGS = 1, 2, 3
QUICK = {"replica.lag.time.max.ms": "3000", "replica.fetch.backoff.ms": "100"}
OLD, NEW = 700, 300
TIMEOUT_S = 60
REPLICAS = {"followed": [KAFKA, DOWN, HANGS], "led": [DOWN, KAFKA, HANGS], "led-by-the-other": [HANGS, KAFKA, DOWN]}
"""Topic -> the replicas of its only partition, before and after; the first one leads."""


class Three:
    """Two brokers of ours and a real Kafka."""

    def __init__(self, brokers: dict[int, OurBroker | RealMember]) -> None:
        self.brokers = brokers

    @property
    def servers(self) -> str:
        return ",".join(broker.bootstrap_servers for broker in self.brokers.values())

    @property
    def admin(self) -> AdminClient:
        return AdminClient({"bootstrap.servers": self.servers})

    def create(self) -> None:
        for topic, replicas in REPLICAS.items():
            create_topic(self.servers, topic, [replicas])

    def delete(self) -> None:
        admin = self.admin
        for future in admin.delete_topics(list(REPLICAS)).values():
            future.result(TIMEOUT_S)
        eventually("they are gone", self.are_gone)

    def write(self, kind: str, count: int) -> None:
        producer = Producer({"bootstrap.servers": self.servers, "acks": "all"})
        for topic in REPLICAS:
            for number in range(count):
                producer.produce(topic, f"{kind} {number}")
        assert producer.flush(TIMEOUT_S) == 0

    def isrs(self) -> list[set[int]]:
        topics = self.admin.list_topics(timeout=TIMEOUT_S).topics
        return [set(topics[topic].partitions[0].isrs) for topic in REPLICAS]

    def until_in_sync(self, isr: set[int]) -> None:
        eventually(lambda: f"ISR {isr}: {self.isrs()}", lambda: self.isrs() == [isr] * len(REPLICAS))

    def are_equal(self, topic: str) -> bool:
        """Whether the three replicas have the same bytes."""
        places = [broker.log_dir / f"{topic}-0" for broker in self.brokers.values()]
        logs = {b"".join(path.read_bytes() for path in sorted(place.glob("*.log"))) for place in places}
        return len(logs) == 1 and logs != {b""}

    def are_gone(self) -> bool:
        return not REPLICAS.keys() & self.admin.list_topics(timeout=TIMEOUT_S).topics.keys()


@pytest.fixture
def three(tmp_path: Path) -> Iterator[Three]:
    with ExitStack() as stack:
        controllers = stack.enter_context(RealControllers(tmp_path / "controllers"))
        brokers: dict[int, OurBroker | RealMember] = {
            node_id: controllers.broker(tmp_path / f"b{node_id}", node_id, QUICK) for node_id in (DOWN, HANGS)
        }
        brokers[KAFKA] = controllers.kafka_broker(tmp_path / "kafka", KAFKA, QUICK)
        for broker in brokers.values():
            stack.enter_context(broker)
        yield Three(brokers)
        for broker in brokers.values():
            if isinstance(broker, OurBroker):
                assert " ERROR " not in broker.log()


def read(servers: str, topic: str) -> list[bytes]:
    """All values of a partition, to its end."""
    consumer = Consumer({"bootstrap.servers": servers, "group.id": "unused", "enable.partition.eof": True})
    consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
    values: list[bytes] = []
    while True:
        message = consumer.poll(TIMEOUT_S)
        assert message is not None, f"{len(values)} values"
        if message.error() is not None:
            break
        values.append(message.value() or b"")
    consumer.close()
    return values


def test_old_records_never_come_back(three: Three) -> None:
    """One broker is down, one hangs: each learns of both topics at once, and has the old one on its disk."""
    down, hangs = three.brokers[DOWN], three.brokers[HANGS]
    assert isinstance(down, OurBroker)
    assert isinstance(hangs, OurBroker)
    three.create()
    three.write("old", OLD)
    three.until_in_sync({DOWN, KAFKA, HANGS})
    down.kill()
    hangs.process.send_signal(signal.SIGSTOP)
    try:
        three.until_in_sync({KAFKA})
        three.delete()
        three.create()
        three.write("new", NEW)
    finally:
        hangs.process.send_signal(signal.SIGCONT)
    down.start()
    three.until_in_sync({DOWN, KAFKA, HANGS})
    three.write("newer", NEW)
    written = [f"new {number}".encode() for number in range(NEW)]
    written += [f"newer {number}".encode() for number in range(NEW)]
    for topic in REPLICAS:
        eventually(f"equal bytes of {topic}", partial(three.are_equal, topic))
        assert read(three.servers, topic) == written
    kafka = three.brokers[KAFKA]
    kafka.kill()
    three.until_in_sync({DOWN, HANGS})
    for topic in REPLICAS:
        assert read(three.servers, topic) == written
