"""Audit and compaction of directories that brokers wrote: a real Kafka's and ours, then read by Kafka's own tools."""

import contextlib
import random
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from odradek.pipeline.audit.check import Severity
from odradek.pipeline.audit.findings import Finding
from odradek.pipeline.audit.job import audit_directories
from odradek.pipeline.audit.result import AuditResult
from odradek.pipeline.compact.command import compact
from odradek.pipeline.engine.engines import LOCAL
from odradek.storage.files.checkpoints import read_offset_checkpoint
from odradek.storage.files.files import Files
from support.brokers.our_broker import OurBroker
from support.data.dump_log import comma_separated, kafka_dump
from support.eventually import eventually
from support.kafka.java import KAFKA_VERSION, OLD_KAFKA_VERSION, java_or_skip
from support.kafka.real_kafka import RealKafka
from support.transactions.ended import wait_until_transactions_end

TOPIC = "latest"
TOPIC_CONFIG = {"cleanup.policy": "compact", "segment.bytes": "1048576", "delete.retention.ms": "0"}
FEW = {"offsets.topic.num.partitions": "4", "transaction.state.log.num.partitions": "4"}
"""Kafka's default of fifty partitions each would only slow down every start, stop and audit."""
KEYS = 60
Values = dict[bytes, bytes | None]


def produce_history(bootstrap_servers: str, codecs: tuple[str, ...], *, with_transactions: bool) -> Values:
    """Fills the topic; returns the latest committed value of each key (None: a tombstone)."""
    rng = random.Random(1)
    latest: Values = {}
    for codec in codecs:
        settings = {"bootstrap.servers": bootstrap_servers, "compression.type": codec, "linger.ms": 5}
        producer = Producer(settings | {"enable.idempotence": True})
        for _ in range(900):
            key = b"key-%d" % rng.randrange(KEYS)
            value = None if rng.random() < 0.1 else rng.randbytes(1200)
            producer.produce(TOPIC, value, key, partition=0, headers=[("h", b"1")])
            latest[key] = value
        assert producer.flush(60) == 0
    if with_transactions:
        producer = Producer({"bootstrap.servers": bootstrap_servers, "transactional.id": "t1"})
        producer.init_transactions(60)
        for number in range(6):
            producer.begin_transaction()
            key = b"key-%d" % rng.randrange(KEYS)
            value = rng.randbytes(1200)
            producer.produce(TOPIC, value, key, partition=0)
            if number % 2:
                assert producer.flush(60) == 0  # a transaction without a partition has nothing to abort
                producer.abort_transaction(60)
            else:
                producer.commit_transaction(60)
                latest[key] = value
        wait_until_transactions_end(bootstrap_servers, [TOPIC])
    producer = Producer({"bootstrap.servers": bootstrap_servers})
    for _ in range(1200):  # the active segment is not compacted, so these records are only there to be in it
        producer.produce(TOPIC, rng.randbytes(1200), b"last", partition=0)
    assert producer.flush(60) == 0
    return latest


def commit_offset(bootstrap_servers: str, group: str, offset: int) -> None:
    consumer = Consumer({"bootstrap.servers": bootstrap_servers, "group.id": group, "enable.auto.commit": False})
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        with contextlib.suppress(KafkaException):  # the coordinator may still be loading
            consumer.commit(offsets=[TopicPartition(TOPIC, 0, offset)], asynchronous=False)
            consumer.close()
            return
    raise AssertionError("no commit within a minute")


def consume_all(bootstrap_servers: str) -> list[tuple[bytes, bytes | None]]:
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap_servers,
            "group.id": "reader",
            "enable.partition.eof": True,
            "isolation.level": "read_committed",
        }
    )
    consumer.assign([TopicPartition(TOPIC, 0, 0)])
    found: list[tuple[bytes, bytes | None]] = []
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        message = consumer.poll(1)
        if message is None:
            continue
        error = message.error()
        if error is not None:
            assert error.code() == KafkaError._PARTITION_EOF, error
            consumer.close()
            return found
        key = message.key()
        assert key is not None
        found.append((key, message.value()))
    raise AssertionError("no end of the partition within a minute")


def create_topic(bootstrap_servers: str, config: dict[str, str] = TOPIC_CONFIG) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap_servers})
    admin.create_topics([NewTopic(TOPIC, 1, 1, config=config)])[TOPIC].result(60)


def audited(directory: Path) -> AuditResult:
    return audit_directories([directory], LOCAL)


def wrong(directory: Path) -> list[Finding]:
    """The findings of an audit of a severity above INFO."""
    return [found for found in audited(directory).findings if found.check.severity is not Severity.INFO]


def check_compaction(directory: Path) -> None:
    """Compacts the topic. Asserts that Kafka's own tool reads it, the audit finds nothing, and it is smaller."""
    before = sum(path.stat().st_size for path in (directory / f"{TOPIC}-0").glob("*.log"))
    assert compact([str(directory), "--topic", TOPIC]) == 0
    after = sum(path.stat().st_size for path in (directory / f"{TOPIC}-0").glob("*.log"))
    assert after < before / 2
    assert wrong(directory) == []
    logs = sorted((directory / f"{TOPIC}-0").glob("*.log"))
    dumped = kafka_dump(
        "--deep-iteration",
        *("--files", comma_separated([*logs, *sorted((directory / f"{TOPIC}-0").glob("*index"))])),
    )
    assert dumped.code == 0, dumped.err
    for complaint in ("isvalid: false", "Found", "mismatch", "Exception"):
        assert not [line for line in (*dumped.out, *dumped.err) if complaint in line]


def check_values(found: list[tuple[bytes, bytes | None]], expected: Values) -> None:
    """Asserts that exactly the latest value of each key exists, without tombstones (delete.retention.ms is 0)."""
    cleaned = [(key, value) for key, value in found if key != b"last"]
    assert len({key for key, _ in cleaned}) == len(cleaned)
    assert dict(cleaned) == {key: value for key, value in expected.items() if value is not None}


@pytest.fixture(scope="module")
def kafkas_directory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[RealKafka, Values]]:
    """The directory of a stopped Kafka. A Kafka that a failed test has started again is ended with the tests."""
    java_or_skip()
    kafka = RealKafka(tmp_path_factory.mktemp("kafka"), FEW | {"log.cleaner.backoff.ms": "100000000"})
    kafka.start()
    try:
        create_topic(kafka.bootstrap_servers)
        codecs = ("none", "gzip", "snappy", "lz4", "zstd")
        latest = produce_history(kafka.bootstrap_servers, codecs, with_transactions=True)
        commit_offset(kafka.bootstrap_servers, "readers", 100)
        assert compact([str(kafka.log_dir), "--topic", TOPIC]) == 3, "a broker holds the lock"
    finally:
        kafka.stop()
    yield kafka, latest
    kafka.kill()


@pytest.mark.java
def test_a_real_kafkas_directory_is_audited_and_compacted(
    kafkas_directory: tuple[RealKafka, Values], tmp_path: Path
) -> None:
    kafka, latest = kafkas_directory
    result = audited(kafka.log_dir)
    assert wrong(kafka.log_dir) == []
    [row] = [row for row in result.groups if row.group == "readers"]
    end = next(report.log_end_offset for report in result.partitions if report.topic == TOPIC)
    assert (row.committed_offset, row.lag) == (100, end - 100)
    copy = tmp_path / "copy"
    shutil.copytree(kafka.log_dir, copy)
    check_compaction(kafka.log_dir)
    with kafka:
        check_values(consume_all(kafka.bootstrap_servers), latest)
    victim = max((copy / f"{TOPIC}-0").glob("*.log"), key=lambda path: path.stat().st_size)
    data = bytearray(victim.read_bytes())
    data[len(data) // 2] ^= 1
    victim.write_bytes(data)
    assert {finding.name for finding in wrong(copy)} == {"batch-crc-mismatch"}


@pytest.mark.ci
@pytest.mark.java
def test_a_killed_kafkas_directory_has_no_damage(kafkas_directory: tuple[RealKafka, Values]) -> None:
    kafka, _ = kafkas_directory
    kafka.start()
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers})
    for number in range(500):
        producer.produce(TOPIC, b"x" * 1000, b"after-%d" % number)
    assert producer.flush(60) == 0
    kafka.kill()
    assert wrong(kafka.log_dir) == []
    assert compact([str(kafka.log_dir), "--topic", TOPIC]) == 0
    assert compact([str(kafka.log_dir), "--topic", "__consumer_offsets"]) == 0
    assert wrong(kafka.log_dir) == []
    with kafka:
        keys = {key for key, _ in consume_all(kafka.bootstrap_servers)}
    assert keys >= {b"after-%d" % number for number in range(500)}


@pytest.mark.java
def test_our_directory_is_audited_and_compacted(tmp_path: Path) -> None:
    java_or_skip()
    broker = OurBroker(tmp_path, FEW | {"log.cleaner.enable": "false"})
    broker.start()
    try:
        create_topic(broker.bootstrap_servers)
        latest = produce_history(
            broker.bootstrap_servers, ("none", "gzip", "snappy", "lz4", "zstd"), with_transactions=False
        )
        commit_offset(broker.bootstrap_servers, "readers", 100)
        assert compact([str(broker.log_dir), "--topic", TOPIC]) == 3, "a broker holds the lock"
    finally:
        broker.stop()
    result = audited(broker.log_dir)
    assert wrong(broker.log_dir) == []
    assert [(row.group, row.committed_offset) for row in result.groups] == [("readers", 100)]
    check_compaction(broker.log_dir)
    broker.start()
    try:
        check_values(consume_all(broker.bootstrap_servers), latest)
    finally:
        broker.stop()


CLEANING = FEW | {"log.cleaner.backoff.ms": "100", "log.cleaner.min.cleanable.ratio": "0.01"}


def wait_until_cleaned(log_dir: Path) -> None:
    """Waits until the cleaner's checkpoint is after the first segment of the topic."""
    path = log_dir / "cleaner-offset-checkpoint"
    eventually(
        "a round of the cleaner",
        lambda: path.exists() and read_offset_checkpoint(Files(), path).get((TOPIC, 0), 0) > 1000,
    )


@pytest.mark.ci
@pytest.mark.java
@pytest.mark.parametrize("kind", ["4.3", pytest.param("3.9", marks=pytest.mark.nightly), "ours"])
def test_what_a_brokers_own_cleaner_and_a_kill_leave_has_nothing_wrong(tmp_path: Path, kind: str) -> None:
    """The directory is audited after cleaning while the broker runs, after a kill, and after recovery and a stop."""
    broker: RealKafka | OurBroker
    if kind == "ours":
        broker = OurBroker(tmp_path, CLEANING)
    else:
        java_or_skip(KAFKA_VERSION if kind == "4.3" else OLD_KAFKA_VERSION)
        version = KAFKA_VERSION if kind == "4.3" else OLD_KAFKA_VERSION
        broker = RealKafka(tmp_path, CLEANING, version=version, dynamic_quorum=kind == "4.3")
    with broker:
        create_topic(broker.bootstrap_servers, TOPIC_CONFIG | {"min.cleanable.dirty.ratio": "0.01"})
        produce_history(broker.bootstrap_servers, ("none", "lz4"), with_transactions=True)
        commit_offset(broker.bootstrap_servers, "readers", 100)
        wait_until_cleaned(broker.log_dir)
        broker.kill()
        assert wrong(broker.log_dir) == []
        broker.start()
        broker.stop()
        assert wrong(broker.log_dir) == []
