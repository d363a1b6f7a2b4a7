"""The tables of log directories: every row has its place, and damage becomes rows, never errors."""

import random
import shutil
import struct
from pathlib import Path
from typing import Any

import fsspec
import pyarrow as pa
import pytest

from odradek.pipeline.directories.file_access import path_of
from odradek.pipeline.tables.registry import TABLES
from odradek.pipeline.tables.task import TableTask
from odradek.protocol.codec import encode
from odradek.protocol.internal_records.share_partition_key import SharePartitionKey
from odradek.protocol.internal_records.share_state_records import ShareStateRecord
from odradek.protocol.messages import FAMILIES, message_class
from odradek.protocol.records.batch import BATCH_HEADER_SIZE, CRC_POSITION, crc_of, iterate_headers
from odradek.protocol.records.control import ControlRecordType
from support.data.log_directories import flip_a_byte, history_directory
from support.disks.odd_files import ODD
from support.kafka.directory import NOW_MS, TOPIC_ID, KafkaDirectory

from ..groups_directory import OFFSETS_TOPIC, GroupsDirectory

Row = dict[str, Any]


def table_of(directory: Path, name: str, topics: list[str] | None = None) -> Any:
    table = TABLES[name]
    batches = [batch for task in table.plan(directory, topics) for batch in table.read(task)]
    assert all(batch.schema.equals(table.schema) for batch in batches)
    return pa.Table.from_batches(batches, table.schema)


def rows_of(directory: Path, name: str, topics: list[str] | None = None) -> list[Row]:
    rows: list[Row] = table_of(directory, name, topics).to_pylist()
    return rows


def spark_takes(kind: pa.DataType) -> bool:
    if pa.types.is_list(kind):
        return spark_takes(kind.value_type)
    if pa.types.is_struct(kind):
        return all(spark_takes(field.type) for field in kind)
    return kind in (pa.string(), pa.binary(), pa.int32(), pa.int64(), pa.bool_(), pa.timestamp("us", tz="UTC"))


@pytest.mark.parametrize("name", TABLES)
def test_types_are_those_that_spark_takes(name: str) -> None:
    table = TABLES[name]
    assert all(spark_takes(field.type) for field in table.schema)
    assert table.schema.names[-1] == "_corrupt_record"
    assert table.name == name


# Damage ---------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(8))
def test_random_damage_becomes_rows(tmp_path: Path, seed: int) -> None:
    """With changed bytes and truncated files, every table is read to its end, with its declared schema."""
    rng = random.Random(seed)
    KafkaDirectory().write(tmp_path)
    groups = GroupsDirectory()
    for step in range(40):
        groups.commit("readers", step, topic_id=TOPIC_ID)
        groups.group("readers", step % 3)
    groups.write(tmp_path)
    history_directory(tmp_path / "history", seed, steps=60)
    shutil.copytree(tmp_path / "history" / "t-0", tmp_path / "t-0")
    files = [path for path in tmp_path.rglob("*") if path.is_file() and path.stat().st_size]
    for path in rng.sample(files, len(files) // 2):
        data = bytearray(path.read_bytes())
        for _ in range(rng.randrange(1, 6)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        path.write_bytes(data[: rng.randrange(len(data) + 1)] if rng.random() < 0.3 else data)
    faults = [fault for name in TABLES for fault in table_of(tmp_path, name)["_corrupt_record"].to_pylist()]
    assert any(faults), f"seed {seed}: nothing was found"


def test_a_changed_byte_is_a_row_that_says_where(tmp_path: Path) -> None:
    directory = history_directory(tmp_path)
    before = rows_of(directory, "batches")
    path, position = flip_a_byte(directory)
    rows = rows_of(directory, "batches")
    assert len(rows) == len(before)
    [row] = [row for row in rows if row["_corrupt_record"] is not None]
    assert (row["file"], row["position"], row["isCrcValid"]) == (str(path), position, False)
    assert f"batch-crc-mismatch: {path}" in row["_corrupt_record"]


def test_what_a_killed_broker_leaves_is_no_damage(tmp_path: Path) -> None:
    directory = history_directory(tmp_path, 2, is_clean=False)
    path = [path for path in sorted((directory / "t-0").glob("*.log")) if path.stat().st_size][-1]
    before = rows_of(directory, "batches")
    path.write_bytes(path.read_bytes()[:-3])
    rows = rows_of(directory, "batches")
    assert rows == before[:-1]


def test_what_retention_deletes_after_the_plan_is_left_out(tmp_path: Path) -> None:
    directory = history_directory(tmp_path)
    tasks = {name: table.plan(directory, None) for name, table in TABLES.items()}
    gone = sorted((directory / "t-0").glob("*.log"))[0]
    for path in (directory / "t-0").glob(f"{gone.stem}.*"):
        path.unlink()
    for name, table in TABLES.items():
        rows = [row for task in tasks[name] for batch in table.read(task) for row in batch.to_pylist()]
        assert rows == rows_of(directory, name), name
        assert [row["_corrupt_record"] for row in rows if row["_corrupt_record"] is not None] == []


def test_a_partition_that_is_gone_or_refused_is_a_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = history_directory(tmp_path / "data")
    tasks = {name: TABLES[name].plan(directory, None) for name in ("batches", "transactions", "indexes", "checkpoints")}
    (directory / "t-0").rename(tmp_path / "t-0")
    assert [fault.split(":")[0] for fault in faults_of("batches", tasks["batches"])] == ["partition-gone"]
    assert [fault.split(":")[0] for fault in faults_of("transactions", tasks["transactions"])] == ["partition-gone"]
    (directory / "t-0").symlink_to(tmp_path / "t-0")
    for name in tasks:
        [fault] = faults_of(name, TABLES[name].plan(directory, None))
        assert fault.startswith(f"file-unreadable: {directory / 't-0'}: a symbolic link"), fault


@pytest.mark.parametrize("odd", ODD)
def test_what_is_no_file_is_a_row_of_its_table(tmp_path: Path, odd: str) -> None:
    directory = history_directory(tmp_path / "data")
    make, symbol = ODD[odd]
    log = sorted((directory / "t-0").glob("*.log"))[0]
    paths = [log, *(log.with_suffix(suffix) for suffix in (".index", ".timeindex", ".txnindex"))]
    paths += [directory / "t-0" / "leader-epoch-checkpoint", directory / "recovery-point-offset-checkpoint"]
    paths += [directory / "meta.properties", directory / "t-0" / f"{7:020d}.snapshot"]
    for path in paths:
        path.unlink(missing_ok=True)
        make(path)
        (tmp_path / "outside.log").unlink(missing_ok=True)
    for name in ("batches", "transactions"):
        [fault] = faults_of(name, TABLES[name].plan(directory, None))
        assert fault.startswith(f"file-unreadable: {log}: ")
        assert symbol in fault
    for name, count in (("indexes", 3), ("checkpoints", 4)):
        faults = faults_of(name, TABLES[name].plan(directory, None))
        named = [path for path in paths for fault in faults if fault.startswith(f"file-unreadable: {path}: ")]
        assert len(named) == len(faults) == count, faults


def faults_of(name: str, tasks: list[TableTask]) -> list[str]:
    """The faults in a table's rows."""
    rows = [row for task in tasks for batch in TABLES[name].read(task) for row in batch.to_pylist()]
    return [row["_corrupt_record"] for row in rows if row["_corrupt_record"] is not None]


# Groups ---------------------------------------------------------------------------

KEYS = [
    (name, message_class(name))
    for name, family in FAMILIES.items()
    if family == "group_records" and name.endswith("Key") and "OffsetCommit" not in name
]


def fill(message: Any) -> Any:
    """A key whose first field, the group, is set."""
    name = "group" if hasattr(message, "group") else "group_id"
    setattr(message, name, "readers")
    return message


@pytest.mark.parametrize(("name", "key_class"), KEYS, ids=[name for name, _ in KEYS])
def test_every_record_type_of_groups_has_its_name(tmp_path: Path, name: str, key_class: Any) -> None:
    value_class = message_class(name.removesuffix("Key") + "Value")
    key = struct.pack(">h", key_class.API_KEY) + encode(fill(key_class()), 0)
    version = value_class.VERSIONS[1]
    value = struct.pack(">h", version) + encode(value_class(), version)
    directory = GroupsDirectory()
    directory.records(1, [(key, value), (key, None)])
    row, tombstone = rows_of(directory.write(tmp_path), "groups")
    assert (row["kind"], row["recordType"]) == (name.removesuffix("Key"), key_class.API_KEY)
    assert row["group"] == tombstone["group"] == "readers"
    assert (row["isTombstone"], tombstone["isTombstone"]) == (False, True)
    assert (row["valueVersion"], tombstone["valueVersion"]) == (version, None)
    expected = next((kind for kind in ("consumer", "share", "streams") if name.lower().startswith(kind)), "classic")
    assert row["groupType"] == expected


def test_unknown_types_and_versions_are_rows(tmp_path: Path) -> None:
    directory = GroupsDirectory()
    known = struct.pack(">h", 2) + b"\0\1g"
    directory.records(1, [(struct.pack(">h", 77), b"x"), (known, struct.pack(">h", 55)), (None, b"x")])
    unknown, newer, keyless = rows_of(directory.write(tmp_path), "groups")
    assert (unknown["recordType"], unknown["kind"], unknown["_corrupt_record"]) == (77, None, None)
    assert (newer["group"], newer["valueVersion"]) == ("g", 55)
    assert "the record at offset 1" in newer["_corrupt_record"]
    assert "no key" in keyless["_corrupt_record"]


def test_commits_say_how_their_transaction_ended(tmp_path: Path) -> None:
    directory = GroupsDirectory()
    directory.commit("eos", 1)
    for offset, kind in ((2, ControlRecordType.ABORT), (3, ControlRecordType.COMMIT), (4, None)):
        directory.commit("eos", offset, producer_id=9)
        if kind is not None:
            directory.end("eos", 9, kind)
    directory.delete("eos")
    rows = rows_of(directory.write(tmp_path), "offsets")
    assert [(row["committedOffset"], row["transaction"]) for row in rows] == [
        (1, None),
        (2, "aborted"),
        (3, "committed"),
        (4, "pending"),
        (None, None),
    ]
    assert [row["producerId"] for row in rows] == [None, 9, 9, 9, None]
    assert [row["isTombstone"] for row in rows] == [False] * 4 + [True]


def test_a_marker_that_can_not_be_read_is_a_row(tmp_path: Path) -> None:
    """Its transaction seems to be pending, so the table names the position of the marker and the fault."""
    directory = GroupsDirectory()
    directory.commit("eos", 2, producer_id=9)
    directory.end("eos", 9, ControlRecordType.COMMIT)
    [log] = [path for path in directory.write(tmp_path).glob(f"{OFFSETS_TOPIC}-*/*.log") if path.stat().st_size]
    data = bytearray(log.read_bytes())
    [_, (start, header)] = iterate_headers(data)
    data[start + BATCH_HEADER_SIZE] = 0x7F  # the record's size: more bytes than exist
    struct.pack_into(">I", data, start + CRC_POSITION, crc_of(data, start, header))
    log.write_bytes(data)
    row, damage = sorted(rows_of(tmp_path, "offsets"), key=lambda row: row["offset"])
    assert (row["committedOffset"], row["transaction"], row["_corrupt_record"]) == (2, "pending", None)
    assert (damage["offset"], damage["position"]) == (1, start)
    assert damage["_corrupt_record"].startswith(f"records-malformed: {log}: ")


def test_a_commits_topic_id_is_told(tmp_path: Path) -> None:
    directory = GroupsDirectory()
    directory.commit("old", 1)
    directory.commit("new", 1, topic_id=TOPIC_ID, leader_epoch=3, metadata="m")
    rows = {row["group"]: row for row in rows_of(directory.write(tmp_path), "offsets")}
    assert (rows["old"]["topicId"], rows["old"]["valueVersion"]) == (None, 3)
    new = rows["new"]
    assert (new["topicId"], new["valueVersion"]) == ("EBESExQVFhcYGRobHB0eHw", 4)
    assert (new["leaderEpoch"], new["metadata"], new["partition"]) == (3, "m", 0)
    assert new["commitTimestamp"].timestamp() * 1000 == NOW_MS
    assert new["expireTimestamp"] is None


# Transactions, checkpoints ----------------------------------------------------------


def test_open_transactions_of_a_log(tmp_path: Path) -> None:
    directory = GroupsDirectory()
    first = directory.commit("eos", 1, NOW_MS - 5000, producer_id=9, copies=3)
    directory.commit("eos", 2, producer_id=9)
    directory.commit("other", 2, producer_id=8)
    root = directory.write(tmp_path)
    rows = {row["producerId"]: row for row in rows_of(root, "transactions", [OFFSETS_TOPIC])}
    row = rows[9]
    assert (row["state"], row["firstOffset"], row["offset"]) == ("Open", first.offset, None)
    assert (row["batches"], row["records"], row["producerEpoch"]) == (2, 4, 0)
    assert row["firstTimestamp"].timestamp() * 1000 == NOW_MS - 5000


def test_checkpoints_name_their_file(tmp_path: Path) -> None:
    KafkaDirectory().write(tmp_path)
    rows = rows_of(tmp_path, "checkpoints")
    facts = {(row["kind"], row["topic"], row["partition"], row["name"]): row for row in rows}
    assert facts["recovery-point-offset-checkpoint", "t1", 1, None]["offset"] == 12
    assert facts["partition.metadata", "t1", 0, "topic_id"]["value"] == "EBESExQVFhcYGRobHB0eHw"
    assert facts["meta.properties", None, None, "node.id"]["value"] == "0"
    assert facts["quorum-state", "__cluster_metadata", 0, "leaderEpoch"]["value"] == "1"
    assert facts[".kafka_cleanshutdown", None, None, "brokerEpoch"]["value"] == "2"
    assert facts["leader-epoch-checkpoint", "__cluster_metadata", 0, None]["epoch"] == 1
    (tmp_path / "cleaner-offset-checkpoint").write_text("0\nmany\n")
    [row] = [row for row in rows_of(tmp_path, "checkpoints") if row["_corrupt_record"] is not None]
    assert row["kind"] == "cleaner-offset-checkpoint"


def test_tables_of_a_directory_in_object_storage_are_the_same(tmp_path: Path) -> None:
    directory = GroupsDirectory()
    for step in range(200):
        directory.commit("eos", step, producer_id=9)
    directory.end("eos", 9, ControlRecordType.COMMIT)
    directory.group("eos", 1)
    directory.share_state(ShareStateRecord(SharePartitionKey("sharing", TOPIC_ID, 0), None))
    root = directory.write(tmp_path / "data")
    store = fsspec.filesystem("memory")
    store.put(str(root), "/tables", recursive=True)
    try:
        for name in TABLES:
            here, there = rows_of(root, name), rows_of(path_of("memory://tables"), name)
            assert here, name
            assert str(there).replace("memory://tables", str(root)) == str(here)
    finally:
        store.rm("/tables", recursive=True)
