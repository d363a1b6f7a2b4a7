"""`odradek export`: the Parquet files have the rows that the decoder in `protocol/` reads, each once."""

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as dataset
import pyarrow.parquet as parquet
import pytest
from pyspark.sql import SparkSession

from odradek.pipeline.directories.log_directories import find_partitions
from odradek.pipeline.engine.job import OutputFaultError
from odradek.pipeline.export.command import export
from odradek.pipeline.export.parquet_files import DayFiles
from odradek.pipeline.export.tasks import COLUMNS, ExportTask, export_split
from odradek.pipeline.reading.columns import arrow_schema
from odradek.pipeline.reading.splits import plan_partition
from odradek.protocol.records.batch import iterate_headers
from odradek.protocol.records.builder import encode_batch
from odradek.protocol.records.record import Record, decode_records
from support.data.log_directories import flip_a_byte, history_directory
from support.data.log_histories import HistoryWriter

DAY_MS = 86_400_000
SMALL_SPLITS = ("--split-bytes", "3000")


def records_of(partition: Path, keep: Callable[[Record], bool] = lambda _: True) -> list[Record]:
    """The records of data batches, by the decoder in `protocol/`."""
    found = []
    for path in sorted(partition.glob("*.log")):
        data = path.read_bytes()
        for position, header in iterate_headers(data):
            found += [] if header.is_control else decode_records(data, header, position)
    return [record for record in found if keep(record)]


def exported(output: Path, topic: str = "t", partition: int = 0) -> list[Record]:
    """The rows of the Parquet files as records, by offset. Asserts that each is in the directory of its day."""
    found = []
    for path in sorted((output / f"topic={topic}").glob("date=*/*.parquet")):
        table = parquet.ParquetFile(path).read()
        assert tuple(table.schema.names) == COLUMNS
        milliseconds = table.column("timestamp").cast(pa.int64()).to_pylist()
        for row, time in zip(table.drop(["timestamp"]).to_pylist(), milliseconds, strict=True):
            day = path.parent.name.removeprefix("date=")
            assert day == date_of(time // 1000), path
            headers = [(header["key"], header["value"]) for header in row["headers"] or []]
            if row["partition"] == partition:
                found.append(Record(row["offset"], time // 1000, row["key"], row["value"], headers))
    return sorted(found)


def date_of(time_ms: int) -> str:
    if not 0 <= time_ms < 253_402_300_800_000:  # 10000-01-01
        return "__HIVE_DEFAULT_PARTITION__"
    return str(pa.scalar(time_ms // DAY_MS, pa.int32()).cast(pa.date32()).as_py())


def one_partition(root: Path, records: list[Record]) -> Path:
    """A log directory with a batch of its own for each record."""
    (root / "t-0").mkdir(parents=True)
    log = b"".join(encode_batch([record], base_offset=record.offset) for record in records)
    (root / "t-0" / "00000000000000000000.log").write_bytes(log)
    (root / "meta.properties").write_text("version=1\n")
    return root


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("options", [(), SMALL_SPLITS, ("--compression", "zstd")])
def test_exported_rows_are_the_decoded_ones(tmp_path: Path, seed: int, options: tuple[str, ...]) -> None:
    directory = history_directory(tmp_path / "data", seed)
    assert export([str(directory), "--output", str(tmp_path / "out"), *options]) == 0
    assert exported(tmp_path / "out") == records_of(directory / "t-0")
    assert (tmp_path / "out" / "_SUCCESS").exists()
    if options == SMALL_SPLITS:
        assert len(list((tmp_path / "out").rglob("*.parquet"))) > 5


def test_every_day_has_its_directory_and_records_without_time_have_one(tmp_path: Path) -> None:
    times = [0, -1, DAY_MS - 1, DAY_MS, 20_000 * DAY_MS, 0, 253_402_300_800_000, 1 << 61]
    directory = one_partition(tmp_path / "data", [Record(i, time, b"k", b"v", []) for i, time in enumerate(times)])
    assert export([str(directory), "--output", str(tmp_path / "out")]) == 0
    days = {path.name: len(list(path.iterdir())) for path in (tmp_path / "out" / "topic=t").iterdir()}
    no_date = "date=__HIVE_DEFAULT_PARTITION__"
    assert days == {"date=1970-01-01": 1, "date=1970-01-02": 1, "date=2024-10-04": 1, no_date: 1}
    table = dataset.dataset(tmp_path / "out", partitioning="hive", exclude_invalid_files=False).to_table()
    assert sorted(table.column("offset").to_pylist()) == list(range(len(times)))
    assert set(table.column("topic").to_pylist()) == {"t"}


def test_days_without_order_stay_within_the_limits(tmp_path: Path) -> None:
    rng = random.Random(5)
    records = [Record(i, rng.randrange(10) * DAY_MS, b"k", rng.randbytes(50), []) for i in range(300)]
    schema = arrow_schema(COLUMNS)
    limits = {"most_open_files": 3, "most_waiting_bytes": 2000}
    with DayFiles(tmp_path / "topic=t", "part-0", schema, "snappy", **limits) as files:
        for start in range(0, len(records), 7):
            files.add(rows_of(records[start : start + 7], schema))
        count = files.close()
    assert count == len(list(tmp_path.rglob("*.parquet"))) > 10
    assert exported(tmp_path) == records


def rows_of(records: list[Record], schema: Any) -> Any:
    rows = [
        {
            "key": record.key,
            "value": record.value,
            "partition": 0,
            "offset": record.offset,
            "timestamp": record.timestamp * 1000,
            "timestampType": 0,
        }
        for record in records
    ]
    return pa.RecordBatch.from_pylist([{name: row.get(name) for name in schema.names} for row in rows], schema)


def test_read_committed_leaves_out_what_was_aborted(tmp_path: Path) -> None:
    directory = history_directory(tmp_path / "data", 2)
    assert export([str(directory), "--output", str(tmp_path / "out"), "--isolation", "read_committed"]) == 0
    everything = records_of(directory / "t-0")
    committed = exported(tmp_path / "out")
    assert committed == committed_records(directory / "t-0")
    assert 0 < len(committed) < len(everything)


def committed_records(partition: Path) -> list[Record]:
    """The committed records by the markers in the log, not by the index: without those before an abort marker."""
    waiting: dict[int, list[Record]] = {}
    kept: list[Record] = []
    for path in sorted(partition.glob("*.log")):
        data = path.read_bytes()
        for position, header in iterate_headers(data):
            if header.is_control:
                is_commit = data[position + 61 :].find(b"\x00\x00\x00\x01") == 5
                records = waiting.pop(header.producer_id, [])
                kept += records if is_commit else []
            elif header.is_transactional:
                waiting.setdefault(header.producer_id, []).extend(decode_records(data, header, position))
            else:
                kept += decode_records(data, header, position)
    return sorted(kept)


def test_bounds_by_offset_and_by_time(tmp_path: Path) -> None:
    times = [1000 * i for i in range(50)]
    directory = one_partition(tmp_path / "data", [Record(i, time, b"k", b"v", []) for i, time in enumerate(times)])
    offsets = ["--from-offsets", '{"t": {"0": 10}}', "--to-offsets", '{"t": {"0": 20}}']
    assert export([str(directory), "--output", str(tmp_path / "a"), *offsets]) == 0
    assert [record.offset for record in exported(tmp_path / "a")] == list(range(10, 20))
    bounds = ["--from-time", "1970-01-01T00:00:30", "--to-time", "40000"]
    assert export([str(directory), "--output", str(tmp_path / "b"), *bounds]) == 0
    assert [record.offset for record in exported(tmp_path / "b")] == list(range(30, 40))


def test_damage_is_named_and_counted_and_all_else_is_exported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    directory = history_directory(tmp_path / "data")
    before = records_of(directory / "t-0")
    path, position = flip_a_byte(directory)
    data = path.read_bytes()
    lost = next(header for place, header in iterate_headers(data) if place == position)
    assert export([str(directory), "--output", str(tmp_path / "out"), "--json"]) == 2
    out, err = capsys.readouterr()
    assert json.loads(out)["damaged"] == 1
    assert f"batch-crc-mismatch: {path}" in err
    expected = [record for record in before if not lost.base_offset <= record.offset <= lost.last_offset]
    assert exported(tmp_path / "out") == expected


def test_an_output_that_is_not_empty_is_refused_unless_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    directory = history_directory(tmp_path / "data", steps=30)
    output = tmp_path / "out"
    assert export([str(directory), "--output", str(output)]) == 0
    (output / "mine.txt").write_text("mine")
    assert export([str(directory), "--output", str(output)]) == 3
    assert "is not empty" in capsys.readouterr().err
    assert export([str(directory), "--output", str(output), "--overwrite", *SMALL_SPLITS]) == 0
    assert exported(output) == records_of(directory / "t-0")
    assert (output / "mine.txt").read_text() == "mine"


@pytest.mark.parametrize("engine", ["local", pytest.param("spark", marks=pytest.mark.java)])
def test_a_directory_that_is_named_twice_is_exported_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], engine: str
) -> None:
    directory = history_directory(tmp_path / "data", steps=30)
    directories = [str(directory), f"{directory}/", str(tmp_path / "d*")]
    assert export([*directories, "--output", str(tmp_path / "out"), "--json", "--engine", engine]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["rows"] == len(exported(tmp_path / "out")) == len(records_of(directory / "t-0"))


def test_wrong_arguments_are_refused_in_a_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    directory = history_directory(tmp_path / "data", steps=30)
    shutil.copytree(directory, tmp_path / "replica")
    output = ["--output", str(tmp_path / "out")]
    assert export([str(tmp_path / "none"), *output]) == 3
    assert export([str(directory), *output, "--from-offsets", "many"]) == 3
    assert export([str(directory), *output, "--topic", "t", "--topic", "orderz"]) == 3
    assert export([str(directory), str(tmp_path / "replica"), *output, "--engine", "local"]) == 3
    errors = capsys.readouterr().err.splitlines()
    assert len(errors) == 4
    assert errors[1].startswith("odradek export: --from-offsets must be ")
    assert errors[2] == f"odradek export: no partition of orderz in {directory}"
    assert "t-0 is in" in errors[3]
    assert not (tmp_path / "out").exists()


def test_a_task_that_runs_again_doubles_nothing_and_one_that_fails_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = history_directory(tmp_path / "data")
    [partition] = find_partitions(directory)
    splits = list(plan_partition(directory, partition, 0, 1 << 62, 3000))
    tasks = [ExportTask(split, tmp_path / "out", "snappy", is_committed_only=False) for split in splits]
    done = [export_split(task) for task in [*tasks, *tasks]]
    assert done[: len(tasks)] == done[len(tasks) :]
    assert exported(tmp_path / "out") == records_of(directory / "t-0")

    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(DayFiles, "close", full)
    with pytest.raises(OutputFaultError, match=r"the output .*/other can't be written: errno 28 \(ENOSPC\)"):
        export_split(ExportTask(splits[0], tmp_path / "other", "snappy", is_committed_only=False))
    assert not [path for path in (tmp_path / "other").rglob("*") if path.is_file()]


@pytest.mark.ci
def test_spark_exports_the_same_and_reads_it(tmp_path: Path, spark: SparkSession) -> None:
    rng = random.Random(4)
    root = tmp_path / "data"
    for name in ("t-0", "t-1", "other-0"):
        writer = HistoryWriter(rng, root / name, keys=50)
        writer.write(60)
        writer.close()
    (root / "meta.properties").write_text("version=1\n")
    for engine in ("local", "spark"):
        output = str(tmp_path / engine)
        assert export([str(root), "--output", output, "--engine", engine, "--split-bytes", "30000"]) == 0
    assert relative_files(tmp_path / "local") == relative_files(tmp_path / "spark")
    for topic, partition in (("t", 0), ("t", 1), ("other", 0)):
        rows = exported(tmp_path / "spark", topic, partition)
        assert rows == exported(tmp_path / "local", topic, partition) == records_of(root / f"{topic}-{partition}")
    columns = ["key", "value", "topic", "partition", "offset", "timestamp", "timestampType", "headers"]
    read = spark.read.parquet(str(tmp_path / "spark")).select(columns)
    logs = spark.read.format("kafkalog").option("includeHeaders", "true").load(str(root)).select(columns)
    assert [field.dataType for field in read.schema] == [field.dataType for field in logs.schema]
    assert sorted(map(str, read.collect())) == sorted(map(str, logs.collect()))


def relative_files(root: Path) -> list[str]:
    return sorted(str(path.relative_to(root)) for path in root.rglob("*.parquet"))
