"""A cap for the whole node: the oldest records of all topics are removed first. Data that must stay makes it full."""

from itertools import count
from pathlib import Path

import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from odradek.storage.files.disk_usage import allocated_bytes
from odradek.storage.files.files import Files
from support.brokers.our_broker import OurBroker
from support.disks.disk_traffic import PATIENCE_S
from support.eventually import eventually

MIB = 1 << 20
CAP = 48 * MIB
RECORD = b"x" * 20_000

pytestmark = pytest.mark.ci


def create(admin: AdminClient, name: str, **config: str) -> None:
    for future in admin.create_topics([NewTopic(name, 1, config=config)]).values():
        future.result(PATIENCE_S)


def watermarks(servers: str, topic: str) -> tuple[int, int]:
    consumer = Consumer({"bootstrap.servers": servers, "group.id": "watermarks"})
    low, high = consumer.get_watermark_offsets(TopicPartition(topic, 0, OFFSET_BEGINNING), timeout=PATIENCE_S)
    consumer.close()
    return low, high


def commit(servers: str, group: str, topic: str, offset: int) -> None:
    consumer = Consumer({"bootstrap.servers": servers, "group.id": group})
    consumer.commit(offsets=[TopicPartition(topic, 0, offset)], asynchronous=False)
    consumer.close()


def produce(servers: str, topic: str, size: int, **settings: object) -> list[KafkaError]:
    """Sends this many bytes; returns the errors of records that could not be sent."""
    errors: list[KafkaError] = []
    producer = Producer({"bootstrap.servers": servers, "queue.buffering.max.kbytes": 4096, **settings})
    for number in range(size // len(RECORD)):
        while True:
            try:
                producer.produce(
                    topic, RECORD, key=str(number), on_delivery=lambda error, _: errors.append(error) if error else None
                )
                break
            except BufferError:
                producer.poll(0.1)
        producer.poll(0)
    assert producer.flush(PATIENCE_S) == 0
    return errors


def produce_until_refused(broker: OurBroker, topic: str) -> None:
    """Sends records with new keys until the broker refuses them; drops the remaining ones."""
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "queue.buffering.max.kbytes": 4096})
    numbers = count()

    def is_refused() -> bool:
        try:
            producer.produce(topic, RECORD, key=str(next(numbers)))
        except BufferError:
            producer.poll(0.1)
        producer.poll(0)
        return "Producers get KAFKA_STORAGE_ERROR" in broker.log()

    while not is_refused():
        assert broker.process.poll() is None, broker.log()
    producer.purge()
    assert producer.flush(PATIENCE_S) == 0


def test_the_oldest_records_of_all_topics_go_and_the_cap_holds(tmp_path: Path) -> None:
    with OurBroker(tmp_path, {"odradek.log.dirs.max.bytes": str(CAP)}) as broker:
        servers = broker.bootstrap_servers
        admin = AdminClient({"bootstrap.servers": servers})
        create(admin, "old", **{"retention.ms": "-1"})
        create(admin, "new")
        create(admin, "state", **{"cleanup.policy": "compact"})
        assert produce(servers, "state", 2 * MIB) == []
        assert produce(servers, "old", 20 * MIB) == []
        commit(servers, "slow", "old", 3)
        commit(servers, "done", "old", watermarks(servers, "old")[1])
        assert produce(servers, "new", 200 * MIB) == []
        assert watermarks(servers, "state")[0] == 0, "what is compacted was removed"
        low, high = watermarks(servers, "old")
        assert low == high > 0, "the oldest records are still there"
        assert 0 < watermarks(servers, "new")[0] < watermarks(servers, "new")[1]
        eventually("the cap to hold", lambda: allocated_bytes(Files(), broker.log_dir) <= CAP)
        text = broker.log()
        removed = text.index("because the log directories are near odradek.log.dirs.max.bytes=50331648")
        assert (
            text.index("group 'slow' has read old-0 up to offset 3, and retention removes the records before") < removed
        )
        assert "soon, because the log directories are near odradek.log.dirs.max.bytes" in text
        assert "group 'done'" not in text
        assert broker.stop() == 0


def test_what_may_not_go_makes_the_node_full_until_it_is_deleted(tmp_path: Path) -> None:
    with OurBroker(tmp_path, {"odradek.log.dirs.max.bytes": str(CAP)}) as broker:
        servers = broker.bootstrap_servers
        admin = AdminClient({"bootstrap.servers": servers})
        create(admin, "state", **{"cleanup.policy": "compact"})
        create(admin, "t")
        produce_until_refused(broker, "state")
        # Records between two checks are accepted, and checks are less frequent the more space there was.
        assert allocated_bytes(Files(), broker.log_dir) < 2 * CAP, "more than the cap was taken"
        assert produce(servers, "state", len(RECORD), **{"message.timeout.ms": 2000}), "it is taken all the same"
        for future in admin.delete_topics(["state"]).values():
            future.result(PATIENCE_S)
        assert produce(servers, "t", MIB) == []
        assert broker.stop() == 0
