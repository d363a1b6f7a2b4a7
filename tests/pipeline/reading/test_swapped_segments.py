"""Reads while the cleaner exchanges files, one rename at a time: between list and stat, and between stat and open."""

import os
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from odradek.pipeline.directories import file_access
from odradek.protocol.records.control import ControlRecordType
from odradek.storage.log.log_config import LogConfig
from support.data.log_histories import HistoryWriter

from ..changed_while_read import changed_while_read
from ..kafkalog_reading import batch_reader, offsets_of, rows_of, stream_reader
from ..transactional_writer import TransactionWriter

COLUMNS = ("offset", "value", "_corrupt_record")
SEGMENTS, BATCHES = 3, 8
ALL = list(range(SEGMENTS * BATCHES))


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_access, "sleep", lambda _: None)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """t-0 of three segments of eight batches of different sizes, each in the offset index, and an empty active one."""
    writer = HistoryWriter(random.Random(1), tmp_path / "t-0", config=LogConfig(index_interval_bytes=1))
    for offset in ALL:
        writer.append_records([(b"k", b"%d " % offset * (offset % 5 + 1))])
        if offset % BATCHES == BATCHES - 1:
            writer.roll()
    writer.close()
    return tmp_path


def segments(root: Path) -> list[Path]:
    return sorted((root / "t-0").glob("*.log"))


def swapped(log: Path) -> Path:
    """The log as `.swap`: the cleaner has renamed the old log, but not yet this one."""
    return log.rename(log.with_name(log.name + ".swap"))


def assert_all(rows: list[dict[str, object]]) -> None:
    assert [row["_corrupt_record"] for row in rows if row["_corrupt_record"] is not None] == []
    assert sorted(offsets_of(rows)) == ALL


def when_looked_at(path: Path, change: Callable[[], object], monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls `change` once, after the directory was listed and before the status of the entry is read."""
    inner = vars(file_access)["_entry"]
    changes = [change]

    def entry(found: "os.DirEntry[str]") -> file_access.FileEntry:
        if found.name == path.name and changes:
            changes.pop()()
        return inner(found)  # type: ignore[no-any-return]

    monkeypatch.setattr(file_access, "_entry", entry)


@pytest.mark.parametrize("index", range(SEGMENTS))
def test_a_swap_ends_between_the_names_and_the_sizes(root: Path, index: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The listing has the segment under neither name."""
    log = segments(root)[index]
    swap = swapped(log)
    when_looked_at(swap, lambda: swap.rename(log), monkeypatch)
    reader = batch_reader(root, *COLUMNS)
    assert_all(rows_of(reader, list(reader.partitions())))
    assert log.exists()


def test_a_swap_begins_between_the_names_and_the_sizes(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = segments(root)[1]
    cleaned = log.with_name(log.name + ".cleaned")
    cleaned.write_bytes(log.read_bytes())

    def begin() -> None:
        cleaned.rename(log.with_name(log.name + ".swap"))
        log.rename(log.with_name(log.name + ".deleted"))

    when_looked_at(log, begin, monkeypatch)
    monkeypatch.setattr(file_access, "sleep", lambda _: log.with_name(log.name + ".swap").rename(log))
    reader = batch_reader(root, *COLUMNS)
    assert_all(rows_of(reader, list(reader.partitions())))


@pytest.mark.parametrize("index", range(SEGMENTS))
def test_a_stream_waits_for_a_swap(root: Path, index: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the micro-batch would skip the segment or report its offsets as lost, and commit its end."""
    log = segments(root)[index]
    reader = stream_reader(root, *COLUMNS)
    reader.initialOffset()
    swap = swapped(log)
    monkeypatch.setattr(file_access, "sleep", lambda _: swap.rename(log))
    assert_all(rows_of(reader, list(reader.partitions({"t": {"0": 0}}, {"t": {"0": len(ALL)}}))))
    assert not swap.exists()


def test_a_file_is_replaced_between_the_look_and_the_open(root: Path) -> None:
    """Positions in the old file are not positions in the new one, in which batches are larger here."""
    log = segments(root)[1]
    reader = batch_reader(root, *COLUMNS, maxPartitionBytes=200)
    tasks = list(reader.partitions())
    assert len(tasks) > SEGMENTS, "the segment is to be read from its middle"
    other = root / "other"
    writer = HistoryWriter(random.Random(2), other / "t-0")
    for offset in ALL[: 2 * BATCHES]:
        writer.append_records([(b"k", b"%d " % offset * 40)])
        if offset % BATCHES == BATCHES - 1:
            writer.roll()
    writer.close()

    def replace() -> None:
        log.rename(log.with_name(log.name + ".deleted"))
        (other / "t-0" / log.name).rename(log)
        log.with_name(log.name + ".deleted").unlink()

    with changed_while_read(log, replace):
        assert_all(rows_of(reader, tasks))


@pytest.mark.parametrize("step", ["log", "index"])
def test_aborted_records_stay_hidden_while_their_index_is_swapped(
    tmp_path: Path, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log gets its final name before its transaction index."""
    writer = TransactionWriter(random.Random(1), tmp_path / "t-0")
    writer.data(7)  # 0, aborted
    writer.data()  # 1
    writer.end(7, ControlRecordType.ABORT)  # 2
    writer.roll()
    writer.data()  # 3
    writer.close()
    index = segments(tmp_path)[0].with_suffix(".txnindex")
    reader = batch_reader(tmp_path, "offset", "_corrupt_record", isolation="read_committed")
    tasks = list(reader.partitions())
    swap = swapped(index)
    if step == "log":
        monkeypatch.setattr(file_access, "sleep", lambda _: swap.rename(index))
    else:
        when_looked_at(swap, lambda: swap.rename(index), monkeypatch)
    assert offsets_of(rows_of(reader, tasks)) == [1, 3]
