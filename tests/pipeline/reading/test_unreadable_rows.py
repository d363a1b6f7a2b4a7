"""Unreadable files and directories: a row in PERMISSIVE, an error in FAILFAST, a message in an export."""

import errno
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from odradek.pipeline.directories import file_access, log_directories
from odradek.pipeline.directories.file_access import FileEntry, list_steadily
from odradek.pipeline.export.command import export
from odradek.pipeline.reading.split_reader import CorruptLogError
from odradek.storage.files.regular_files import open_regular
from support.data.log_directories import history_directory
from support.disks.odd_files import ODD

from ..kafkalog_reading import batch_reader, data_records, offsets_of, read_rows, rows_of, stream_reader

SLOW = pytest.mark.ci
"""Each case reads the directory several times; `make test` runs one of each kind."""
NAMES = ("partition", "offset", "_corrupt_record")
Break = Callable[[Path, pytest.MonkeyPatch], str]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log directory, written once."""
    return history_directory(tmp_path_factory.mktemp("written"), steps=120)


@pytest.fixture
def directory(tmp_path: Path, written: Path) -> Path:
    """Partition t-0 with several segments that have records."""
    return shutil.copytree(written, tmp_path / "logs")


@pytest.fixture
def two(directory: Path, written: Path) -> Path:
    """The same directory with a partition t-1."""
    shutil.copytree(written / "t-0", directory / "t-1")
    return directory


def first_log(directory: Path) -> Path:
    return sorted(path for path in (directory / "t-0").glob("*.log") if path.stat().st_size)[0]


def later_offsets(directory: Path) -> list[int]:
    """The offsets of the records after the first segment."""
    logs = sorted((directory / "t-0").glob("*.log"))
    return [one.offset for one in data_records(directory / "t-0") if one.offset >= int(logs[1].stem)]


def refused_open(code: int) -> Break:
    def refuse(path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
        def opening(asked: Path, *, follows_links: bool) -> int:
            if asked == path:
                raise OSError(code, os.strerror(code), str(asked))
            return open_regular(asked, follows_links=follows_links)

        monkeypatch.setattr(file_access, "open_regular", opening)
        return errno.errorcode[code]

    return refuse


def refused_read(path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    inode, real = path.stat().st_ino, file_access._LocalFile.read

    def read(self: file_access._LocalFile, position: int, size: int) -> bytes:
        if os.fstat(self.descriptor).st_ino == inode:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return real(self, position, size)

    monkeypatch.setattr(file_access._LocalFile, "read", read)
    return "EIO"


def odd_file(kind: str) -> Break:
    def put(path: Path, _: pytest.MonkeyPatch) -> str:
        path.unlink()
        make, symbol = ODD[kind]
        make(path)
        return symbol

    return put


BREAKS: dict[str, Break] = {
    "open-EACCES": refused_open(errno.EACCES),
    "open-EIO": refused_open(errno.EIO),
    "read-EIO": refused_read,
    **{kind: odd_file(kind) for kind in ODD},
}


@pytest.mark.parametrize(
    ("broken", "is_after_the_plan"),
    [
        ("read-EIO", True),
        ("fifo", False),
        pytest.param("open-EACCES", False, marks=SLOW),
        *(pytest.param(broken, True, marks=SLOW) for broken in BREAKS if broken != "read-EIO"),
    ],
)
def test_a_segment(directory: Path, monkeypatch: pytest.MonkeyPatch, broken: str, *, is_after_the_plan: bool) -> None:
    path, later = first_log(directory), later_offsets(directory)
    reader = batch_reader(directory, *NAMES)
    tasks = list(reader.partitions()) if is_after_the_plan else []
    symbol = BREAKS[broken](path, monkeypatch)
    tasks = tasks or list(reader.partitions())
    rows = rows_of(reader, tasks)
    assert offsets_of([row for row in rows if row["_corrupt_record"] is None]) == later
    texts = {row["_corrupt_record"] for row in rows if row["_corrupt_record"] is not None}
    assert texts
    assert all(text.startswith(f"file-unreadable: {path}: ") and symbol in text for text in texts), texts
    assert offsets_of(read_rows(directory, "offset", mode="DROPMALFORMED")) == later
    with pytest.raises(CorruptLogError, match=f"file-unreadable: {path}: .*{symbol}"):
        read_rows(directory, "offset", mode="FAILFAST")


@pytest.mark.parametrize(
    "broken", ["fifo", pytest.param("open-EACCES", marks=SLOW), pytest.param("read-EIO", marks=SLOW)]
)
def test_an_export_goes_on_and_exits_with_2(
    directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], broken: str
) -> None:
    path, later = first_log(directory), later_offsets(directory)
    symbol = BREAKS[broken](path, monkeypatch)
    assert export([str(directory), "--output", str(tmp_path / "out")]) == 2
    said = capsys.readouterr()
    assert f"odradek export: not exported: file-unreadable: {path}: " in said.err
    assert symbol in said.err
    assert f"t-0: {len(later)} records" in said.out


INDEXES = {".timeindex": {"startingTimestamp": "1"}, ".snapshot": {"isolation": "read_committed"}, ".index": {}}


@pytest.mark.parametrize(
    ("suffix", "odd"),
    [
        pytest.param(suffix, odd, marks=() if (suffix, odd) == (".snapshot", "out") else SLOW)
        for suffix in INDEXES
        for odd in ("fifo", "out")
    ],
)
def test_an_index_that_is_no_file_changes_no_row(directory: Path, odd: str, suffix: str) -> None:
    options = INDEXES[suffix] | {"maxPartitionBytes": "1000"}
    expected = read_rows(directory, *NAMES, **options)
    paths = sorted((directory / "t-0").glob(f"*{suffix}"))
    assert paths
    for path in paths:
        path.unlink()
        (directory.parent / "outside.log").unlink(missing_ok=True)
        ODD[odd][0](path)
    assert read_rows(directory, *NAMES, **options) == expected


@pytest.mark.parametrize("odd", ["fifo", "out"])
def test_a_transaction_index_that_is_no_file_is_named(directory: Path, odd: str) -> None:
    path = first_log(directory).with_suffix(".txnindex")
    path.unlink(missing_ok=True)
    make, symbol = ODD[odd]
    make(path)
    rows = read_rows(directory, *NAMES, isolation="read_committed")
    texts = {row["_corrupt_record"] for row in rows if row["_corrupt_record"] is not None}
    assert all(text.startswith(f"file-unreadable: {path}: ") and symbol in text for text in texts)
    assert texts


def unlistable(kind: str, partition: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    if kind == "link":
        partition.rename(partition.parent.parent / "elsewhere")
        partition.symlink_to(partition.parent.parent / "elsewhere")
        return "a symbolic link"

    def listing(path: Path) -> tuple[list[FileEntry], bool]:
        if path == partition:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return list_steadily(path)

    monkeypatch.setattr(log_directories, "list_steadily", listing)
    return "EACCES"


@pytest.mark.parametrize("kind", ["link", pytest.param("EACCES", marks=SLOW)])
def test_a_partition_that_can_not_be_listed_is_named(
    two: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    directory = two
    whole = read_rows(directory, *NAMES)
    why = unlistable(kind, directory / "t-0", monkeypatch)
    rows = read_rows(directory, *NAMES)
    assert [row for row in rows if row["_corrupt_record"] is None] == [row for row in whole if row["partition"] == 1]
    [named] = [row for row in rows if row["_corrupt_record"] is not None]
    assert (named["partition"], named["offset"]) == (0, None)
    assert named["_corrupt_record"].startswith(f"file-unreadable: {directory / 't-0'}: ")
    assert why in named["_corrupt_record"]
    assert len(read_rows(directory, "offset", mode="DROPMALFORMED")) == len(rows) - 1
    with pytest.raises(CorruptLogError, match=f"file-unreadable: {directory / 't-0'}: .*{why}"):
        read_rows(directory, "offset", mode="FAILFAST")
    assert export([str(directory), "--output", str(tmp_path / "out")]) == 2
    assert f"odradek export: not exported: {named['_corrupt_record']}" in capsys.readouterr().err


@pytest.mark.parametrize("broken", ["fifo", pytest.param("open-EACCES", marks=SLOW), pytest.param("loop", marks=SLOW)])
def test_a_stream_goes_on_with_what_it_can_read(two: Path, monkeypatch: pytest.MonkeyPatch, broken: str) -> None:
    directory = two
    active = sorted((directory / "t-0").glob("*.log"))[-1]
    BREAKS[broken](active, monkeypatch)
    reader = stream_reader(directory, *NAMES, startingOffsets="earliest")
    start = reader.initialOffset()
    assert set(start["t"]) == {"1"}
    end: dict[str, Any] = reader.reportLatestOffset()
    rows = rows_of(reader, list(reader.partitions(start, end)))
    assert {row["partition"] for row in rows if row["_corrupt_record"] is None} == {1}
    [text] = [row["_corrupt_record"] for row in rows if row["_corrupt_record"] is not None]
    assert text.startswith(f"file-unreadable: {active}: ")
    with pytest.raises(CorruptLogError, match=f"file-unreadable: {active}: "):
        stream_reader(directory, "offset", mode="FAILFAST", startingOffsets="earliest").initialOffset()
