"""Damage that no CRC shows, asked of a real Kafka on copies: the audit names it, and says what Kafka does.

Each case changes what consumers get, or whether Kafka starts. The directory has 5,000 plain records in six segments,
and 13 transactions of two producers, one of them aborted, with 1,300 committed records before and after it.
"""

import shutil
import struct
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from odradek.pipeline.audit.command import audit
from odradek.pipeline.audit.job import audit_directories
from odradek.pipeline.audit.report.next_start import next_starts
from odradek.pipeline.audit.report.number_texts import count_text
from odradek.pipeline.engine.engines import LOCAL
from odradek.protocol.java.murmur2 import partition_for_key
from odradek.protocol.records.batch import BATCH_HEADER_SIZE, BatchHeader, iterate_headers
from odradek.storage.segment.transaction_index import TransactionIndex
from support.eventually import eventually
from support.kafka.real_kafka import RealKafka
from support.pipeline.audited_directory import stamp

pytestmark = [pytest.mark.java, pytest.mark.ci]

TIMEOUT_S = 60.0
PLAIN, KEYED = 5000, 400
CONFIGS = {"log.cleaner.enable": "false", "offsets.topic.num.partitions": "1"}
SEGMENTS = {"internal.segment.bytes": "60000", "retention.ms": "-1"}
KEY = BATCH_HEADER_SIZE + 5
"""The position of the key in a batch of one control record."""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a Kafka that has stopped cleanly."""
    path = tmp_path_factory.mktemp("kafka")
    with RealKafka(path, CONFIGS) as kafka:
        servers = kafka.bootstrap_servers
        admin = AdminClient({"bootstrap.servers": servers})
        for created in admin.create_topics(
            [NewTopic(name, 1, 1, config=SEGMENTS) for name in ("plain", "txn")]
        ).values():
            created.result(TIMEOUT_S)
        settings = {"bootstrap.servers": servers, "batch.num.messages": 20, "linger.ms": 5}
        plain: Any = Producer(settings)
        for number in range(PLAIN):
            plain.produce("plain", b"%050d" % number, b"key-%d" % number, 0)
        for number in range(100):
            plain.produce("txn", b"%d" % number, None, 0)
        assert plain.flush(TIMEOUT_S) == 0
        admin.create_topics([NewTopic("keyed", 2, 1)])["keyed"].result(TIMEOUT_S)
        keyed: Any = Producer(settings | {"partitioner": "murmur2_random"})  # as Java's
        for number in range(KEYED):
            keyed.produce("keyed", b"", b"key-%d" % number)
        assert keyed.flush(TIMEOUT_S) == 0
        for name, ends in (("a", "cccccc"), ("b", "cccaccc")):
            write_transactions(Producer(settings | {"transactional.id": name}), ends)
    return path


def write_transactions(producer: Any, ends: str) -> None:
    """A transaction of 100 records for each letter: c commits, a aborts."""
    producer.init_transactions(TIMEOUT_S)
    for end in ends:
        producer.begin_transaction()
        for number in range(100):
            producer.produce("txn", b"%d" % number, None, 0)
        assert producer.flush(TIMEOUT_S) == 0
        producer.commit_transaction(TIMEOUT_S) if end == "c" else producer.abort_transaction(TIMEOUT_S)


class Case(NamedTuple):
    """`damage` changes a log directory. `found`: the finding's name. `read`: (topic, records of a consumer of committed
    records), or None if Kafka does not start.
    """

    damage: Callable[[Path], None]
    found: str
    read: tuple[str, int] | None
    is_clean: bool = True


def aborted(log_dir: Path) -> tuple[int, int]:
    """(first offset, offset of the marker) of the aborted transaction."""
    [path] = (log_dir / "txn-0").glob("*.txnindex")
    [entry] = TransactionIndex(0, path.read_bytes()).entries
    return entry.first_offset, entry.last_offset


def edit(log_dir: Path, is_it: Callable[[BatchHeader], bool], position: int, number: int) -> None:
    """Writes two bytes of the first batch of `txn` that `is_it` chooses, and the CRC that goes with them."""
    [path] = (log_dir / "txn-0").glob("*.log")
    data = bytearray(path.read_bytes())
    at, header = next(found for found in iterate_headers(bytes(data)) if is_it(found[1]))
    batch = data[at : at + header.size_in_bytes]
    stamp(batch, position, ">h", number)
    data[at : at + header.size_in_bytes] = batch
    path.write_bytes(data)


def a_later_version(log_dir: Path) -> None:
    marker = aborted(log_dir)[1]
    edit(log_dir, lambda header: header.base_offset == marker, KEY, 9)


def an_unknown_type(log_dir: Path) -> None:
    edit(log_dir, lambda header: header.is_control, KEY + 2, 9)


def an_abort_that_became_a_commit(log_dir: Path) -> None:
    marker = aborted(log_dir)[1]
    edit(log_dir, lambda header: header.base_offset == marker, KEY + 2, 1)


def a_lost_bit(log_dir: Path) -> None:
    first = aborted(log_dir)[0]
    edit(log_dir, lambda header: header.base_offset == first, 21, 0)


def an_early_entry(log_dir: Path) -> None:
    [path] = (log_dir / "txn-0").glob("*.txnindex")
    data = bytearray(path.read_bytes())
    struct.pack_into(">q", data, 10, 100)
    path.write_bytes(data)


def segments(log_dir: Path) -> Iterator[Path]:
    yield from sorted((log_dir / "plain-0").glob("*.log"))


def no_first_segment(log_dir: Path) -> None:
    first = next(segments(log_dir))
    for path in first.parent.glob(f"{first.stem}.*"):
        path.unlink()


def a_swap_of_half_a_segment(log_dir: Path) -> None:
    _, second, *_ = segments(log_dir)
    data = second.read_bytes()
    second.with_name(f"{second.name}.swap").write_bytes(data[: len(data) // 2])


def a_directory_of_no_partition(log_dir: Path) -> None:
    (log_dir / "lost+found").mkdir()


def a_second_directory(log_dir: Path) -> None:
    shutil.copytree(log_dir / "plain-0", log_dir / "plain-00")


def nonsense_in_the_quorum_state(log_dir: Path) -> None:
    (log_dir / "__cluster_metadata-0" / "quorum-state").write_text("nonsense")


def an_empty_quorum_state(log_dir: Path) -> None:
    (log_dir / "__cluster_metadata-0" / "quorum-state").write_text("")


def nonsense_in_a_checkpoint(log_dir: Path) -> None:
    (log_dir / "replication-offset-checkpoint").write_text("nonsense\n")


def nonsense_in_the_epochs(log_dir: Path) -> None:
    (log_dir / "plain-0" / "leader-epoch-checkpoint").write_text("nonsense\n")


def an_empty_topic_id(log_dir: Path) -> None:
    (log_dir / "plain-0" / "partition.metadata").write_text("")


def exchanged_segments(log_dir: Path) -> None:
    _, second, third, *_ = segments(log_dir)
    before = second.read_bytes()
    second.write_bytes(third.read_bytes())
    third.write_bytes(before)
    (log_dir / "recovery-point-offset-checkpoint").unlink()


def an_impossible_length_at_the_end(log_dir: Path) -> None:
    *_, last = segments(log_dir)
    data = bytearray(last.read_bytes())
    *_, (position, _) = iterate_headers(bytes(data))
    data[position + 8 : position + 12] = b"\xff\xff\xff\xff"
    last.write_bytes(data)


def exchanged_partitions(log_dir: Path) -> None:
    (log_dir / "keyed-0").rename(log_dir / "aside")
    (log_dir / "keyed-1").rename(log_dir / "keyed-0")
    (log_dir / "aside").rename(log_dir / "keyed-1")


def zeros_at_the_end(log_dir: Path) -> None:
    *_, last = segments(log_dir)
    last.write_bytes(last.read_bytes() + bytes(18))


def few_zeros_at_the_end(log_dir: Path) -> None:
    *_, last = segments(log_dir)
    last.write_bytes(last.read_bytes() + bytes(17))


def a_segment_without_an_offset(log_dir: Path) -> None:
    (log_dir / "plain-0" / "copy.log").write_bytes(b"")


def a_vertical_tab_in_the_epochs(log_dir: Path) -> None:
    """It is an end of a line for Python."""
    path = log_dir / "plain-0" / "leader-epoch-checkpoint"
    path.write_bytes(path.read_bytes().replace(b"\n", b"\v", 2).replace(b"\v", b"\n", 1))


CASES = [
    Case(a_segment_without_an_offset, "file-name-invalid", None),
    Case(a_vertical_tab_in_the_epochs, "checkpoint-unreadable", None),
    Case(zeros_at_the_end, "log-end-unreadable", None),
    Case(an_impossible_length_at_the_end, "log-end-unreadable", None),
    Case(nonsense_in_a_checkpoint, "checkpoint-unreadable", None),
    Case(nonsense_in_the_epochs, "checkpoint-unreadable", None),
    Case(an_empty_topic_id, "checkpoint-unreadable", None),
    Case(exchanged_segments, "offset-before-segment", None, is_clean=False),
    Case(a_later_version, "transaction-marker-unknown", ("txn", 1000)),
    Case(an_unknown_type, "transaction-marker-unknown", None, is_clean=False),
    Case(an_abort_that_became_a_commit, "transaction-outcome-contradicted", ("txn", 1000)),
    Case(a_lost_bit, "transactional-bit-lost", ("txn", 1320)),
    Case(an_early_entry, "transaction-index-wrong", ("txn", 1000)),
    Case(no_first_segment, "first-segments-missing", ("plain", -1)),
    Case(a_swap_of_half_a_segment, "swap-loses-records", ("plain", -1)),
    Case(a_directory_of_no_partition, "directory-name-invalid", None),
    Case(a_second_directory, "directory-name-invalid", None),
    Case(nonsense_in_the_quorum_state, "quorum-state-unreadable", None),
    Case(an_empty_quorum_state, "quorum-state-unreadable", None),
]
"""A number of -1: fewer than were written."""


def test_the_whole_directory_has_no_finding(home: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(home / "logs", tmp_path / "logs")
    assert audit_directories([copy], LOCAL).findings == []
    with RealKafka(tmp_path, CONFIGS) as kafka:
        assert committed_records(kafka.bootstrap_servers, "plain") == PLAIN
        assert committed_records(kafka.bootstrap_servers, "txn") == 1300


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.damage.__name__)
def test_the_audit_finds_what_kafka_does(home: Path, tmp_path: Path, case: Case) -> None:
    copy = shutil.copytree(home / "logs", tmp_path / "logs")
    case.damage(copy)
    if not case.is_clean:
        (copy / ".kafka_cleanshutdown").unlink()
    result = audit_directories([copy], LOCAL)
    assert case.found in {found.name for found in result.findings}
    [verdict] = next_starts(result)
    assert verdict.is_refused == (case.read is None)
    assert audit([str(copy)]) == 2
    kafka = RealKafka(tmp_path, CONFIGS)
    if case.read is None:
        with pytest.raises(RuntimeError, match="Kafka ended with 1"):
            kafka.start()
        return
    topic, expected = case.read
    with kafka:
        found = committed_records(kafka.bootstrap_servers, topic)
    assert found == expected if expected >= 0 else 0 < found < PLAIN


def test_after_few_zeros_at_the_end_kafka_writes_its_next_batch(home: Path, tmp_path: Path) -> None:
    """It starts, but consumers find no batch after the zeros. (librdkafka aborts its process.)"""
    copy = shutil.copytree(home / "logs", tmp_path / "logs")
    *_, last = segments(copy)
    whole = last.read_bytes()
    few_zeros_at_the_end(copy)
    result = audit_directories([copy], LOCAL)
    assert {found.name for found in result.findings} == {"batch-incomplete"}
    assert not next_starts(result)[0].is_refused
    with RealKafka(tmp_path, CONFIGS) as kafka:
        producer: Any = Producer({"bootstrap.servers": kafka.bootstrap_servers})
        producer.produce("plain", b"one more", None, 0)
        assert producer.flush(TIMEOUT_S) == 0
        after = last.read_bytes()
    assert after.startswith(whole + bytes(17))
    assert b"one more" in after


def test_exchanged_partitions_are_served_as_they_are(home: Path, tmp_path: Path) -> None:
    """Kafka does not notice: consumers find each key in the partition that its producer does not write to."""
    copy = shutil.copytree(home / "logs", tmp_path / "logs")
    exchanged_partitions(copy)
    result = audit_directories([copy], LOCAL)
    assert {found.name for found in result.findings} == {"keys-of-another-partition"}
    for found in result.findings:
        expected = f"the keys belong to partition {1 - found.partition} by the partitioner of Java"
        assert found.detail.startswith(expected)
    assert [found.partition for found in result.findings] == [0, 1]
    assert audit([str(copy)]) == 2
    with RealKafka(tmp_path, CONFIGS) as kafka:
        keys = keys_of(kafka.bootstrap_servers, "keyed")
    assert len(keys) > 100
    assert {partition_for_key(key, 2) for key in keys} == {1}


@pytest.mark.parametrize("is_flushed", [False, True])
def test_the_cut_of_a_recovery_is_foretold(home: Path, tmp_path: Path, is_flushed: bool) -> None:
    """A byte of a record changed, and the stop was unclean. Kafka reads the segments from the recovery point on."""
    copy = shutil.copytree(home / "logs", tmp_path / "logs")
    _, _, third, *_ = segments(copy)
    data = bytearray(third.read_bytes())
    position, header = list(iterate_headers(bytes(data)))[5]
    data[position + header.size_in_bytes - 1] ^= 1
    third.write_bytes(data)
    (copy / ".kafka_cleanshutdown").unlink()
    if not is_flushed:
        (copy / "recovery-point-offset-checkpoint").unlink()
    [verdict] = next_starts(audit_directories([copy], LOCAL))
    lost = PLAIN - header.base_offset
    cut = f"cuts plain-0 at offset {header.base_offset}, which loses the last {count_text(lost)} offsets"
    assert (cut in verdict.sentence) == (not is_flushed), verdict
    with RealKafka(tmp_path, CONFIGS) as kafka:
        end = end_offset(kafka.bootstrap_servers, "plain")
    assert end == (PLAIN if is_flushed else header.base_offset)


def end_offset(servers: str, topic: str) -> int:
    consumer: Any = Consumer({"bootstrap.servers": servers, "group.id": "reader"})
    found: list[int] = []

    def is_answered() -> bool:
        with suppress(KafkaException):  # the partition has no leader yet
            found.append(consumer.get_watermark_offsets(TopicPartition(topic, 0), TIMEOUT_S)[1])
        return bool(found)

    eventually("the partition has a leader", is_answered)
    consumer.close()
    return found[0]


def committed_records(servers: str, topic: str) -> int:
    """The number of records that a consumer of committed records gets from partition 0."""
    return len(keys_of(servers, topic))


def keys_of(servers: str, topic: str) -> list[bytes]:
    """The keys of the records that a consumer of committed records gets from partition 0."""
    consumer: Any = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "reader",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "auto.offset.reset": "earliest",
        }
    )
    consumer.assign([TopicPartition(topic, 0, 0)])
    keys: list[bytes] = []
    while True:
        [message] = consumer.consume(1, TIMEOUT_S)
        if message.error() is None:
            keys.append(message.key())
        elif message.error().code() == KafkaError._PARTITION_EOF:
            consumer.close()
            return keys
        else:
            assert message.error().retriable(), message.error()
