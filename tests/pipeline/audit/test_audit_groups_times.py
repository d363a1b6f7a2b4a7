"""The log end offset at a moment and the timestamp of a record, by the indexes, equal those of a full read."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from odradek.pipeline.audit.groups.log_times import LogLookUps, end_offset_of_epoch, look_up
from odradek.pipeline.directories.log_directories import find_partitions
from odradek.protocol.records.batch import iterate_headers
from odradek.protocol.records.record import Record, iterate_records
from support.data.log_directories import history_directory


def all_records(directory: Path) -> Iterator[tuple[Record, bool]]:
    """All records in order, each with a flag for control records."""
    for path in sorted(directory.glob("*.log")):
        data = path.read_bytes()
        for position, header in iterate_headers(data):
            for record in iterate_records(data, header, position):
                yield record, header.is_control


@pytest.mark.parametrize("seed", range(6))
def test_answers_are_those_of_reading_everything(tmp_path: Path, seed: int) -> None:
    """With several segments and falling timestamps. The first later record ends the log of a moment."""
    rng = random.Random(seed)
    root = history_directory(tmp_path, seed, steps=150)
    found_records = list(all_records(root / "t-0"))
    records = [record for record, _ in found_records]
    data = [record for record, is_control in found_records if not is_control]
    [replica] = find_partitions(root)
    end = records[-1].offset + 1
    first, last = records[0].timestamp, max(record.timestamp for record in records)
    times = sorted({first - 1, last, *(rng.randrange(first, last + 1) for _ in range(40))})
    offsets = sorted({record.offset for record in rng.sample(data, 40)})
    found = look_up(LogLookUps(replica, end, tuple(times), tuple(offsets)))
    for time in times:
        expected = next((record.offset for record in records if record.timestamp > time), end)
        assert found.end_offsets[time] == expected, f"seed {seed}, time {time}"
    by_offset = {record.offset: record.timestamp for record in data}
    assert found.timestamps == {offset: by_offset[offset] for offset in offsets}, f"seed {seed}"
    assert found.epochs == [(0, 0)]


def test_an_offset_behind_the_log_has_no_time(tmp_path: Path) -> None:
    root = history_directory(tmp_path, steps=20)
    [replica] = find_partitions(root)
    assert look_up(LogLookUps(replica, 0, (), (10**6,))).timestamps == {}


@pytest.mark.parametrize(
    ("epoch", "end"), [(-1, None), (0, None), (1, 10), (2, 30), (3, 30), (4, 50), (5, None)], ids=str
)
def test_the_end_of_an_epoch_is_the_start_of_the_next(epoch: int, end: int | None) -> None:
    assert end_offset_of_epoch([(1, 0), (2, 10), (4, 30)], epoch, 50) == end
