"""Records below the log start offset are in the files, but no consumer gets them: nor do export, kafkalog, audit."""

import json
import random
from pathlib import Path
from typing import Any

import pyarrow.dataset as dataset
import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable

from odradek.pipeline.audit.job import audit_directories
from odradek.pipeline.engine.engines import LOCAL
from odradek.pipeline.export.command import export
from odradek.pipeline.reading.split_reader import CorruptLogError
from odradek.protocol.records.builder import encode_batch
from odradek.protocol.records.record import Record
from odradek.storage.files.checkpoints import LOG_START_OFFSET_CHECKPOINT, write_offset_checkpoint
from odradek.storage.files.files import Files
from support.data.log_histories import HistoryWriter

from ..kafkalog_reading import offsets_of, read_rows, rows_of, stream_reader

RECORDS_A_BATCH, BATCHES, SEGMENTS = 10, 10, 3
END = RECORDS_A_BATCH * BATCHES * SEGMENTS
INSIDE = [1, 5, 10, 99, 100, 101, 133, 155, 200, 250, END - 1, END]
"""Log starts: inside a batch, between batches, between segments, in the active segment, at the end."""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Three segments of ten batches of ten records; the time of a record rises by a second with each batch."""
    writer = HistoryWriter(random.Random(1), tmp_path / "data" / "t-0")
    for segment in range(SEGMENTS):
        if segment:
            writer.roll()
        for _ in range(BATCHES):
            writer.append_records([(b"k%d" % number, b"v") for number in range(RECORDS_A_BATCH)])
            writer.now_ms += 1000
    assert writer.log.log_end_offset == END
    writer.close()
    (tmp_path / "data" / "meta.properties").write_text("version=1\n")
    return tmp_path / "data"


def delete_records(root: Path, offset: int) -> None:
    write_offset_checkpoint(Files(), root / LOG_START_OFFSET_CHECKPOINT, {("t", 0): offset, ("u", 0): 7})


def exported_offsets(root: Path, output: Path, *options: str) -> list[int]:
    assert export([str(root), "--output", str(output), *options]) == 0
    if not [path for path in output.rglob("*.parquet") if "_state" not in path.parts]:
        return []
    return sorted(dataset.dataset(output).to_table().column("offset").to_pylist())


@pytest.mark.parametrize("start", INSIDE)
def test_a_batch_read_an_export_and_an_audit_begin_at_the_log_start(root: Path, tmp_path: Path, start: int) -> None:
    delete_records(root, start)
    kept = list(range(start, END))
    assert offsets_of(read_rows(root, "offset")) == kept
    assert offsets_of(read_rows(root, "offset", maxPartitionBytes=1)) == kept
    assert offsets_of(read_rows(root / "t-0", "offset")) == kept, "the path of a partition"
    assert exported_offsets(root, tmp_path / "out") == kept
    for level in ("batches", "records"):
        [report] = audit_directories([root], LOCAL, level=level).partitions
        found = (report.log_start_offset, report.log_end_offset, report.records, report.deleted_records)
        assert found == (start, END, END - start, start)


@pytest.mark.parametrize("start", [33, 155])
def test_deleted_records_are_read_on_request(root: Path, tmp_path: Path, start: int) -> None:
    delete_records(root, start)
    everything = list(range(END))
    assert offsets_of(read_rows(root, "offset", includeDeleted="true")) == everything
    assert exported_offsets(root, tmp_path / "out", "--include-deleted") == everything
    reader = stream_reader(root, "offset", startingOffsets="earliest", includeDeleted="true")
    begin = reader.initialOffset()
    assert begin == {"t": {"0": 0}}
    end = reader.latestOffset(begin, ReadAllAvailable())
    assert offsets_of(rows_of(reader, list(reader.partitions(begin, end)))) == everything


def test_bounds_below_the_log_start_mean_the_log_start(root: Path) -> None:
    [*_, eighth] = [row["timestamp"] for row in read_rows(root, "offset", "timestamp")][:80]
    delete_records(root, 133)
    rows = read_rows(root, "offset", startingOffsets='{"t": {"0": 20}}', endingOffsets='{"t": {"0": 140}}')
    assert offsets_of(rows) == list(range(133, 140))
    old = str(int(eighth.timestamp() * 1000))
    assert offsets_of(read_rows(root, "offset", startingTimestamp=old)) == list(range(133, END))
    assert offsets_of(read_rows(root, "offset", endingTimestamp=old)) == []


def test_a_stream_does_not_return_what_was_deleted(root: Path) -> None:
    """Neither from the start, nor after a restart from a checkpoint: it names the offsets that it did not read."""
    delete_records(root, 133)
    reader = stream_reader(root, startingOffsets="earliest")
    begin = reader.initialOffset()
    assert begin == {"t": {"0": 133}}
    end = reader.latestOffset({}, ReadAllAvailable())
    assert offsets_of(rows_of(reader, list(reader.partitions({}, end)))) == list(range(133, END))
    rows = rows_of(reader, list(reader.partitions({"t": {"0": 120}}, end)))
    lost = "offsets-lost: t-0: offsets 120 to 132 were deleted or truncated before they were read"
    assert [row["_corrupt_record"] for row in rows if row["_corrupt_record"]] == [lost]
    assert offsets_of(rows[1:]) == list(range(133, END))
    delete_records(root, END)
    rows = rows_of(reader, list(reader.partitions(end, end)))
    assert (reader.latestOffset(end, ReadAllAvailable()), rows) == (end, [])


def test_a_log_start_beyond_the_log_is_named(root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Consumers get nothing, and the next start of Kafka deletes the log: who exports it must know."""
    delete_records(root, END + 1)
    [row] = read_rows(root)
    assert row["_corrupt_record"].startswith(f"log-start-beyond-log: {root / 't-0'}: ")
    assert (row["topic"], row["partition"], row["offset"]) == ("t", 0, None)
    with pytest.raises(CorruptLogError, match="log-start-beyond-log"):
        read_rows(root, mode="FAILFAST")
    assert export([str(root), "--output", str(tmp_path / "out"), "--json"]) == 2
    out, err = capsys.readouterr()
    assert (json.loads(out)["rows"], json.loads(out)["damaged"]) == (0, 1)
    assert "not exported: log-start-beyond-log" in err
    assert "--include-deleted" in err
    assert exported_offsets(root, tmp_path / "all", "--include-deleted") == list(range(END))


def test_a_checkpoint_that_cannot_be_read_is_named(root: Path, tmp_path: Path) -> None:
    """Kafka does not start with it. Deleted records are read, and a row says why."""
    (root / LOG_START_OFFSET_CHECKPOINT).write_text("0\nmany\n")
    rows = read_rows(root)
    [fault] = [row for row in rows if row["_corrupt_record"]]
    assert fault["_corrupt_record"].startswith(f"checkpoint-unreadable: {root / LOG_START_OFFSET_CHECKPOINT}")
    assert (fault["topic"], fault["partition"]) == (None, None)
    assert sorted(offsets_of([row for row in rows if not row["_corrupt_record"]])) == list(range(END))
    with pytest.raises(CorruptLogError, match="checkpoint-unreadable"):
        read_rows(root, mode="FAILFAST")
    assert export([str(root), "--output", str(tmp_path / "out")]) == 2
    reader: Any = stream_reader(root, startingOffsets="earliest")
    assert reader.initialOffset() == {"t": {"0": 0}}


@pytest.mark.parametrize("start", [0, 1, 4, 5, 6, 19, 20, 25])
def test_an_audit_counts_in_a_batch_with_gaps(tmp_path: Path, start: int) -> None:
    """Compaction leaves gaps; the header of the batch that the log start divides does not tell what is deleted."""
    (tmp_path / "t-0").mkdir()
    (tmp_path / "meta.properties").write_text("version=1\n")
    offsets = [0, 1, 4, 6, 7, 19, 20, 21, 22, 23]
    batches = [
        encode_batch([Record(offset, 1, b"k", b"v", []) for offset in some], base_offset=some[0])
        for some in (offsets[:6], offsets[6:])
    ]
    (tmp_path / "t-0" / f"{0:020d}.log").write_bytes(b"".join(batches))
    delete_records(tmp_path, min(start, 24))
    [report] = audit_directories([tmp_path], LOCAL).partitions
    kept = [offset for offset in offsets if offset >= start]
    assert (report.records, report.deleted_records) == (len(kept), len(offsets) - len(kept))
    assert offsets_of(read_rows(tmp_path, "offset")) == kept
