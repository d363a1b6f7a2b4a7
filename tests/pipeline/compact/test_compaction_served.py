"""A directory of a real Kafka, compacted by `odradek compact`, and then served by Kafka 4.4.0 and by ours."""

import random
import shutil
import time
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from odradek.pipeline.compact.command import compact
from support.brokers.our_broker import OurBroker
from support.eventually import eventually
from support.kafka.log import SERVING, complaints
from support.kafka.real_kafka import RealKafka
from support.transactions.ended import wait_until_transactions_end

TIMEOUT_S = 60.0
SMALL = {"internal.segment.bytes": "3000", "delete.retention.ms": "0"}
TOPICS = {
    "latest": {"cleanup.policy": "compact", **SMALL},
    "both": {"cleanup.policy": "compact,delete", "retention.ms": "-1", **SMALL},
    "zipped": {"cleanup.policy": "compact", "compression.type": "zstd", **SMALL},
    "plain": {"cleanup.policy": "delete", **SMALL},
}
PARTITIONS = 2
CONFIGS = {
    "log.cleaner.backoff.ms": "100000000",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
}
GROUP = "readers"


class Read(NamedTuple):
    """A record as a read_committed consumer receives it."""

    offset: int
    key: bytes
    value: bytes | None


Contents = dict[tuple[str, int], list[Read]]


def fill(servers: str) -> None:
    """Plain, idempotent and transactional records, aborted ones too, and tombstones, in every topic."""
    admin = AdminClient({"bootstrap.servers": servers})
    for future in admin.create_topics([NewTopic(name, PARTITIONS, 1, config=c) for name, c in TOPICS.items()]).values():
        future.result(TIMEOUT_S)
    rng = random.Random(4)
    idempotent = Producer({"bootstrap.servers": servers, "enable.idempotence": True, "linger.ms": 0})
    transactional = Producer({"bootstrap.servers": servers, "transactional.id": "t1", "linger.ms": 0})
    transactional.init_transactions(TIMEOUT_S)
    for number in range(40):
        transactional.begin_transaction()
        for producer in (idempotent, transactional):
            for topic in TOPICS:
                for index in range(PARTITIONS):
                    value = None if rng.random() < 0.15 else rng.randbytes(90)
                    producer.produce(topic, value, b"key-%d" % rng.randrange(9), index)
        # Without a flush, aborted records would never be sent.
        assert idempotent.flush(TIMEOUT_S) + transactional.flush(TIMEOUT_S) == 0
        if number % 3 == 2:
            transactional.abort_transaction(TIMEOUT_S)
        else:
            transactional.commit_transaction(TIMEOUT_S)
    wait_until_transactions_end(servers, TOPICS)
    consumer = Consumer({"bootstrap.servers": servers, "group.id": GROUP, "enable.auto.commit": False})
    for offset in range(5):
        eventually("the group's coordinator", partial(commit, consumer, offset))
    consumer.close()


def commit(consumer: Consumer, offset: int) -> bool:
    """Whether the coordinator accepted the offset. It may still be loading."""
    try:
        consumer.commit(offsets=[TopicPartition("latest", 0, offset)], asynchronous=False)
    except KafkaException:
        return False
    return True


def read_all(servers: str) -> Contents:
    """Every record of every topic that a read_committed consumer receives."""
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "reading",
            "enable.partition.eof": True,
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
        }
    )
    found: Contents = {(topic, index): [] for topic in TOPICS for index in range(PARTITIONS)}
    consumer.assign([TopicPartition(*key, 0) for key in found])
    unread = set(found)
    deadline = time.monotonic() + TIMEOUT_S
    while unread:
        assert time.monotonic() < deadline, f"no end of {unread}"
        message: Any = consumer.poll(1)
        if message is None:
            continue
        key = (message.topic(), message.partition())
        if message.error() is not None:
            assert message.error().code() == KafkaError._PARTITION_EOF, message.error()
            unread.discard(key)
        else:
            found[key].append(Read(message.offset(), message.key(), message.value()))
    consumer.close()
    return found


def expected_of(before: Contents, log_dir: Path) -> Contents:
    """The contents after compaction: in each partition of a compacted topic the latest record of each key before the
    active segment, without tombstones, and all records of that segment."""
    expected: Contents = {}
    for (topic, index), records in before.items():
        active = max(int(path.stem) for path in (log_dir / f"{topic}-{index}").glob("*.log"))
        latest = {record.key: record for record in records if record.offset < active}
        if "compact" in TOPICS[topic]["cleanup.policy"]:
            kept = sorted(record for record in latest.values() if record.value is not None)
            expected[topic, index] = kept + [record for record in records if record.offset >= active]
        else:
            expected[topic, index] = records
    return expected


def check_served(servers: str, expected: Contents) -> None:
    """The records that a broker serves, its committed offset, and a transactional producer that continues."""
    assert read_all(servers) == expected
    consumer = Consumer({"bootstrap.servers": servers, "group.id": GROUP})
    [committed] = consumer.committed([TopicPartition("latest", 0)], TIMEOUT_S)
    consumer.close()
    assert committed.offset == 4
    producer = Producer({"bootstrap.servers": servers, "transactional.id": "t1"})
    producer.init_transactions(TIMEOUT_S)
    producer.begin_transaction()
    for topic, index in expected:
        producer.produce(topic, b"afterwards", b"new", index)
    producer.commit_transaction(TIMEOUT_S)
    wait_until_transactions_end(servers, TOPICS)
    for key, records in read_all(servers).items():
        assert [record.value for record in records] == [*(record.value for record in expected[key]), b"afterwards"]


@pytest.mark.ci
@pytest.mark.java
def test_kafka_and_ours_serve_what_is_left(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kafka = RealKafka(tmp_path / "kafka", CONFIGS)
    with kafka:
        fill(kafka.bootstrap_servers)
        before = read_all(kafka.bootstrap_servers)
        assert compact([str(kafka.log_dir)]) == 3, "a real Kafka holds the lock"
    capsys.readouterr()
    expected = expected_of(before, kafka.log_dir)
    assert compact([str(kafka.log_dir)]) == 0
    out = capsys.readouterr().out
    for name in ("latest-0", "both-1", "zipped-0", "__consumer_offsets-0", "__transaction_state-0"):
        assert name in out
    assert "plain" not in out
    directory = tmp_path / "ours"
    shutil.copytree(kafka.log_dir, directory / "logs")
    printed = len(kafka.output)
    with kafka:
        check_served(kafka.bootstrap_servers, expected)
        assert complaints(kafka.output[printed:], *SERVING) == []
    with OurBroker(directory, CONFIGS | {"node.id": "1"}) as ours:
        assert compact([str(ours.log_dir)]) == 3, "ours holds the lock"
        check_served(ours.bootstrap_servers, expected)
