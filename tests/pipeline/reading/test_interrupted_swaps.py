"""A broker was killed while its cleaner exchanged segments: jobs read what the next start serves, wherever that was.

The next start puts the complete `.swap` files in place. Until then, some old segments may already be gone.
"""

import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.dataset as dataset
import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable

from odradek.pipeline.audit.check import Severity
from odradek.pipeline.audit.job import audit_directories
from odradek.pipeline.compact.command import compact
from odradek.pipeline.directories import file_access
from odradek.pipeline.engine.engines import LOCAL
from odradek.pipeline.export.command import export
from odradek.protocol.records.batch import iterate_headers
from odradek.protocol.records.record import decode_records
from odradek.storage.files.checkpoints import REPLICATION_OFFSET_CHECKPOINT, write_offset_checkpoint
from odradek.storage.files.file_names import SEGMENT_SUFFIXES, base_offset_of
from odradek.storage.files.files import Files
from odradek.storage.log.log import Log
from odradek.storage.log.log_config import LogConfig
from support.data.log_histories import HISTORY_START_MS, HistoryWriter
from support.data.log_model import data_of

from ..kafkalog_reading import read_rows, rows_of, stream_reader

CONFIG = LogConfig(index_interval_bytes=1)
DAY_MS = 24 * 3_600_000
COMPACTION = ["--topic", "t", "--config", "cleanup.policy=compact", "--now", str(HISTORY_START_MS + DAY_MS)]
MERGED: list[str] = []
SINGLE = ["--config", "internal.segment.bytes=2000"]
"""Each old segment gets a new one of its own."""
ALL_OLD = "removed-0"
"""The state with all old segments: jobs read these, although the next start replaces them too."""


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_access, "sleep", lambda _: None)


class Compacted(NamedTuple):
    """A log directory before and after a compaction, with the base offsets of old and new segments."""

    before: Path
    after: Path
    old: list[int]
    new: list[int]


@pytest.fixture(scope="module", params=[(1, MERGED), (2, MERGED), (3, SINGLE)], ids=["1", "2", "3-single"])
def compacted(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Compacted:
    seed, configs = request.param
    root = tmp_path_factory.mktemp("compacted")
    writer = HistoryWriter(random.Random(seed), root / "before" / "t-0", config=CONFIG, is_rolling=False)
    for _ in range(5):
        writer.write(25)
        writer.roll()
    writer.write(5)
    end = writer.log.log_end_offset
    writer.close()
    write_offset_checkpoint(Files(), root / "before" / REPLICATION_OFFSET_CHECKPOINT, {("t", 0): end})
    (root / "before" / "meta.properties").write_text("version=1\n")
    shutil.copytree(root / "before", root / "after")
    assert compact([str(root / "after"), *COMPACTION, *configs]) == 0
    old, new = ({base(path): path for path in (root / one / "t-0").glob("*.log")} for one in ("before", "after"))
    active = max(old)
    return Compacted(root / "before", root / "after", sorted(old.keys() - {active}), sorted(new.keys() - {active}))


def base(path: Path) -> int:
    offset = base_offset_of(path.name)
    assert offset is not None
    return offset


def states(found: Compacted, root: Path) -> Iterator[Path]:
    """The directory after each rename of the exchange: old segments go in order, then the new ones get their names."""
    for removed in range(len(found.old) + 1):
        yield state(found, root / f"removed-{removed}", removed, 0)
    for renamed in range(1, len(found.new)):
        yield state(found, root / f"renamed-{renamed}", len(found.old), renamed)


def state(found: Compacted, target: Path, removed: int, renamed: int) -> Path:
    shutil.copytree(found.before, target)
    for offset in found.old[:removed]:
        for path in files_of(target, offset):
            path.rename(path.with_name(f"{path.name}.deleted"))
    for index, offset in enumerate(found.new):
        for path in files_of(found.after, offset):
            shutil.copy(path, target / "t-0" / (path.name if index < renamed else f"{path.name}.swap"))
    return target


def files_of(root: Path, offset: int) -> list[Path]:
    return [path for suffix in SEGMENT_SUFFIXES if (path := root / "t-0" / f"{offset:020d}{suffix}").exists()]


def after_start(root: Path, tmp_path: Path) -> list[tuple[int, bytes | None, bytes | None]]:
    """The records that a broker serves after its next start."""
    copy = Path(shutil.copytree(root / "t-0", tmp_path / "started" / "t-0"))
    log = Log.open(copy, CONFIG, now_ms=HISTORY_START_MS, clean_shutdown=True)
    found: list[tuple[int, bytes | None, bytes | None]] = []
    offset = log.log_start_offset
    while offset < log.log_end_offset:
        data = data_of(log.read(offset, 1 << 20).data)
        for position, header in iterate_headers(data):
            offset = header.next_offset
            if not header.is_control:
                found += [(one.offset, one.key, one.value) for one in decode_records(data, header, position)]
    log.close()
    shutil.rmtree(copy)
    return found


def in_rows(rows: list[dict[str, Any]]) -> list[tuple[int, bytes | None, bytes | None]]:
    assert [row["_corrupt_record"] for row in rows if row["_corrupt_record"]] == []
    return sorted((row["offset"], row["key"], row["value"]) for row in rows)


def test_jobs_read_what_the_next_start_serves(compacted: Compacted, tmp_path: Path) -> None:
    columns = ("offset", "key", "value", "_corrupt_record")
    everything = after_start(compacted.before, tmp_path)
    is_less = False
    for root in states(compacted, tmp_path):
        expected = everything if root.name == ALL_OLD else after_start(root, tmp_path)
        for split_bytes in (1 << 30, 300):
            assert in_rows(read_rows(root, *columns, maxPartitionBytes=split_bytes)) == expected, root.name
        reader = stream_reader(root, *columns, startingOffsets="earliest")
        begin = reader.initialOffset()
        end = reader.latestOffset(begin, ReadAllAvailable())
        assert in_rows(rows_of(reader, list(reader.partitions(begin, end)))) == expected, root.name
        output = tmp_path / "out" / root.name
        assert export([str(root), "--output", str(output)]) == 0
        table = dataset.dataset(output).to_table(["offset", "key", "value"])
        assert sorted(tuple(row.values()) for row in table.to_pylist()) == expected, root.name
        result = audit_directories([root], LOCAL)
        assert [one for one in result.findings if one.check.severity is not Severity.INFO] == [], root.name
        assert [one.records for one in result.partitions] == [len(expected)], root.name
        is_less |= len(expected) < len(everything)
    assert is_less, "the compaction has removed something"


def test_committed_records_are_those_of_the_next_start(compacted: Compacted, tmp_path: Path) -> None:
    expected = in_rows(
        read_rows(compacted.after, "offset", "key", "value", "_corrupt_record", isolation="read_committed")
    )
    for root in states(compacted, tmp_path):
        if root.name == ALL_OLD:
            continue
        found = read_rows(root, "offset", "key", "value", "_corrupt_record", isolation="read_committed")
        assert in_rows(found) == expected, root.name
