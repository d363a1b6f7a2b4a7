"""`odradek import`: rows of Parquet and JSON lines can be read from the directory. Invalid input is refused."""

import json
import os
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

from odradek.pipeline.export.command import export
from odradek.pipeline.importing import command
from odradek.pipeline.importing.input_rows import ImportSizes, read_part
from odradek.pipeline.importing.inputs import ImportRefusedError, input_parts
from odradek.pipeline.importing.job import ImportOrder, import_rows
from odradek.protocol.records.compression import CompressionType
from odradek.storage.check.command import check
from odradek.storage.directory.directory_lock import DirectoryLock
from odradek.storage.files.checkpoints import read_epoch_checkpoint, read_offset_checkpoint
from odradek.storage.files.files import Files
from odradek.storage.files.meta_properties import MetaProperties, read_partition_metadata, write_meta_properties

from ..imported_rows import SPARK_SCHEMA, in_order, records_in, row, write_parquet


def order(path: Path, into: Path, **options: Any) -> ImportOrder:
    return ImportOrder([path], into, now_ms=5, max_workers=1, **options)


def test_every_column_comes_back_and_gaps_stay(tmp_path: Path) -> None:
    rows = [row(offset, partition=offset % 3) for offset in range(0, 1500, 5)]
    rows += [
        row(3, topic="other", key=None, value=b"", timestampType=1),
        row(10, topic="other", key=b"", value=None, timestampType=1, headers=[{"key": "h", "value": None}]),
        row(11, topic="other", headers=[{"key": "", "value": b"\xff"}, {"key": "ключ", "value": b""}]),
        row(6_000_000_000, topic="other", timestamp=-1000),
    ]
    source = write_parquet(tmp_path / "in" / "rows.parquet", rows[::-1])
    written = import_rows(order(source, tmp_path / "logs"))
    assert in_order(records_in(tmp_path / "logs")) == in_order(rows)
    assert [(one.topic, one.partition, one.log_start_offset, one.log_end_offset) for one in written] == [
        ("orders", 0, 0, 1486),
        ("orders", 1, 10, 1496),
        ("orders", 2, 5, 1491),
        ("other", 0, 3, 6_000_000_001),
    ]


def test_what_lies_beside_the_log_is_what_a_broker_writes(tmp_path: Path) -> None:
    rows = [row(offset) for offset in range(100, 5000)]
    source = write_parquet(tmp_path / "rows.parquet", rows)
    import_rows(
        order(source, tmp_path / "logs", segment_bytes=20_000, batch_bytes=2000, partition_counts={"orders": 2})
    )
    partition = tmp_path / "logs" / "orders-0"
    segments = sorted(partition.glob("*.log"))
    assert len(segments) > 3
    assert segments[0].name == f"{100:020d}.log"
    assert all(path.stat().st_size <= 20_000 for path in segments)
    assert all(path.with_suffix(".index").stat().st_size > 0 for path in segments)
    assert all(path.with_suffix(".timeindex").stat().st_size > 0 for path in segments)
    assert read_epoch_checkpoint(Files(), partition / "leader-epoch-checkpoint") == [(0, 100)]
    ids = {read_partition_metadata(Files(), tmp_path / "logs" / name) for name in ("orders-0", "orders-1")}
    assert len(ids) == 1
    assert None not in ids
    for name in ("recovery-point-offset-checkpoint", "replication-offset-checkpoint"):
        offsets = read_offset_checkpoint(Files(), tmp_path / "logs" / name)
        assert offsets == {("orders", 0): 5000, ("orders", 1): 0}
    write_meta_properties(Files(), tmp_path / "logs", MetaProperties("c" * 22, 1, b"d" * 16))  # add-topics does it
    assert check([str(tmp_path / "logs")]) == 0


def test_offsets_can_be_numbered_anew_and_rows_spread_by_key(tmp_path: Path) -> None:
    rows = [row(offset, partition=offset % 2) for offset in range(500)]
    source = write_parquet(tmp_path / "rows.parquet", rows)
    import_rows(order(source, tmp_path / "new", keeps_offsets=False))
    found = records_in(tmp_path / "new")
    assert [one["offset"] for one in found] == [*range(250), *range(250)]
    assert [one["value"] for one in found] == [b"v%d" % n for n in [*range(0, 500, 2), *range(1, 500, 2)]]
    import_rows(order(source, tmp_path / "spread", keeps_offsets=False, topic="renamed", partitions=5))
    by_key: dict[bytes, set[int]] = {}
    for one in records_in(tmp_path / "spread"):
        assert one["topic"] == "renamed"
        by_key.setdefault(one["key"], set()).add(one["partition"])
    assert all(len(partitions) == 1 for partitions in by_key.values())
    assert len(records_in(tmp_path / "spread")) == 500
    assert sorted(path.name for path in (tmp_path / "spread").glob("renamed-*")) == [f"renamed-{n}" for n in range(5)]


def test_a_topic_is_named_by_the_folder_too(tmp_path: Path) -> None:
    rows = [row(offset) for offset in range(10)]
    table = pa.Table.from_pylist(rows, SPARK_SCHEMA).drop_columns(["topic"])
    for date, part in (("2026-01-01", table.slice(0, 5)), ("2026-01-02", table.slice(5))):
        folder = tmp_path / "in" / "topic=or.ders" / f"date={date}"
        folder.mkdir(parents=True)
        pyarrow.parquet.write_table(part, folder / "part-0.parquet")
    import_rows(order(tmp_path / "in", tmp_path / "logs"))
    assert [one["offset"] for one in records_in(tmp_path / "logs")] == list(range(10))
    assert (tmp_path / "logs" / "or.ders-0").is_dir()


def test_lines_of_json_as_consume_prints_them(tmp_path: Path) -> None:
    lines = [
        {"topic": "t", "partition": 1, "offset": 7, "timestamp": 1_700_000_000_001, "timestampType": "LogAppendTime",
         "key": "ключ", "value": {"base64": "AP8="}, "headers": [{"key": "h", "value": None}]},
        {"topic": "t", "partition": 0, "offset": 1, "timestamp": "2026-01-02T03:04:05.678Z", "key": None, "value": "x"},
        {"topic": "t", "partition": 0, "offset": 2, "value": None, "unknown": [1, {}]},
    ]  # fmt: skip
    path = tmp_path / "rows.jsonl"
    path.write_text("\n".join(json.dumps(line) for line in lines) + "\n\n")
    import_rows(order(path, tmp_path / "logs"))
    usual = {"topic": "t", "timestampType": 0, "headers": None}
    assert records_in(tmp_path / "logs") == [
        usual | {"partition": 0, "offset": 1, "timestamp": 1_767_323_045_678_000, "key": None, "value": b"x"},
        usual | {"partition": 0, "offset": 2, "timestamp": 5000, "key": None, "value": None},
        usual | {"partition": 1, "offset": 7, "timestamp": 1_700_000_000_001_000, "key": "ключ".encode(),
                 "value": b"\0\xff", "timestampType": 1, "headers": [{"key": "h", "value": None}]},
    ]  # fmt: skip


@pytest.mark.parametrize("is_base64", [False, True])
def test_lines_in_several_parts(tmp_path: Path, is_base64: bool) -> None:
    path = tmp_path / "rows.ndjson"
    value = "dmFsdWU=" if is_base64 else "value"
    lines = [json.dumps({"offset": n, "partition": 0, "value": value, "key": None}) for n in range(200)]
    path.write_text("\n".join(lines))
    import_rows(
        order(
            path, tmp_path / "logs", topic="t", is_base64=is_base64, sizes=ImportSizes(part_bytes=1000, block_bytes=300)
        )
    )
    assert [(one["offset"], one["value"]) for one in records_in(tmp_path / "logs")] == [
        (n, b"value") for n in range(200)
    ]


REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ('{"value": "a"}', {}, "without a topic"),
    ('{"value": "a"}', {"topic": "t"}, "without a partition"),
    ('{"value": "a", "partition": 0}', {"topic": "t"}, "without an offset"),
    ('{"key": "a"}', {"topic": "t"}, "named value"),
    ('{"value": 5}', {"topic": "t"}, "must be text"),
    ('{"value": {"base64": "?"}}', {"topic": "t"}, "base64"),
    ('{"value": "a", "timestamp": "2026-01-01T00:00:00"}', {"topic": "t"}, "time zone"),
    ('{"value": "a", "timestamp": -5}', {"topic": "t"}, "before 1970"),
    ('{"value": "a", "partition": -1, "offset": 0}', {"topic": "t"}, "partition -1"),
    ('{"value": "a", "partition": 2000000, "offset": 0}', {"topic": "t"}, "limit"),
    ('{"value": "a", "partition": 0, "offset": 3}\n{"value": "b", "partition": 0, "offset": 3}', {"topic": "t"},
     "two rows of the input have offset 3"),
    ('{"value": "a"}', {"topic": "a/b", "partitions": 1, "keeps_offsets": False}, "name of a topic"),
    ('{"value": "a", "partition": 0, "offset": 0}', {"topic": "__consumer_offsets"}, "no name of an internal topic"),
    ('{"value": "a", "partition": 0, "offset": 0}', {"topic": "__share_group_state"}, "name of an internal topic"),
    ('{"value": "a", "partition": 4, "offset": 0}', {"topic": "t", "partition_counts": {"t": 3}}, "partition 4"),
    ("", {"topic": "t"}, "no rows"),
    ("nonsense", {"topic": "t"}, "line at byte 0"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "options", "reason"), REFUSED, ids=[reason for _, _, reason in REFUSED])
def test_what_is_refused_leaves_nothing(tmp_path: Path, text: str, options: dict[str, Any], reason: str) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(text)
    with pytest.raises(Exception, match=reason):  # an error of the engine around it, or the refusal itself
        import_rows(order(path, tmp_path / "logs", **options))
    assert os.listdir(tmp_path / "logs") == [".lock"]


def test_columns_of_other_types_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    pyarrow.parquet.write_table(pa.table({"value": [1, 2]}), path)
    with pytest.raises(Exception, match="column value is int64"):
        import_rows(order(path, tmp_path / "logs", topic="t", partitions=1, keeps_offsets=False))
    pyarrow.parquet.write_table(pa.table({"key": ["a"]}), path)
    with pytest.raises(Exception, match="no column named value"):
        import_rows(order(path, tmp_path / "logs", topic="t", partitions=1, keeps_offsets=False))


def test_existing_topics_and_other_files_are_refused(tmp_path: Path) -> None:
    source = write_parquet(tmp_path / "rows.parquet", [row(0)])
    import_rows(order(source, tmp_path / "logs"))
    before = sorted(os.listdir(tmp_path / "logs"))
    with pytest.raises(ImportRefusedError, match="already has topic orders"):
        import_rows(order(source, tmp_path / "logs"))
    assert sorted(os.listdir(tmp_path / "logs")) == before
    (tmp_path / "rows.csv").touch()
    with pytest.raises(ImportRefusedError, match="must end in"):
        import_rows(order(tmp_path / "rows.csv", tmp_path / "logs"))
    for missing in ("none.parquet", "none"):
        with pytest.raises(ImportRefusedError, match="does not exist"):
            import_rows(order(tmp_path / missing, tmp_path / "logs"))
    (tmp_path / "empty").mkdir()
    with pytest.raises(ImportRefusedError, match="no file"):
        import_rows(order(tmp_path / "empty", tmp_path / "logs"))


def test_a_locked_directory_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = write_parquet(tmp_path / "rows.parquet", [row(0)])
    (tmp_path / "logs").mkdir()
    lock = DirectoryLock(tmp_path / "logs")
    try:
        assert command.import_topics([str(source), "--into", str(tmp_path / "logs")]) == 1
    finally:
        lock.close()
    assert "has this log directory open" in capsys.readouterr().err
    assert os.listdir(tmp_path / "logs") == [".lock"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["--partitions", "0"],
        ["--partitions", "2", "--offsets", "keep"],
        ["--partition-count", "orders"],
        ["--segment-bytes", "10"],
        ["--batch-bytes", "10"],
        ["--codec", "brotli"],
    ],
)
def test_wrong_options(tmp_path: Path, arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as exit_of:
        command.import_topics([str(tmp_path / "rows.parquet"), "--into", str(tmp_path / "logs"), *arguments])
    assert exit_of.value.code == 2


def test_an_export_comes_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every column is equal after an export, in whose output topic and date are folders, and an import of it."""
    rows = [row(offset, partition=offset % 2, headers=[{"key": "h", "value": b"1"}]) for offset in range(300)]
    rows += [row(offset, topic="late", timestampType=1, timestamp=10**15 * (offset + 1)) for offset in range(3, 30, 4)]
    rows += [
        row(3, topic="edges", key=None, value=None),
        row(9, topic="edges", key=b"", value=b"\xff", timestamp=-1000),
    ]
    source = write_parquet(tmp_path / "rows.parquet", rows)
    import_rows(order(source, tmp_path / "first", compression=CompressionType.ZSTD))
    assert export([str(tmp_path / "first"), "--output", str(tmp_path / "exported"), "--engine", "local"]) == 0
    import_rows(order(tmp_path / "exported", tmp_path / "second"))
    assert in_order(records_in(tmp_path / "second")) == in_order(records_in(tmp_path / "first")) == in_order(rows)


def test_large_rows_are_read_and_written_a_few_at_a_time(tmp_path: Path) -> None:
    sizes = ImportSizes(chunk_bytes=50_000, group_bytes=20_000)
    rows = [row(offset, value=os.urandom(5_000)) for offset in range(100)]
    source = write_parquet(tmp_path / "rows.parquet", rows)
    [part] = input_parts([source], sizes.part_bytes)
    read = [batch.num_rows for batch in read_part(part, sizes, is_base64=False, now_ms=0)]
    assert sum(read) == 100
    assert max(read) <= 10
    import_rows(order(source, tmp_path / "logs", sizes=sizes))
    assert records_in(tmp_path / "logs") == rows


def test_offsets_mixed_up_over_files_come_into_order(tmp_path: Path) -> None:
    offsets = list(range(200))
    random.Random(5).shuffle(offsets)
    for number in range(4):
        part = [row(offset) for offset in offsets[number::4]]
        write_parquet(tmp_path / "in" / f"{number}.parquet", part, row_group_size=7)
    import_rows(order(tmp_path / "in", tmp_path / "logs", sizes=ImportSizes(group_rows=3)))
    assert records_in(tmp_path / "logs") == [row(offset) for offset in range(200)]
