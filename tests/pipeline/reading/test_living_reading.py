"""The data source and the export on directories that change while they read: no row twice, and none lost."""

import json
import random
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pyarrow.dataset as dataset
import pytest

from odradek.pipeline.directories import file_access
from odradek.pipeline.directories.file_access import MOST_RESTARTS
from odradek.pipeline.export.command import export
from odradek.pipeline.reading.split_reader import CorruptLogError
from odradek.protocol.records.batch import iterate_headers
from odradek.protocol.records.control import ControlRecordType
from support.data.log_histories import HistoryWriter

from ..changed_while_read import changed_while_read
from ..kafkalog_reading import batch_reader, offsets_of, rows_of, stream_reader
from ..transactional_writer import TransactionWriter

SEGMENTS, BATCHES = 4, 6
COLUMNS = ("partition", "offset", "value", "_corrupt_record")


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_access, "sleep", lambda _: None)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Partitions t-0 and t-1 of four segments of six batches of one record, with an empty active segment."""
    for partition in range(2):
        writer = HistoryWriter(random.Random(1), tmp_path / f"logs/t-{partition}")
        for segment in range(SEGMENTS):
            for batch in range(BATCHES):
                writer.append_records([(b"k", b"%d" % (BATCHES * segment + batch))])
            writer.roll()
        writer.close()
    (tmp_path / "logs/meta.properties").write_text("version=1\n")
    return tmp_path / "logs"


ALL = list(range(SEGMENTS * BATCHES))


def segments(root: Path) -> list[Path]:
    return sorted((root / "t-0").glob("*.log"))


def delete_segment(log: Path) -> None:
    """Deletes a segment as retention does after file.delete.delay.ms."""
    for path in log.parent.glob(f"{log.stem}.*"):
        path.unlink()


def keep(log: Path, wanted: Callable[[int], bool]) -> bytes:
    data = log.read_bytes()
    return b"".join(
        data[at : at + header.size_in_bytes] for at, header in iterate_headers(data) if wanted(header.base_offset)
    )


def merge(first: Path, second: Path, wanted: Callable[[int], bool] = lambda _: True) -> None:
    """Merges two segments, as the cleaner does."""
    cleaned = keep(first, wanted) + keep(second, wanted)
    delete_segment(second)
    delete_segment(first)
    first.write_bytes(cleaned)


def values(rows: list[dict[str, Any]], partition: int = 0) -> list[int]:
    """The offsets of the records. Asserts that each has the value of its offset."""
    found = [row for row in rows if row["partition"] == partition and row.get("_corrupt_record") is None]
    assert all(row["value"] == b"%d" % row["offset"] for row in found)
    return offsets_of(found)


def faults(rows: list[dict[str, Any]]) -> list[str]:
    return [row["_corrupt_record"] for row in rows if row.get("_corrupt_record") is not None]


@pytest.mark.parametrize("deleted", [1, pytest.param(2, marks=pytest.mark.ci), pytest.param(3, marks=pytest.mark.ci)])
def test_retention_takes_the_oldest_segments(root: Path, deleted: int) -> None:
    reader = batch_reader(root, *COLUMNS)
    tasks = list(reader.partitions())
    for log in segments(root)[:deleted]:
        delete_segment(log)
    rows = rows_of(reader, tasks)
    assert values(rows) == ALL[BATCHES * deleted :]
    assert values(rows, 1) == ALL
    assert faults(rows) == []


def test_the_cleaner_merges_segments_while_one_is_read(root: Path) -> None:
    first, second, third = segments(root)[:3]
    reader = batch_reader(root, *COLUMNS)
    tasks = list(reader.partitions())
    with changed_while_read(second, lambda: merge(second, third, lambda offset: offset % 4 != 0)) as opened:
        rows = rows_of(reader, tasks)
    assert opened.count(second) > 1
    assert values(rows) == [offset for offset in ALL if offset % 4 or not 6 <= offset < 18]
    assert faults(rows) == []
    assert first.exists()


def test_a_swap_that_is_half_done_is_waited_for(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in Kafka's LocalLog.replaceSegments, old segments lose their names before the new one gets its name."""
    first, second = segments(root)[1:3]
    swap = first.with_name(first.name + ".swap")

    def begin() -> None:
        merged = first.read_bytes() + second.read_bytes()
        delete_segment(first)
        delete_segment(second)
        swap.write_bytes(merged)

    pauses = []

    def pause(_: float) -> None:
        pauses.append(swap.exists())
        if len(pauses) == 2:
            swap.rename(first)

    monkeypatch.setattr("odradek.pipeline.directories.file_access.sleep", pause)
    reader = batch_reader(root, *COLUMNS)
    tasks = list(reader.partitions())
    with changed_while_read(first, begin):
        rows = rows_of(reader, tasks)
    assert values(rows) == ALL
    assert faults(rows) == []
    assert pauses[:2] == [True, True]


def test_a_plan_waits_for_a_swap(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = segments(root)[1]
    swap = log.with_name(log.name + ".swap")
    log.rename(swap)
    assert swap.exists()
    monkeypatch.setattr("odradek.pipeline.directories.file_access.sleep", lambda _: swap.rename(log))
    reader = batch_reader(root, *COLUMNS)
    assert values(rows_of(reader, list(reader.partitions()))) == ALL


@pytest.mark.parametrize("mode", ["PERMISSIVE", "FAILFAST", "DROPMALFORMED"])
def test_a_partition_that_is_gone_is_a_note(root: Path, mode: str) -> None:
    names = COLUMNS if mode == "PERMISSIVE" else COLUMNS[:-1]
    reader = batch_reader(root, *names, mode=mode, startingOffsets='{"t": {"0": 1}}')
    tasks = list(reader.partitions())
    third = segments(root)[2]
    gone = root / "t-0.0123456789abcdef0123456789abcdef-delete"
    with changed_while_read(third, lambda: (root / "t-0").rename(gone)):
        rows = rows_of(reader, tasks)
    assert values(rows) == ALL[1 : 2 * BATCHES]
    assert values(rows, 1) == ALL
    text = f"partition-gone: {root / 't-0'}: the partition was deleted or moved while it was read"
    assert set(faults(rows)) == ({text} if mode == "PERMISSIVE" else set())


def replace(log: Path) -> None:
    """A file that does not exist when it is opened, but exists again when the directory is listed."""
    shutil.copy(log, log.with_suffix(".new"))
    log.unlink()


def test_a_partition_that_never_stands_still_is_read_four_times(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    log = segments(root)[1]

    def back(_: float = 0) -> None:
        if log.with_suffix(".new").exists():
            log.with_suffix(".new").rename(log)

    monkeypatch.setattr("odradek.pipeline.directories.file_access.sleep", back)
    text = f"partition-changing: {root / 't-0'}: files disappeared during each of {MOST_RESTARTS + 1} attempts to read"
    for mode in ("PERMISSIVE", "FAILFAST"):
        reader = batch_reader(root, *(COLUMNS if mode == "PERMISSIVE" else COLUMNS[:-1]), mode=mode)
        tasks = list(reader.partitions())
        with changed_while_read(log, lambda: replace(log), times=100) as opened:
            if mode == "FAILFAST":
                with pytest.raises(CorruptLogError, match=text):
                    rows_of(reader, tasks)
            else:
                rows = rows_of(reader, tasks)
                assert opened.count(log) == MOST_RESTARTS + 1
                assert faults(rows) == [text]
                assert values(rows) == [*ALL[:BATCHES], *ALL[2 * BATCHES :]]
        back()
    with changed_while_read(log, lambda: replace(log), times=100):
        assert export([str(root), "--no-state", "--output", str(tmp_path / "out")]) == 2
    assert f"not exported: {text}" in capsys.readouterr().err


def test_an_export_of_a_changing_directory(root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    second, third = segments(root)[1:3]
    other = root / "t-1"
    changes = {
        second: lambda: merge(second, third),
        other / segments(root)[3].name: lambda: shutil.rmtree(other),
    }
    with ExitStack() as stack:
        for path, change in changes.items():
            stack.enter_context(changed_while_read(path, change))
        assert export([str(root), "--no-state", "--output", str(tmp_path / "out"), "--json"]) == 0
    said = capsys.readouterr()
    note = f"partition-gone: {other}: the partition was deleted or moved while it was read"
    assert said.err == f"odradek export: note: {note}\n"
    assert json.loads(said.out)["notes"] == [note]
    table = dataset.dataset(tmp_path / "out", partitioning="hive", exclude_invalid_files=False).to_table()
    for partition, expected in ((0, ALL), (1, ALL[: 3 * BATCHES])):
        rows = [row for row in table.to_pylist() if row["partition"] == partition]
        assert sorted(row["offset"] for row in rows) == expected
        assert all(row["value"] == b"%d" % row["offset"] for row in rows)


def test_a_stream_names_what_retention_took_after_the_plan(root: Path) -> None:
    reader = stream_reader(root, *COLUMNS)
    reader.initialOffset()
    tasks = list(reader.partitions({"t": {"0": 0, "1": 0}}, {"t": {"0": 20, "1": 20}}))
    delete_segment(segments(root)[0])
    rows = rows_of(reader, tasks)
    assert values(rows) == ALL[BATCHES:20]
    assert faults(rows) == [f"offsets-lost: {root / 't-0'}: retention deleted offsets 0 to 5"]


def test_an_aborted_transaction_stays_hidden_when_its_index_is_merged(tmp_path: Path) -> None:
    writer = TransactionWriter(random.Random(1), tmp_path / "t-0")
    writer.data(7)  # 0, aborted
    writer.data()  # 1
    writer.roll()
    writer.end(7, ControlRecordType.ABORT)  # 2
    writer.data()  # 3
    writer.close()
    first, second = segments(tmp_path)
    index = second.with_suffix(".txnindex")
    reader = batch_reader(tmp_path, "offset", "_corrupt_record", isolation="read_committed")
    tasks = list(reader.partitions())
    with changed_while_read(index, lambda: index.rename(first.with_suffix(".txnindex"))):
        rows = rows_of(reader, tasks)
    assert (offsets_of(rows), faults(rows)) == ([1, 3], [])


def changes_of(rng: random.Random, root: Path, dead: set[int]) -> Iterator[None]:
    """Runs a random step of retention or of the cleaner at each call. `dead` gets the removed offsets."""
    while True:
        found = segments(root)
        if rng.random() < 0.4 and len(found) > 2:
            ends = int(found[1].stem)
            dead.update(range(ends))
            delete_segment(found[0])
        elif len(found) > 3:
            at = rng.randrange(len(found) - 2)
            bounds = int(found[at].stem), int(found[at + 2].stem)
            gone = {offset for offset in range(*bounds) if rng.random() < 0.3}
            dead |= gone
            merge(found[at], found[at + 1], lambda offset, gone=gone: offset not in gone)  # type: ignore[misc]
        yield


@pytest.mark.parametrize("seed", [*range(3), *(pytest.param(seed, marks=pytest.mark.ci) for seed in range(3, 12))])
def test_random_changes(root: Path, seed: int) -> None:
    rng = random.Random(seed)
    dead: set[int] = set()
    steps = changes_of(rng, root, dead)
    reader = batch_reader(root, *COLUMNS, maxPartitionBytes=rng.choice(("100", "1000000")))
    tasks = list(reader.partitions())
    with ExitStack() as stack:
        for log in rng.sample(segments(root)[:-1], rng.randint(1, 3)):
            stack.enter_context(changed_while_read(log, lambda: next(steps), times=rng.randint(1, 2)))
        rows = rows_of(reader, tasks)
    given = values(rows)
    assert len(given) == len(set(given)), f"seed {seed}: a row came twice"
    assert set(ALL) - set(given) <= dead, f"seed {seed}: a row that is still there is lost"
    assert given == sorted(given)
    assert faults(rows) == []
