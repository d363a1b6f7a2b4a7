"""Random logs: what a broker serves after its next start is what `kafkalog` reads, in batches and as a stream.

Producers with and without transactions, aborted and open ones, deleted records, compaction, clean stops, kills, torn
tails, lost indexes.
"""

import random
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable

from odradek.pipeline.compact.command import compact
from odradek.storage.files.checkpoints import (
    LOG_START_OFFSET_CHECKPOINT,
    REPLICATION_OFFSET_CHECKPOINT,
    write_offset_checkpoint,
)
from odradek.storage.files.files import Files
from odradek.storage.log.log import Log
from odradek.storage.log.log_config import LogConfig
from support.data.log_histories import HISTORY_START_MS, HistoryWriter

from ..consumed_log import ConsumedRecord, consumed
from ..kafkalog_reading import read_rows, rows_of, stream_reader

SEEDS = 40
CONFIG = LogConfig(index_interval_bytes=200)
DAY_MS = 24 * 3_600_000
COLUMNS = ("offset", "key", "value", "_corrupt_record")


class Life:
    """A log directory with one partition, after a random life. ``did``: in words, for a failure."""

    def __init__(self, seed: int, root: Path) -> None:
        self.rng = random.Random(seed)
        self.root = root
        self.did: list[str] = []
        self.start = 0
        self.is_clean = True
        self._write()
        for step in (self._compact, self._lose_indexes, self._tear, self._delete_records):
            if self.rng.random() < 0.4:
                step()

    @property
    def partition(self) -> Path:
        """The partition's directory."""
        return self.root / "t-0"

    def _write(self) -> None:
        writer = HistoryWriter(self.rng, self.partition, config=CONFIG, keys=self.rng.choice((3, 20)))
        writer.write(self.rng.choice((5, 40, 120)))
        if self.rng.random() < 0.4:
            self.did.append("an open transaction")
            writer._append(201, is_transactional=True)
            writer._append(-1, is_transactional=False)
            if self.rng.random() < 0.5:
                writer.roll()
                writer._append(202, is_transactional=True)
                writer._end(202)
        self.end = writer.log.log_end_offset
        self.is_clean = self.rng.random() < 0.6
        self.did.append("a clean stop" if self.is_clean else "a kill")
        writer.close() if self.is_clean else writer.log.abort()
        (self.root / "meta.properties").write_text("version=1\n")
        write_offset_checkpoint(Files(), self.root / REPLICATION_OFFSET_CHECKPOINT, {("t", 0): self.end})

    def _compact(self) -> None:
        configs = ["--topic", "t", "--config", "cleanup.policy=compact", "--now", str(HISTORY_START_MS + 2 * DAY_MS)]
        assert compact([str(self.root), *configs]) == 0
        self.did.append("a compaction")

    def _delete_records(self) -> None:
        with self._started(self.root.with_name("deleting")) as log:
            self.start = self.rng.randrange(log.log_end_offset + 1)
        write_offset_checkpoint(Files(), self.root / LOG_START_OFFSET_CHECKPOINT, {("t", 0): self.start})
        self.did.append(f"DeleteRecords up to {self.start}")

    def _lose_indexes(self) -> None:
        for path in [*self.partition.glob("*.index"), *self.partition.glob("*.timeindex")]:
            if self.rng.random() < 0.5:
                path.unlink()
        self.did.append("indexes were lost")

    def _tear(self) -> None:
        if self.is_clean:
            return
        last = max(self.partition.glob("*.log"))
        size = last.stat().st_size
        kept = size - self.rng.randrange(min(size, 300) + 1)
        with last.open("r+b") as file:
            file.truncate(kept)
        self.did.append(f"{last.name} was cut from {size} to {kept} bytes")

    def served(self, target: Path) -> dict[str, list[ConsumedRecord]]:
        """The records that the next start serves, for each isolation level."""
        with self._started(target) as log:
            return {
                "read_uncommitted": consumed(log, is_committed=False),
                "read_committed": consumed(log, is_committed=True),
            }

    @contextmanager
    def _started(self, target: Path) -> Iterator[Log]:
        """A copy of the log after the next start."""
        copy = Path(shutil.copytree(self.partition, target / "t-0"))
        log = Log.open(copy, CONFIG, now_ms=HISTORY_START_MS, clean_shutdown=self.is_clean, log_start_offset=self.start)
        yield log
        log.abort()


def in_rows(rows: list[dict[str, Any]]) -> list[ConsumedRecord]:
    faults = {row["_corrupt_record"] for row in rows if row["_corrupt_record"]}
    assert not faults
    return [ConsumedRecord(row["offset"], row["key"], row["value"]) for row in rows]


@pytest.mark.parametrize("seed", range(SEEDS))
def test_a_random_log_is_read_as_it_is_served(seed: int, tmp_path: Path) -> None:
    life = Life(seed, tmp_path / "logs")
    for isolation, expected in life.served(tmp_path / "started").items():
        for split_bytes in (1 << 30, 400):
            rows = read_rows(life.root, *COLUMNS, isolation=isolation, maxPartitionBytes=split_bytes)
            assert in_rows(rows) == expected, (isolation, split_bytes, life.did)
        reader = stream_reader(life.root, *COLUMNS, isolation=isolation, startingOffsets="earliest")
        begin = reader.initialOffset()
        end = reader.latestOffset(begin, ReadAllAvailable())
        assert in_rows(rows_of(reader, list(reader.partitions(begin, end)))) == expected, (isolation, life.did)


@pytest.mark.parametrize("seed", range(5))
def test_a_stream_beside_a_writer_gets_what_is_committed(seed: int, tmp_path: Path) -> None:
    """The transaction index of the active segment is in the writer's memory: it has synced nothing."""
    rng = random.Random(seed)
    writer = HistoryWriter(rng, tmp_path / "logs" / "t-0", config=CONFIG, is_rolling=False)
    (tmp_path / "logs" / "meta.properties").write_text("version=1\n")
    reader = stream_reader(tmp_path / "logs", *COLUMNS, isolation="read_committed", startingOffsets="earliest")
    found: list[ConsumedRecord] = []
    begin: Any = None
    for step in range(8):
        writer.write(10)
        if step == 4:
            writer.roll()
        writer._append(204, is_transactional=True)
        writer._append(-1, is_transactional=False)
        if step != 7 and rng.random() < 0.7:
            writer._end(204)
        begin = reader.initialOffset() if begin is None else begin
        end = reader.latestOffset(begin, ReadAllAvailable())
        found += in_rows(rows_of(reader, list(reader.partitions(begin, end))))
        batch = read_rows(tmp_path / "logs", *COLUMNS, isolation="read_committed")
        assert found == in_rows(batch) == consumed(writer.log, is_committed=True), step
        begin = end
    writer.close()
