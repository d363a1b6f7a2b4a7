"""Log directories under URLs: the same partitions, records and exports as from the local disk."""

from collections.abc import Iterator
from pathlib import Path

import fsspec
import pyarrow.dataset as dataset
import pytest

from odradek.pipeline.decode.batch_table import BatchTable
from odradek.pipeline.decode.damage import Damage
from odradek.pipeline.decode.records import decode_chunk
from odradek.pipeline.decode.segment_chunks import read_chunks
from odradek.pipeline.directories.file_access import ObjectsMissingError, list_directory, open_ranges, path_of
from odradek.pipeline.directories.log_directories import LogDirectoryError, find_partitions
from odradek.pipeline.directories.segment_files import indexed_positions
from odradek.pipeline.export.command import export
from odradek.pipeline.reading.options import Mode, Pruning, parse_options
from odradek.pipeline.reading.split_reader import Reading, read_split
from odradek.pipeline.reading.splits import plan_records
from support.data.log_directories import flip_a_byte, history_directory

from ..object_storage import upload

NAMES = ("topic", "partition", "offset", "timestamp", "key", "value", "_corrupt_record")


@pytest.fixture
def memory() -> Iterator[str]:
    """The URL of a directory in fsspec's file system in memory."""
    yield "memory://odradek/data"
    fsspec.filesystem("memory").rm("/odradek", recursive=True)


def decoded(path: Path) -> list[object]:
    rows: list[object] = []
    for chunk in read_chunks(path, chunk_bytes=20_000):
        assert isinstance(chunk, BatchTable)
        for item in decode_chunk(chunk, ~chunk.is_control):
            assert not isinstance(item, Damage)
            rows += item.columns.to_pylist()
    return rows


def source_rows(directory: str, isolation: str, split_bytes: int = 3000) -> list[object]:
    """The rows that the data source's tasks read, in this process."""
    options = parse_options({"path": directory, "isolation": isolation, "maxPartitionBytes": str(split_bytes)})
    reading = Reading(NAMES, Mode.PERMISSIVE, options.is_committed_only)
    return [
        row
        for portion in plan_records(options, Pruning()).tasks
        for split in portion
        for batch in read_split(split, reading)
        for row in batch.to_pylist()
    ]


def check_equal_reading(directory: Path, url: str, scratch: Path, split_bytes: int = 3000) -> None:
    """Asserts that all readers find the same under the URL as in the directory."""
    [local] = find_partitions(directory)
    [remote] = find_partitions(path_of(url))
    assert [(found.base_offset, found.size) for found in remote.segments] == [
        (found.base_offset, found.size) for found in local.segments
    ]
    for here, there in zip(local.segments, remote.segments, strict=True):
        assert indexed_positions(here) == indexed_positions(there)
        assert decoded(here.path) == decoded(there.path)
    for isolation in ("read_uncommitted", "read_committed"):
        rows = source_rows(url, isolation, split_bytes)
        assert len(rows) > 50
        assert str(rows).replace(url, str(directory)) == str(source_rows(str(directory), isolation, split_bytes))
        tables = []
        for name, source in (("local", str(directory)), ("remote", url)):
            output = scratch / f"{name}-{isolation}"
            assert export([source, "--output", str(output), "--engine", "local", "--isolation", isolation]) == 0
            table = dataset.dataset(output, partitioning="hive", exclude_invalid_files=False).to_table()
            tables.append(table.sort_by("offset"))
        assert tables[0].equals(tables[1])


def test_a_directory_in_memory_reads_as_the_local_one(tmp_path: Path, memory: str) -> None:
    directory = history_directory(tmp_path / "data")
    upload(directory, memory)
    check_equal_reading(directory, memory, tmp_path)


def test_damage_under_a_url_is_named_by_the_url(tmp_path: Path, memory: str) -> None:
    directory = history_directory(tmp_path / "data")
    path, position = flip_a_byte(directory)
    upload(directory, memory)
    texts = [row["_corrupt_record"] for row in source_rows(memory, "read_uncommitted")]  # type: ignore[index]
    [text] = [text for text in texts if text is not None]
    assert f"{memory}/t-0/{path.name}: the CRC-32C of the batch at {position} " in text


def test_listing_and_ranges_are_those_of_the_files(tmp_path: Path, memory: str) -> None:
    (tmp_path / "data" / "inner").mkdir(parents=True)
    (tmp_path / "data" / "file").write_bytes(b"0123456789")
    (tmp_path / "data" / "inner" / "other").write_bytes(b"")
    upload(tmp_path / "data", memory)
    for directory in (tmp_path / "data", path_of(memory)):
        listed = {entry.name: (entry.size, entry.is_directory) for entry in list_directory(directory)}
        assert listed["file"] == (10, False)
        assert listed["inner"][1]
        with open_ranges(directory / "file") as file:
            assert (file.size, file.read(2, 3), file.read(8, 100)) == (10, b"234", b"89")


def test_what_is_no_directory_or_can_not_be_reached_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(LogDirectoryError, match="memory://odradek-nothing"):
        find_partitions(path_of("memory://odradek-nothing/data"))
    monkeypatch.setitem(__import__("sys").modules, "upath", None)
    with pytest.raises(ObjectsMissingError, match="the extra 'objects'"):
        path_of("memory://anything")
    assert path_of(str(tmp_path)) == tmp_path


@pytest.mark.ci
@pytest.mark.usefixtures("s3_server")
def test_a_bucket_of_an_s3_server_reads_as_the_local_directory(tmp_path: Path) -> None:
    system = fsspec.filesystem("s3", skip_instance_cache=True)
    system.mkdir("volumes")
    directory = history_directory(tmp_path / "data", steps=60)
    upload(directory, "s3://volumes/broker-1/data")
    check_equal_reading(directory, "s3://volumes/broker-1/data", tmp_path, split_bytes=10_000)
