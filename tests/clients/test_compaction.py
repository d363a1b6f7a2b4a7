"""Compacted topics and retention in a running broker, with clients and Kafka's own LogCompactionTester."""

import contextlib
import random
import time
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    ResourceType,
)

from support.brokers.our_broker import OurBroker
from support.eventually import eventually
from support.kafka.java import run_class

PATIENCE_S = 120.0
EAGER = {
    "log.cleaner.backoff.ms": "100",
    "log.segment.delete.delay.ms": "200",
    "log.initial.task.delay.ms": "100",
    "log.retention.check.interval.ms": "100",
    "group.initial.rebalance.delay.ms": "0",
    "odradek.metrics.listener": "127.0.0.1:0",
}
COMPACTED = {
    "cleanup.policy": "compact",
    "internal.segment.bytes": "30000",
    "min.cleanable.dirty.ratio": "0.01",
    "delete.retention.ms": "100",
}


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OurBroker]:
    """One broker for this module."""
    with OurBroker(tmp_path_factory.mktemp("compaction"), EAGER) as started:
        yield started
        assert " ERROR " not in started.log()


def create(broker: OurBroker, topic: str, config: Mapping[str, str]) -> None:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    admin.create_topics([NewTopic(topic, 1, 1, config=dict(config))])[topic].result(60)


def new_producer(broker: OurBroker) -> Producer:
    """A producer whose batches are smaller than the segments."""
    return Producer({"bootstrap.servers": broker.bootstrap_servers, "linger.ms": 2, "batch.size": 10_000})


def send(producer: Producer, topic: str, records: Iterator[tuple[str, str | None]]) -> None:
    errors: list[object] = []
    for key, value in records:
        producer.produce(topic, key=key, value=value, on_delivery=lambda error, _: errors.append(error))
        producer.poll(0)
    assert producer.flush(60) == 0
    assert not any(errors)


def read_all(broker: OurBroker, topic: str) -> list[tuple[bytes | None, bytes | None]]:
    """(key, value) of every record, in order."""
    consumer = Consumer(
        {"bootstrap.servers": broker.bootstrap_servers, "group.id": "reads-all", "enable.partition.eof": True}
    )
    consumer.assign([TopicPartition(topic, 0, 0)])
    found = []
    deadline = time.monotonic() + PATIENCE_S
    while True:
        assert time.monotonic() < deadline, "the end was not reached"
        message = consumer.poll(1)
        if message is None:
            continue
        error = message.error()
        if error is not None:
            if error.code() == KafkaError._PARTITION_EOF:
                break
            continue
        found.append((message.key(), message.value()))
    consumer.close()
    return found


def log_bytes(broker: OurBroker, directories: str) -> int:
    total = 0
    for path in broker.log_dir.glob(f"{directories}/*.log"):
        with contextlib.suppress(FileNotFoundError):  # swapped after it was listed
            total += path.stat().st_size
    return total


def earliest(broker: OurBroker, topic: str) -> int:
    consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": "asks"})
    low, _ = consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=60)
    consumer.close()
    return low


def alter(broker: OurBroker, topic: str, key: str, value: str) -> None:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    entry = ConfigEntry(key, value, incremental_operation=AlterConfigOpType.SET)
    for future in admin.incremental_alter_configs(
        [ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])]
    ).values():
        future.result(60)


def test_the_latest_value_of_each_key_is_read_while_the_topic_is_cleaned(broker: OurBroker) -> None:
    create(broker, "states", COMPACTED)
    rng = random.Random(4)
    producer = new_producer(broker)
    written: dict[bytes, bytes | None] = {}
    for phase in range(6):
        records = [(f"key-{rng.randrange(50)}", f"{phase}-{number}-{'x' * 60}") for number in range(2000)]
        send(producer, "states", iter(records))
        written |= {key.encode(): value.encode() for key, value in records}
        seen = dict(read_all(broker, "states"))
        assert seen == written, f"phase {phase}"
    eventually("the log is cleaned", lambda: log_bytes(broker, "states-0") < 100_000)
    eventually("a line in the log", lambda: "cleaned offsets" in broker.log())
    assert dict(read_all(broker, "states")) == written

    deleted = {f"key-{number}".encode() for number in range(25)}
    send(producer, "states", ((key.decode(), None) for key in deleted))

    def tombstones_have_gone() -> bool:
        # Each turn makes the log dirty again, so that a round finds the tombstones and then their horizon passed.
        send(producer, "states", ((f"key-{25 + number % 25}", "y" * 100) for number in range(400)))
        left = read_all(broker, "states")
        assert not any(value for key, value in dict(left).items() if key in deleted), "a deleted value is back"
        return not any(key in deleted for key, _ in left)

    eventually("the tombstones have gone", tombstones_have_gone)
    assert {key for key, _ in read_all(broker, "states")} == {f"key-{number}".encode() for number in range(25, 50)}


def committed(broker: OurBroker, group: str, topic: str) -> int:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    asked = ConsumerGroupTopicPartitions(group, [TopicPartition(topic, 0)])
    answer = admin.list_consumer_group_offsets([asked])[group].result(60)
    offset: int = answer.topic_partitions[0].offset
    return offset


@pytest.mark.ci
def test_the_offsets_topic_stays_small_and_groups_are_there_after_a_restart(broker: OurBroker) -> None:
    create(broker, "read", {})
    alter(broker, "__consumer_offsets", "internal.segment.bytes", "20000")
    alter(broker, "__consumer_offsets", "min.cleanable.dirty.ratio", "0.1")
    send(new_producer(broker), "read", iter([("a", "b")] * 10))
    consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": "commits"})
    for number in range(1, 1501):
        consumer.commit(offsets=[TopicPartition("read", 0, number % 10 + number)], asynchronous=False)
    consumer.close()
    eventually("the offsets topic is cleaned", lambda: log_bytes(broker, "__consumer_offsets-*") < 60_000)
    broker.kill()
    broker.start()
    assert committed(broker, "commits", "read") == 1500
    broker.stop()
    broker.start()
    assert committed(broker, "commits", "read") == 1500


def test_a_lowered_retention_is_applied_at_the_next_check(broker: OurBroker) -> None:
    create(broker, "kept", {"retention.ms": "-1", "internal.segment.bytes": "20000"})
    producer = new_producer(broker)
    send(producer, "kept", ((f"{number}", "z" * 1000) for number in range(100)))
    assert earliest(broker, "kept") == 0
    alter(broker, "kept", "retention.bytes", "50000")
    eventually("retention.bytes has an effect", lambda: earliest(broker, "kept") > 0)
    eventually("all of it has gone", lambda: log_bytes(broker, "kept-0") < 50_000 + 20_000 + 20_000)
    assert log_bytes(broker, "kept-0") >= 50_000
    moved = earliest(broker, "kept")
    alter(broker, "kept", "retention.ms", "1")
    eventually("retention.ms has an effect", lambda: earliest(broker, "kept") == 100)
    assert moved < 100
    send(producer, "kept", iter([("more", "z")]))
    assert earliest(broker, "kept") <= 101


def test_a_lowered_segment_size_closes_the_active_segment_at_the_next_append(broker: OurBroker) -> None:
    create(broker, "rolled", {})
    producer = new_producer(broker)
    send(producer, "rolled", iter([("a", "z" * 900_000)] * 2))
    assert len(list((broker.log_dir / "rolled-0").glob("*.log"))) == 1
    alter(broker, "rolled", "segment.bytes", "1048576")
    send(producer, "rolled", iter([("b", "z")]))
    assert sorted(path.name for path in (broker.log_dir / "rolled-0").glob("*.log")) == [
        f"{0:020d}.log",
        f"{2:020d}.log",
    ]
    alter(broker, "rolled", "segment.ms", "50")
    time_of_second = time.time()
    eventually("50 ms have passed", lambda: time.time() - time_of_second > 0.1)
    send(producer, "rolled", iter([("c", "z")]))
    assert (broker.log_dir / "rolled-0" / f"{3:020d}.log").exists()


def test_metrics_are_served_where_the_key_says(broker: OurBroker) -> None:
    address = broker.log().rpartition("metrics at ")[2].split()[0]
    create(broker, "measured", {})

    def scrape() -> str:
        with urllib.request.urlopen(address, timeout=60) as answer:
            text: str = answer.read().decode()
            return text

    eventually("a metric of the cleaner", lambda: "kafka_log_logcleaner_cleaner_recopy_percent" in scrape())
    text = scrape()
    assert "# TYPE kafka_log_log_size gauge" in text
    assert 'kafka_log_log_logendoffset{partition="0",topic="measured"} 0.0' in text or (
        'kafka_log_log_logendoffset{topic="measured",partition="0"} 0.0' in text
    )


def children_of(pid: int) -> list[int]:
    return [int(child) for path in Path(f"/proc/{pid}/task").glob("*/children") for child in path.read_text().split()]


@pytest.mark.ci
def test_a_kill_in_the_middle_of_a_round_leaves_no_worker_and_no_damage(tmp_path: Path) -> None:
    slow = {**EAGER, "log.cleaner.io.max.bytes.per.second": "1000000"}
    latest: dict[bytes, bytes | None] = {}
    broker = OurBroker(tmp_path, slow)
    with broker:
        create(broker, "big", {**COMPACTED, "internal.segment.bytes": "500000", "min.cleanable.dirty.ratio": "0.8"})
        records = [(f"key-{number % 100}", f"{number}-{'w' * 1000}") for number in range(2000)]
        send(new_producer(broker), "big", iter(records))
        latest = {key.encode(): value.encode() for key, value in records}
        directory = broker.log_dir / "big-0"
        eventually("a round has begun to write", lambda: any(directory.glob("*.cleaned")))
        workers = children_of(broker.pid)
        assert workers
        broker.kill()
        eventually(
            "the worker outlives its broker", lambda: not any(Path(f"/proc/{pid}/cmdline").exists() for pid in workers)
        )
        size = log_bytes(broker, "big-0")
        broker.start()
        assert not list(directory.glob("*.cleaned")) or children_of(broker.pid)
        assert dict(read_all(broker, "big")) == latest
        broker.stop()
        assert not list(directory.glob("*.cleaned")), "a stop takes back what was begun"
    with OurBroker(tmp_path, EAGER) as fast:
        eventually("the log is cleaned", lambda: log_bytes(fast, "big-0") < size / 3)
        assert dict(read_all(fast, "big")) == latest
        assert " ERROR " not in fast.log()


@pytest.mark.nightly
@pytest.mark.ci
@pytest.mark.java
def test_kafkas_log_compaction_tester(tmp_path: Path) -> None:
    """Each key has its last written value, and only a small part of the log remains."""
    with OurBroker(tmp_path, {**EAGER, "log.segment.bytes": "1048576"}) as broker:
        server = ("--bootstrap-server", broker.bootstrap_servers)
        sizes = ("--messages", "300000", "--percent-deletes", "20", "--topics", "2", "--sleep", "3")
        result = run_class("org.apache.kafka.tools.LogCompactionTester", *server, *sizes, timeout_s=300)
        assert result.returncode == 0, result.stdout + result.stderr
        assert "Data verification is completed" in result.stdout
        # The amount that was removed before the tester reads depends on the machine's speed. In the end it is most.
        topics = sorted({path.name.rpartition("-")[0] for path in broker.log_dir.glob("log-cleaner-test-*-0")})
        assert len(topics) == 2
        eventually("most is cleaned", lambda: sum(len(read_all(broker, topic)) for topic in topics) < 300_000)
        assert " ERROR " not in broker.log()
        assert "cleaned offsets" in broker.log()
