"""Transactions in a directory that moves between brokers: committed, aborted, and one that is open during the move.

An unmodified confluent-kafka writes them on either broker. Tests wait only for records that they then read.
"""

from typing import Any, NamedTuple

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from door.snapshot import Snapshot, take_snapshot
from door.topics import Plan
from door.workload import TIMEOUT_S, create
from support.transactions.ended import wait_until_transactions_end

MIXED = "transactions"
"""A topic of two partitions: committed, aborted and non-transactional records, in every codec and small segments."""
OPEN = "transaction-open"
"""A topic of one partition: a committed transaction, an open one, then a non-transactional record."""
OPEN_ID = "door-open"
GROUP = "transactional-group"
PLANS = (
    Plan(MIXED, configs={"internal.segment.bytes": "3000"}, batches=0),
    Plan(OPEN, partitions=1, batches=0),
)
LONGEST_MS = 900_000
"""transaction.max.timeout.ms, long enough that the open transaction does not time out during a move."""


class Seen(NamedTuple):
    """The snapshots of a read_uncommitted and of a read_committed consumer."""

    uncommitted: Snapshot
    committed: Snapshot


def look(servers: str) -> Seen:
    """Takes both snapshots."""
    return Seen(take_snapshot(servers), take_snapshot(servers, isolation_level="read_committed"))


def fill_with_transactions(servers: str, configs: dict[str, str] | None = None) -> None:
    """Creates and fills both topics. Commits a group's offsets in one transaction, and aborts others in another one.

    ``configs`` replace the default topic configs, for a broker that does not know these.
    """
    plans = PLANS if configs is None else tuple(Plan(p.name, partitions=p.partitions, configs=configs) for p in PLANS)
    create(AdminClient({"bootstrap.servers": servers}), plans)
    for number, codec in enumerate(("none", "gzip", "snappy", "lz4", "zstd")):
        producer = _producer(servers, f"door-{codec}", codec)
        for ends in ("commit", "abort", "commit", "abort"):
            producer.begin_transaction()
            for index in range(12):
                value = f"{ends} {number} {index}".encode() * 5
                producer.produce(MIXED, value, b"key-%d" % index, index % 2)
            if number == 0:
                _send_offsets(servers, producer, 7 if ends == "commit" else 9)
            _flush(producer)
            producer.commit_transaction() if ends == "commit" else producer.abort_transaction()
        _plain(servers, MIXED, codec)
    wait_until_transactions_end(servers, [MIXED, "__consumer_offsets"])
    leave_one_open(servers)


def leave_one_open(servers: str) -> None:
    """Begins a transaction and does not end it. Its producer disappears, like a killed process."""
    producer = _producer(servers, OPEN_ID, "lz4")
    for ends in (True, False):
        producer.begin_transaction()
        for index in range(5):
            producer.produce(OPEN, b"%s %d" % (b"commit" if ends else b"open", index), partition=0)
        _flush(producer)
        if ends:
            producer.commit_transaction()
    _plain(servers, OPEN, "none")


def assert_shown_right(uncommitted: Snapshot, committed: Snapshot, *, open_is_there: bool) -> None:
    """Asserts that read_committed consumers see no aborted record, and nothing from the open transaction on."""
    for index, partition in uncommitted.topics[MIXED].partitions.items():
        values = [record.value or b"" for record in partition.records]
        seen = committed.topics[MIXED].partitions[index].records
        assert any(value.startswith(b"abort") for value in values)
        expected = [record for record in partition.records if not (record.value or b"").startswith(b"abort")]
        assert [(r.offset, r.value) for r in seen] == [(r.offset, r.value) for r in expected]
    seen = committed.topics[OPEN].partitions[0].records
    values = [record.value or b"" for record in seen]
    assert values == [b"commit %d" % index for index in range(5)] + ([] if open_is_there else [b"plain"] * 3)


def end_the_open_one(servers: str) -> None:
    """Starts a producer with the same transactional id, so the coordinator aborts the open transaction."""
    _producer(servers, OPEN_ID, "none")
    consumer: Any = Consumer(
        {"bootstrap.servers": servers, "group.id": "never-joined", "isolation.level": "read_committed"}
    )
    try:
        consumer.assign([TopicPartition(OPEN, 0, 0)])
        values: list[bytes] = []
        while len(values) < 8:
            found = consumer.consume(1, TIMEOUT_S)
            assert found, f"only {values}"
            values += [message.value() for message in found]
        assert values[5:] == [b"plain"] * 3, "the aborted records are passed over, and those behind are there"
    finally:
        consumer.close()


def _producer(servers: str, transactional_id: str, codec: str) -> Any:
    settings: dict[str, Any] = {
        "bootstrap.servers": servers,
        "transactional.id": transactional_id,
        "transaction.timeout.ms": LONGEST_MS,
        "compression.type": codec,
        "linger.ms": 2,
    }
    producer = Producer(settings)
    producer.init_transactions(TIMEOUT_S)
    return producer


def _send_offsets(servers: str, producer: Any, offset: int) -> None:
    consumer: Any = Consumer({"bootstrap.servers": servers, "group.id": GROUP})
    try:
        metadata = consumer.consumer_group_metadata()
        producer.send_offsets_to_transaction([TopicPartition(MIXED, 0, offset)], metadata, TIMEOUT_S)
    finally:
        consumer.close()


def _plain(servers: str, topic: str, codec: str) -> None:
    producer: Any = Producer({"bootstrap.servers": servers, "compression.type": codec})
    for _ in range(3):
        producer.produce(topic, b"plain", partition=0)
    _flush(producer)


def _flush(producer: Any) -> None:
    assert producer.flush(TIMEOUT_S) == 0, "not all records were acknowledged in time"
