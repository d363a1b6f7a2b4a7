"""A directory that was exported and imported is what it was: a real Kafka serves both, and the answers are equal."""

import hashlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import pytest
from confluent_kafka import (
    Consumer,
    KafkaException,
    Producer,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic, ResourceType  # type: ignore[attr-defined]

from odradek.pipeline.audit.check import Severity
from odradek.pipeline.audit.job import audit_directories
from odradek.pipeline.engine.engines import LOCAL
from odradek.pipeline.export.command import export
from odradek.pipeline.importing.command import import_topics
from odradek.storage.files.files import Files
from odradek.storage.files.meta_properties import read_meta_properties
from support.eventually import eventually
from support.kafka.real_kafka import CLUSTER_ID, RealKafka

pytestmark = [pytest.mark.ci, pytest.mark.java]
TIMEOUT_S = 120
TOPICS = {
    "orders": {"max.message.bytes": "2000000"},
    "latest": {"cleanup.policy": "compact,delete", "retention.ms": "-1"},
    "paid": {"compression.type": "lz4"},
    "empty": {},
}
NOT_READY = ("NOT_LEADER_FOR_PARTITION", "UNKNOWN_LEADER_EPOCH")
Answer = TypeVar("Answer")
GROUPS = ("classic", "modern", "exactly-once")


def fill(servers: str) -> None:
    """Records with gaps at the start and the end, transactions of every outcome, and groups of both protocols."""
    admin = AdminClient({"bootstrap.servers": servers})
    made = admin.create_topics([NewTopic(name, 2, 1, config=config) for name, config in TOPICS.items()])
    for future in made.values():
        future.result(TIMEOUT_S)
    producer = Producer({"bootstrap.servers": servers})
    for number in range(600):
        for topic in ("orders", "latest"):
            producer.produce(topic, b"v%d" % number, b"k%d" % (number % 40), partition=0, headers={"h": b"%d" % number})
    assert producer.flush(TIMEOUT_S) == 0
    deleted = [TopicPartition("latest", 0, 44), TopicPartition("orders", 0, 206)]
    for done in admin.delete_records(deleted).values():
        done.result(TIMEOUT_S)
    write_transactions(servers)
    read(servers, "classic", {"group.protocol": "classic"}, 25)
    read(servers, "modern", {"group.protocol": "consumer"}, 40)


def write_transactions(servers: str) -> None:
    """Topic paid: in partition 0 an aborted and a committed transaction, which ends in a marker; in 1 an open one."""
    producer = Producer({"bootstrap.servers": servers, "transactional.id": "cashier"})
    producer.init_transactions(TIMEOUT_S)
    for is_kept in (True, False, True):
        producer.begin_transaction()
        for number in range(20):
            producer.produce("paid", b"%s %d" % (b"kept" if is_kept else b"aborted", number), partition=0)
        if not is_kept:
            producer.flush(TIMEOUT_S)
            producer.abort_transaction(TIMEOUT_S)
            continue
        consumer = Consumer({"bootstrap.servers": servers, "group.id": "exactly-once"})
        offset = TopicPartition("orders", 0, 300)
        producer.send_offsets_to_transaction([offset], consumer.consumer_group_metadata(), TIMEOUT_S)
        consumer.close()
        producer.commit_transaction(TIMEOUT_S)
    other = Producer({"bootstrap.servers": servers, "transactional.id": "slow", "transaction.timeout.ms": 600_000})
    other.init_transactions(TIMEOUT_S)
    other.begin_transaction()
    other.produce("paid", b"undecided", partition=1)
    assert other.flush(TIMEOUT_S) == 0


def read(servers: str, group: str, settings: dict[str, str], count: int) -> None:
    """A member of a group that reads some records of orders and commits."""
    usual = {"bootstrap.servers": servers, "group.id": group, "auto.offset.reset": "earliest"}
    consumer = Consumer(usual | {"enable.auto.commit": False} | settings)
    consumer.subscribe(["orders"])
    got = 0
    while got < count:
        got += len(consumer.consume(count - got, TIMEOUT_S))
    consumer.commit(asynchronous=False)
    consumer.close()


def facts(servers: str) -> dict[str, Any]:
    """The facts that clients see: topic ids, starts, ends, configs, committed offsets and a checksum of the records."""
    admin = AdminClient({"bootstrap.servers": servers})
    found: dict[str, Any] = {}
    metadata = admin.list_topics(timeout=TIMEOUT_S)
    found["ids"] = {
        name: str(topic.result(TIMEOUT_S).topic_id)
        for name, topic in admin.describe_topics(TopicCollection(list(TOPICS))).items()
    }
    places = [TopicPartition(name, index) for name in TOPICS for index in metadata.topics[name].partitions]
    asking = Consumer({"bootstrap.servers": servers, "group.id": "none", "isolation.level": "read_uncommitted"})
    bounds = {
        (place.topic, place.partition): once_ready(partial(asking.get_watermark_offsets, place, TIMEOUT_S))
        for place in places
    }
    asking.close()
    found["start"] = {place: start for place, (start, _) in bounds.items()}
    found["end"] = {place: end for place, (_, end) in bounds.items()}
    described = admin.describe_configs([ConfigResource(ResourceType.TOPIC, name) for name in TOPICS])
    found["configs"] = {
        resource.name: {name: (entry.value, entry.source) for name, entry in future.result(TIMEOUT_S).items()}
        for resource, future in described.items()
    }
    for group in GROUPS:
        found[group] = group_facts(admin, servers, group)
    found["records"] = {name: checksums(servers, name, found["start"]) for name in TOPICS}
    return found


def group_facts(admin: AdminClient, servers: str, group: str) -> list[Any]:
    """The type of a group and its committed offsets, once the coordinator has loaded them."""
    consumer = Consumer({"bootstrap.servers": servers, "group.id": group})
    committed = consumer.committed([TopicPartition("orders", index) for index in range(2)], TIMEOUT_S)
    consumer.close()
    [described] = admin.describe_consumer_groups([group]).values()
    places = [(one.topic, one.partition, one.offset, one.metadata, one.leader_epoch) for one in committed]
    return [described.result(TIMEOUT_S).type, *places]


def once_ready(ask: Callable[[], Answer]) -> Answer:
    """The answer of a broker that has just started, once it leads its partitions."""

    def answers() -> list[Answer]:
        try:
            return [ask()]
        except KafkaException as error:
            if error.args[0].name() not in NOT_READY:
                raise
            return []

    [answer] = eventually("the broker is ready", answers)
    return answer


def checksums(servers: str, topic: str, starts: dict[tuple[str, int], int]) -> list[tuple[int, str]]:
    """(records, SHA-256) of each partition, as a consumer of committed records reads it."""
    sums = []
    for partition in range(2):
        consumer = Consumer({"bootstrap.servers": servers, "group.id": "none", "enable.partition.eof": True,
                             "isolation.level": "read_committed", "enable.auto.commit": False})  # fmt: skip
        consumer.assign([TopicPartition(topic, partition, starts[topic, partition])])
        found, count = hashlib.sha256(), 0
        for message in messages(consumer):
            count += 1
            fields = (message.offset(), message.timestamp(), message.key(), message.value(), message.headers())
            found.update(repr(fields).encode())
        consumer.close()
        sums.append((count, found.hexdigest()))
    return sums


def messages(consumer: Consumer) -> Iterator[Any]:
    while True:
        message = consumer.poll(TIMEOUT_S)
        assert message is not None, f"nothing for {TIMEOUT_S} s"
        error = message.error()
        if error is not None:
            assert error.name() == "_PARTITION_EOF", error
            return
        yield message


def test_kafka_serves_what_was_exported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with RealKafka(tmp_path / "before") as kafka:
        fill(kafka.bootstrap_servers)
        kafka.stop()
        kafka.start()  # a new leader epoch, and producers of the old one
        producer = Producer({"bootstrap.servers": kafka.bootstrap_servers})
        producer.produce("orders", b"in a later epoch", partition=0)
        assert producer.flush(TIMEOUT_S) == 0
        before = facts(kafka.bootstrap_servers)
        kafka.stop()
        assert export([str(kafka.log_dir), "--output", str(tmp_path / "exported")]) == 0
    restored = tmp_path / "after"
    ids = ("--node-id", "1", "--cluster-id", CLUSTER_ID)
    assert import_topics([str(tmp_path / "exported"), "--into", str(restored / "logs"), *ids]) == 0
    notes = capsys.readouterr().err
    assert "paid: left out 20 rows of aborted transactions" in notes
    assert "paid: left out 1 rows of open transactions" in notes
    meta = read_meta_properties(Files(), restored / "logs")
    assert meta is not None
    assert (meta.node_id, meta.cluster_id) == (1, CLUSTER_ID)
    findings = audit_directories([restored / "logs"], LOCAL).findings
    assert {one.name for one in findings if one.check.severity is not Severity.INFO} <= {"offset-gap"}
    epochs = (restored / "logs" / "orders-0" / "leader-epoch-checkpoint").read_text().split()
    assert len(epochs) > 4, "both epochs are kept"
    with RealKafka(restored) as kafka:
        after = facts(kafka.bootstrap_servers)
        transactional_id_continues(kafka.bootstrap_servers)
        kafka.stop()
    assert before["start"]["latest", 0] == 44
    assert after["end"] == before["end"]
    assert after == before


def transactional_id_continues(servers: str) -> None:
    """A transactional id keeps its producer id, and gets the next epoch."""
    producer = Producer({"bootstrap.servers": servers, "transactional.id": "cashier"})
    producer.init_transactions(TIMEOUT_S)
    producer.begin_transaction()
    producer.produce("empty", b"later")
    producer.commit_transaction(TIMEOUT_S)
