"""Odradek's log directory keeps every rule of Apache Kafka, after a stop and after a kill.

The rules are in tests/door/rules.py. Each rule is also shown to find a violation: a valid directory is changed in one
way, and the rule must report it.
"""

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient

from door.continuity import LivingProducer
from door.metadata_rules import FIRST_CHECKPOINT, read_directory_id
from door.rules import CHECKPOINTS, violations
from door.snapshot import differences, take_snapshot
from door.topics import Plan
from door.workload import CONFIGS, create, fill
from odradek.protocol.common.wall_clock import clock_ms
from odradek.protocol.internal_records.metadata_serde import encode_record
from odradek.protocol.messages.metadata_records import (
    BrokerRegistrationChangeRecord,
    FeatureLevelRecord,
    PartitionRecord,
    RegisterBrokerRecord,
)
from odradek.protocol.messages.structure import Message
from odradek.protocol.records.batch import iterate_headers
from odradek.protocol.records.builder import BatchBuilder
from odradek.protocol.records.record import iterate_records
from odradek.storage.dump.decoders import Typed, metadata_record
from odradek.testing.broker.in_process import InProcessBroker

METADATA = "__cluster_metadata-0"
LOG = f"{0:020d}.log"


class Left(NamedTuple):
    """The directory of a filled broker, once after a kill and once after a stop."""

    killed: Path
    stopped: Path


@pytest.fixture(scope="module")
def left(tmp_path_factory: pytest.TempPathFactory) -> Left:
    directory = tmp_path_factory.mktemp("workload")
    broker = InProcessBroker(directory, CONFIGS | {"node.id": "1", "offsets.topic.num.partitions": "5"})
    broker.start()
    producer = LivingProducer(broker.bootstrap_servers)
    fill(broker.bootstrap_servers, seed=3, now_ms=clock_ms())
    producer.send()
    before = take_snapshot(broker.bootstrap_servers)
    broker.kill()
    killed = directory / "killed"
    shutil.copytree(broker.log_dir, killed)
    broker.start()
    producer.send()
    after = take_snapshot(broker.bootstrap_servers)
    living = "living-0"
    lost = [line for line in differences(before, after) if not line.startswith((living, "records-deleted"))]
    assert not lost, lost
    broker.stop()
    return Left(killed, broker.log_dir)


def test_a_stopped_broker_leaves_what_kafka_demands(left: Left) -> None:
    assert violations(left.stopped, clean=True) == []


def test_a_killed_broker_leaves_what_kafka_demands(left: Left) -> None:
    assert violations(left.killed, clean=False) == []


# The valid directory, file by file -------------------------------------------


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a stopped broker, with a topic of two partitions and an idempotent producer."""
    directory = tmp_path_factory.mktemp("small")
    broker = InProcessBroker(directory, {"node.id": "1", "offsets.topic.num.partitions": "1"})
    broker.start()
    create(
        AdminClient({"bootstrap.servers": broker.bootstrap_servers}), [Plan("t", configs={"index.interval.bytes": "0"})]
    )
    producer: Any = Producer({"bootstrap.servers": broker.bootstrap_servers, "enable.idempotence": True})
    for number in range(6):
        producer.produce("t", b"%d" % number, partition=number % 2, timestamp=1_700_000_000_000 + number)
        assert producer.flush(60) == 0
    broker.stop()
    return broker.log_dir


FIRST_FILES = {
    "meta.properties": r"version=1\ncluster\.id=[\w-]{22}\nnode\.id=1\ndirectory\.id=[\w-]{22}\n",
    ".lock": "",
    ".kafka_cleanshutdown": r'\{"version":0,"brokerEpoch":\d+\}',
    "recovery-point-offset-checkpoint": r"0\n2\nt 0 3\nt 1 3\n",
    "replication-offset-checkpoint": r"0\n2\nt 0 3\nt 1 3\n",
    "log-start-offset-checkpoint": r"0\n0\n",
    "t-0/partition.metadata": r"version: 0\ntopic_id: [\w-]{22}",
    "t-0/leader-epoch-checkpoint": r"0\n1\n0 0\n",
    f"{METADATA}/partition.metadata": r"version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ",
    f"{METADATA}/leader-epoch-checkpoint": r"0\n1\n1 0\n",
    f"{METADATA}/quorum-state": (
        r'\{"leaderId":1,"leaderEpoch":1,"votedId":-1,"votedDirectoryId":"AAAAAAAAAAAAAAAAAAAAAA","data_version":1\}'
    ),
}


@pytest.mark.parametrize("name", FIRST_FILES)
def test_the_text_files_are_as_kafka_has_them(small: Path, name: str) -> None:
    assert re.fullmatch(FIRST_FILES[name], (small / name).read_text())


def test_the_first_checkpoint_is_what_storage_tool_writes(small: Path) -> None:
    """``StorageTool format --standalone`` writes a control batch of header, kraft.version and voter, the levels of
    features, then a footer.
    """
    path = small / METADATA / FIRST_CHECKPOINT
    data = path.read_bytes()
    assert path.stat().st_mode & 0o222 == 0
    headers = list(iterate_headers(data))
    assert [(h.base_offset, h.records_count, h.attributes, h.partition_leader_epoch) for _, h in headers] == [
        (0, 3, 0x20, 0),
        (3, 6, 0, 0),
        (9, 1, 0x20, 0),
    ]
    headers = [(position, header) for position, header in headers if header.is_control]
    records = [record for position, header in headers for record in iterate_records(data, header, position)]
    assert [(record.key or b"").hex() for record in records] == ["00000003", "00000005", "00000006", "00000004"]
    directory_id = read_directory_id(small)
    voter = b"\0\0\x02" + (1).to_bytes(4, "big") + directory_id + b"\x02\x0bCONTROLLER\x0alocalhost"
    values = [record.value or b"" for record in records]
    assert (values[0][:2], len(values[0]), values[0][10:]) == (b"\0\0", 11, b"\0"), "version, a time, no tags"
    assert [value.hex() for value in (values[1], values[3])] == ["0000000100", "000000"]
    assert values[2] == voter + (9093).to_bytes(2, "big") + bytes.fromhex("0000000001000000")


def test_the_metadata_log_begins_as_kafka_begins_one(small: Path) -> None:
    data = (small / METADATA / LOG).read_bytes()
    position, header = next(iter(iterate_headers(data)))
    [record] = iterate_records(data, header, position)
    assert (header.base_offset, header.size_in_bytes, header.partition_leader_epoch, header.is_control) == (
        0,
        91,
        1,
        True,
    )
    assert (record.key or b"").hex() == "00000002"
    assert (record.value or b"").hex() == "0000" + "00000001" + "02" + "0000000100" + "02" + "0000000100" + "00"
    kinds = [type(message).__name__ for message, _ in read_records(small)]
    assert kinds[:2] == ["FeatureLevelRecord", "FeatureLevelRecord"]
    assert "RegisterBrokerRecord" in kinds
    last = read_records(small)[-1][0]
    assert isinstance(last, BrokerRegistrationChangeRecord)
    assert last.fenced == 1


def test_indexes_are_trimmed_and_a_snapshot_is_taken(small: Path) -> None:
    names = {path.name: path.stat().st_size for path in (small / "t-0").iterdir()}
    assert names["00000000000000000000.index"] == 2 * 8
    assert names["00000000000000000000.timeindex"] == 2 * 12
    assert names["00000000000000000003.snapshot"] == 10 + 46
    end = max(header.next_offset for _, header in iterate_headers((small / METADATA / LOG).read_bytes()))
    assert (small / METADATA / f"{end:020d}.snapshot").stat().st_size == 10, "no producer wrote metadata"


# Directories that Kafka refuses, or that lose data silently ------------------


def read_records(log_dir: Path) -> list[tuple[Message, int]]:
    """The metadata records and their versions."""
    data = (log_dir / METADATA / LOG).read_bytes()
    records = []
    for position, header in iterate_headers(data):
        for record in iterate_records(data, header, position) if not header.is_control else ():
            found = metadata_record(record).value
            assert isinstance(found, Typed)
            records.append((found.message, found.version))
    return records


def rewrite(log_dir: Path, edit: Callable[[Message, int], bytes | None]) -> None:
    """Rewrites the metadata log with equal offsets. ``edit`` returns a record's new value; None keeps the old one."""
    path = log_dir / METADATA / LOG
    data = path.read_bytes()
    out = []
    for position, header in iterate_headers(data):
        if header.is_control:
            out.append(data[position : position + header.size_in_bytes])
            continue
        builder = BatchBuilder(base_offset=header.base_offset, partition_leader_epoch=header.partition_leader_epoch)
        for record in iterate_records(data, header, position):
            found = metadata_record(record).value
            assert isinstance(found, Typed)
            value = edit(found.message, found.version)
            builder.append(record.timestamp, None, record.value if value is None else value)
        out.append(builder.build())
    path.write_bytes(b"".join(out))


def change(kind: type[Message], version: int | None = None, **fields: Any) -> Callable[[Path], None]:
    """An edit that sets fields or the version of every record of a kind."""

    def edit(message: Message, its_version: int) -> bytes | None:
        if not isinstance(message, kind):
            return None
        for name, value in fields.items():
            setattr(message, name, value)
        return encode_record(message, its_version if version is None else version)

    return lambda log_dir: rewrite(log_dir, edit)


def level(**levels: int) -> Callable[[Path], None]:
    """An edit that sets feature levels. Underscores in names stand for dots."""

    def edit(message: Message, version: int) -> bytes | None:
        if isinstance(message, FeatureLevelRecord) and message.name.replace(".", "_") in levels:
            message.feature_level = levels[message.name.replace(".", "_")]
            return encode_record(message, version)
        return None

    return lambda log_dir: rewrite(log_dir, edit)


def no_op(kind: type[Message]) -> Callable[[Path], None]:
    """An edit that replaces every record of a kind by a NoOp, as if it were missing."""
    return lambda log_dir: rewrite(log_dir, lambda message, _: b"\x01\x14\0\0" if isinstance(message, kind) else None)


def unknown_api_key(log_dir: Path) -> None:
    rewrite(log_dir, lambda message, _: b"\x01\x63\0\0" if isinstance(message, FeatureLevelRecord) else None)


def removed(name: str) -> Callable[[Path], None]:
    return lambda log_dir: (log_dir / name).unlink()


def replaced(name: str, old: str, new: str) -> Callable[[Path], None]:
    def edit(log_dir: Path) -> None:
        text = (log_dir / name).read_text()
        assert re.search(old, text), text
        (log_dir / name).write_text(re.sub(old, new, text))

    return edit


def with_zeros(name: str) -> Callable[[Path], None]:
    """An edit that appends zeros to a file, as if it were preallocated and never trimmed."""

    def edit(log_dir: Path) -> None:
        (log_dir / name).write_bytes((log_dir / name).read_bytes() + bytes(240))

    return edit


def without_first_batch(log_dir: Path) -> None:
    path = log_dir / METADATA / LOG
    path.write_bytes(path.read_bytes()[91:])


def flipped_bit(log_dir: Path) -> None:
    path = log_dir / "t-0" / LOG
    data = bytearray(path.read_bytes())
    data[65] ^= 1
    path.write_bytes(data)


def unknown_directory(log_dir: Path) -> None:
    (log_dir / "snapshots").mkdir()


OTHER_ID = bytes(range(1, 17))
LOST = bytes(15) + b"\x02"
CHANGES: dict[str, tuple[Callable[[Path], None], str]] = {
    "no LeaderChange record": (without_first_batch, "does not begin with a LeaderChange"),
    "no quorum-state": (removed(f"{METADATA}/quorum-state"), "quorum-state is missing"),
    "quorum-state behind": (
        replaced(f"{METADATA}/quorum-state", '"leaderEpoch":1', '"leaderEpoch":0'),
        "behind the log",
    ),
    "no feature records": (no_op(FeatureLevelRecord), "no metadata.version is finalised"),
    "metadata.version too new": (level(metadata_version=34), "metadata.version: level 34"),
    "features that don't fit": (level(metadata_version=7), "does not fit metadata.version"),
    "record version of another level": (change(PartitionRecord, version=1), "record of version 1 under"),
    "RegisterBroker of another level": (change(RegisterBrokerRecord, version=3), "RegisterBroker of version 3"),
    "unknown api key": (unknown_api_key, "Unknown metadata id 99"),
    "log's epoch ahead": (replaced("t-0/leader-epoch-checkpoint", "0 0\n$", "3 0\n"), "ahead of the metadata's 1"),
    "no partition.metadata": (removed("t-0/partition.metadata"), "no partition.metadata"),
    "partition.metadata of another topic": (
        replaced("t-0/partition.metadata", r"[\w-]{22}$", "AAAAAAAAAAAAAAAAAAAABw"),
        "another id than the metadata",
    ),
    "partition's directory is another": (change(PartitionRecord, directories=[OTHER_ID]), "Kafka would not serve it"),
    "partition's directory is LOST": (change(PartitionRecord, directories=[LOST]), "Kafka would not serve it"),
    "no directory.id": (replaced("meta.properties", "directory.id=.*", ""), "no directory.id"),
    "another directory.id": (
        replaced("meta.properties", r"(directory.id=).*", r"\1AQIDBAUGBwgJCgsMDQ4PEA"),
        "meta.properties has",
    ),
    "no index": (removed("t-0/00000000000000000000.index"), ".index is missing"),
    "index not trimmed": (with_zeros("t-0/00000000000000000000.index"), "not trimmed"),
    "time index not trimmed": (with_zeros("t-0/00000000000000000000.timeindex"), "not trimmed"),
    "node.id of another": (replaced("meta.properties", "node.id=1", "node.id=2"), "quorum-state"),
    "no voter": (removed(f"{METADATA}/{FIRST_CHECKPOINT}"), "names the voter"),
    "broker left unfenced": (change(BrokerRegistrationChangeRecord, fenced=-1), "not fenced"),
    "another broker epoch in the marker": (replaced(".kafka_cleanshutdown", r"(Epoch.:)\d+", r"\g<1>77"), "expected"),
    "no marker": (removed(".kafka_cleanshutdown"), ".kafka_cleanshutdown is missing"),
    "no snapshot": (removed("t-0/00000000000000000003.snapshot"), "no snapshot at the log's end"),
    "no leader epochs": (removed("t-0/leader-epoch-checkpoint"), "the checkpoint says None"),
    "checkpoint with a wrong count": (
        replaced("replication-offset-checkpoint", r"0\n2\n", "0\n4\n"),
        "4 lines promised",
    ),
    "recovery point not at the end": (replaced("recovery-point-offset-checkpoint", "t 0 3", "t 0 2"), "closed at 3"),
    "a directory of no partition": (unknown_directory, "not a partition's"),
    "a flipped bit": (flipped_bit, "wrong CRC"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_each_rule_is_seen_when_it_is_broken(small: Path, tmp_path: Path, name: str) -> None:
    log_dir = tmp_path / "logs"
    shutil.copytree(small, log_dir)
    assert violations(log_dir, clean=True) == []
    edit, expected = CHANGES[name]
    path = log_dir / METADATA / FIRST_CHECKPOINT
    path.chmod(0o644)
    edit(log_dir)
    if path.exists():
        path.chmod(0o444)
    found = violations(log_dir, clean=True)
    assert any(expected in line for line in found), found


def test_a_partition_in_another_directory_is_seen(small: Path, tmp_path: Path) -> None:
    log_dir, more = tmp_path / "logs", tmp_path / "more"
    shutil.copytree(small, log_dir)
    more.mkdir()
    text = re.sub("(directory.id=).*", r"\1AQIDBAUGBwgJCgsMDQ4PEA", (small / "meta.properties").read_text())
    (more / "meta.properties").write_text(text.replace("node.id=1", "node.id=2"))
    for name in (".kafka_cleanshutdown", *CHECKPOINTS[:3]):
        shutil.copy(small / name, more / name)
    shutil.move(log_dir / "t-1", more / "t-1")
    found = "\n".join(violations(log_dir, clean=True, others=[more]))
    for expected in (
        "t-1: the metadata says it lies in another directory",
        "registered with",
        "another node or cluster",
    ):
        assert expected in found
