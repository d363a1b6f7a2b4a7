"""The state of an export: an import restores it, and what is left out is what no consumer of committed records gets."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from odradek.pipeline.directories.metadata_reader import read_cluster_metadata
from odradek.pipeline.directories.state_tables import (
    STATE_DIRECTORY,
    TOPICS_FILE,
    TOPICS_SCHEMA,
    UNCOMMITTED_SCHEMA,
)
from odradek.pipeline.export.command import export
from odradek.pipeline.importing.command import import_topics
from odradek.pipeline.importing.partition_files import WrittenPartition
from odradek.pipeline.importing.row_buffers import ROW_SCHEMA
from odradek.pipeline.importing.state import RestoredPartition, by_epoch, committed_rows, epochs_from, read_state
from odradek.storage.files.checkpoints import (
    LOG_START_OFFSET_CHECKPOINT,
    read_epoch_checkpoint,
    write_offset_checkpoint,
)
from odradek.storage.files.files import Files
from odradek.storage.files.meta_properties import read_meta_properties, read_partition_metadata
from support.data.log_directories import history_directory

from ..groups_directory import OFFSETS_TOPIC, GroupsDirectory
from ..imported_rows import in_order, records_in, row, write_parquet


def exported(directory: Path, output: Path, *options: str) -> Path:
    assert export([str(directory), "--output", str(output), *options]) == 0
    return output


def imported(source: Path, into: Path, *options: str) -> Path:
    assert import_topics([str(source), "--into", str(into), "--workers", "1", *options]) == 0
    return into


def partitions_of(output: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = parquet.read_table(output / STATE_DIRECTORY / "partitions.parquet").to_pylist()
    return rows


def rows_of(output: Path) -> list[dict[str, Any]]:
    """The rows of an export, by topic, partition and offset."""
    found = []
    for path in output.glob("topic=*/date=*/*.parquet"):
        topic = path.parent.parent.name.removeprefix("topic=")
        found += [{**one, "topic": topic} for one in parquet.ParquetFile(path).read().to_pylist()]
    return in_order(found)


@pytest.mark.parametrize("seed", range(8))
def test_what_a_consumer_of_committed_records_gets_comes_back(tmp_path: Path, seed: int) -> None:
    """Random histories with transactions, leader epochs and a log start inside of a segment."""
    before = history_directory(tmp_path / "before", seed, is_clean=seed % 2 > 0)
    write_offset_checkpoint(Files(), before / LOG_START_OFFSET_CHECKPOINT, {("t", 0): 20 + seed})
    first = exported(before, tmp_path / "first", "--include-deleted")
    after = imported(first, tmp_path / "after", "--segment-bytes", "5000")
    second = exported(after, tmp_path / "second")
    [had], [has] = partitions_of(first), partitions_of(second)
    assert had["logStartOffset"] == 20 + seed
    assert [has[name] for name in ("logStartOffset", "logEndOffset")] == [had["logStartOffset"], had["logEndOffset"]]
    assert [entry["epoch"] for entry in has["leaderEpochs"]] == sorted(
        {entry["epoch"] for entry in has["leaderEpochs"]}
    )
    committed = exported(before, tmp_path / "committed", "--isolation", "read_committed")
    open_from = min((one["firstOffset"] for one in uncommitted_of(first) if one["isOpen"]), default=had["logEndOffset"])
    assert [one for one in rows_of(second) if one["offset"] < open_from] == rows_of(committed)


def uncommitted_of(output: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = parquet.read_table(output / STATE_DIRECTORY / "uncommitted.parquet").to_pylist()
    return rows


def test_without_the_state_only_rows_are_imported(tmp_path: Path) -> None:
    before = history_directory(tmp_path / "before", 3)
    write_offset_checkpoint(Files(), before / LOG_START_OFFSET_CHECKPOINT, {("t", 0): 30})
    first = exported(before, tmp_path / "first", "--include-deleted")
    assert imported(first, tmp_path / "after", "--no-state").is_dir()
    assert in_order(records_in(tmp_path / "after"))[0]["offset"] < 30
    bare = exported(before, tmp_path / "bare", "--no-state")
    assert not (bare / STATE_DIRECTORY).exists()
    assert read_state([bare]).topics == {}


def test_groups_and_configs_and_ids_come_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    directory = GroupsDirectory(data_epochs=[(2, 0), (5, 300)], first_offset=100)
    directory.group("billing", 1)
    directory.commit("billing", 590, leader_epoch=5)
    directory.commit("undone", 7, producer_id=9)
    before = tmp_path / "before"
    directory.write(before)
    first = exported(before, tmp_path / "first")
    after = imported(first, tmp_path / "after", "--node-id", "7", "--cluster-id", "A" * 22)
    meta = read_meta_properties(Files(), after)
    assert meta is not None
    assert (meta.node_id, meta.cluster_id) == (7, "A" * 22)
    had, has = read_cluster_metadata(before), read_cluster_metadata(after)
    for topic in ("t1", OFFSETS_TOPIC):
        assert has.topics[topic].topic_id == had.topics[topic].topic_id
        assert read_partition_metadata(Files(), after / f"{topic}-0") == had.topics[topic].topic_id
        assert has.topic_configs.get(topic, {}) == had.topic_configs.get(topic, {})
        assert len(has.topics[topic].brokers) == len(had.topics[topic].brokers)
    assert read_epoch_checkpoint(Files(), after / "t1-0" / "leader-epoch-checkpoint") == [(2, 100), (5, 300)]
    commits = [one for one in records_in(after) if one["topic"] == OFFSETS_TOPIC]
    assert commits
    assert not [one for one in commits if b"undone" in one["key"]], "its transaction is open"
    assert {partition["topic"] for partition in partitions_of(first)} == {"t1", OFFSETS_TOPIC}
    capsys.readouterr()
    assert import_topics([str(first), "--into", str(after), "--cluster-id", "B" * 22]) == 1
    assert f"--cluster-id {'B' * 22}: {after} is formatted with {'A' * 22}" in capsys.readouterr().err


def test_configs_of_an_older_kafka_come_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Kafka 3.9 allowed segment.bytes=3000; 4.4 refuses it, and so does the option --config."""
    first = exported(history_directory(tmp_path / "before", 3), tmp_path / "first")
    topics = first / STATE_DIRECTORY / TOPICS_FILE
    kept = {"segment.bytes": "3000", "a.key.of.another.kafka": "yes"}
    [known] = parquet.read_table(topics).to_pylist()
    parquet.write_table(pa.Table.from_pylist([{**known, "configs": list(kept.items())}], TOPICS_SCHEMA), topics)
    refused = [str(first), "--into", str(tmp_path / "refused"), "--config", "t:segment.bytes=3000"]
    assert import_topics(refused) == 1
    assert "segment.bytes=3000: Invalid value 3000" in capsys.readouterr().err
    after = imported(first, tmp_path / "after", "--config", "t:retention.ms=-1")
    assert read_cluster_metadata(after).topic_configs["t"] == {**kept, "retention.ms": "-1"}


def test_an_existing_offsets_topic_is_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    directory = GroupsDirectory()
    directory.commit("billing", 590)
    directory.write(tmp_path / "before")
    first = exported(tmp_path / "before", tmp_path / "first")
    other = GroupsDirectory(topic_id=b"o" * 16, is_topic_there=False)
    other.commit("others", 3)
    into = tmp_path / "into"
    other.write(into)
    for path in into.glob("t1-*"):
        path.rename(tmp_path / path.name)
    capsys.readouterr()
    imported(first, into)
    assert f"{OFFSETS_TOPIC} is not imported, because {into} has one" in capsys.readouterr().err
    assert "t1" in read_cluster_metadata(into).topics


def test_a_second_export_keeps_the_state_of_other_topics(tmp_path: Path) -> None:
    rows = [row(offset, topic=topic) for topic in ("one", "two") for offset in range(5, 9)]
    import_topics([str(write_parquet(tmp_path / "rows.parquet", rows)), "--into", str(tmp_path / "logs")])
    output = exported(tmp_path / "logs", tmp_path / "out", "--topic", "one")
    exported(tmp_path / "logs", output, "--topic", "two", "--overwrite")
    exported(tmp_path / "logs", output, "--topic", "two", "--overwrite")
    found = [
        (one["topic"], one["partition"], one["logStartOffset"], one["logEndOffset"]) for one in partitions_of(output)
    ]
    assert sorted(found) == [("one", 0, 5, 9), ("two", 0, 5, 9)]
    assert sorted(read_state([output]).topics) == ["one", "two"]


def test_a_topic_without_rows_comes_back(tmp_path: Path) -> None:
    rows = [row(offset) for offset in range(10)]
    import_topics([str(write_parquet(tmp_path / "rows.parquet", rows)), "--into", str(tmp_path / "logs")])
    write_offset_checkpoint(Files(), tmp_path / "logs" / LOG_START_OFFSET_CHECKPOINT, {("orders", 0): 10})
    output = exported(tmp_path / "logs", tmp_path / "out")
    after = imported(output, tmp_path / "after")
    assert records_in(after) == []
    again = partitions_of(exported(after, tmp_path / "again"))
    assert [(one["logStartOffset"], one["logEndOffset"]) for one in again] == [(10, 10)]


def test_damaged_state_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [row(offset) for offset in range(10)]
    import_topics([str(write_parquet(tmp_path / "rows.parquet", rows)), "--into", str(tmp_path / "logs")])
    output = exported(tmp_path / "logs", tmp_path / "out")
    (output / STATE_DIRECTORY / "partitions.parquet").write_bytes(b"PAR1")
    capsys.readouterr()
    assert import_topics([str(output), "--into", str(tmp_path / "after")]) == 1
    assert "--no-state imports the rows without it" in capsys.readouterr().err
    assert import_topics([str(output), "--into", str(tmp_path / "after"), "--no-state"]) == 0


def test_leader_epochs_are_cut_at_the_log_start() -> None:
    assert epochs_from(RestoredPartition(10, 50, ((1, 0), (2, 8), (4, 10), (7, 40), (9, 60)), "")) == [(4, 10), (7, 40)]
    assert epochs_from(RestoredPartition(10, 50, ((3, 20),), "")) == [(3, 10)]
    assert epochs_from(RestoredPartition(10, 50, (), "")) == [(0, 10)]


def test_rows_are_cut_at_epochs_and_uncommitted_ranges(tmp_path: Path) -> None:
    ranges = [("t", 0, 12, 13, False), ("t", 0, 17, 17, True), ("t", 1, 10, 30, False)]
    table = [dict(zip(UNCOMMITTED_SCHEMA.names, one, strict=True)) for one in ranges]
    parquet.write_table(pa.Table.from_pylist(table, UNCOMMITTED_SCHEMA), tmp_path / "u.parquet")
    state = RestoredPartition(11, 30, ((0, 0), (3, 15)), str(tmp_path / "u.parquet"))
    rows = pa.RecordBatch.from_pylist([{"offset": offset} for offset in range(10, 20)], ROW_SCHEMA)
    facts = WrittenPartition("t", 0)
    [kept] = committed_rows([rows], state, facts)
    assert (facts.deleted, facts.aborted, facts.undecided) == (1, 2, 1)
    parts = [(epoch, part.column("offset").to_pylist()) for epoch, part in by_epoch(kept, epochs_from(state))]
    assert parts == [(0, [11, 14]), (3, [15, 16, 18, 19])]
