"""A segment with offsets too far from its base offset is split. A crash at any point neither loses nor duplicates a
batch."""

import random
from pathlib import Path

import pytest

from odradek.protocol.records.batch import iterate_headers
from odradek.protocol.records.builder import encode_batch
from odradek.protocol.records.record import Record
from odradek.storage.compaction.grouping import SegmentInfo
from odradek.storage.compaction.pace import full_speed
from odradek.storage.compaction.splitting import split_overflowed_segment
from odradek.storage.files.file_names import LOG_SUFFIX, TRANSACTION_INDEX_SUFFIX, segment_path
from odradek.storage.files.files import EXISTING, Buffer
from odradek.storage.log.swap_files import recover_swap_files
from odradek.storage.segment.offset_index import MAX_RELATIVE_OFFSET, OffsetIndex
from odradek.storage.segment.time_index import TimeIndex
from odradek.storage.segment.transaction_index import AbortedTransaction, TransactionIndex
from support.disks.unsynced_files import UnsyncedFiles

NEVER = 1 << 60
INTERVAL = 100


class PowerLostError(Exception):
    """Raised before a change of the disk: the power fails there."""


class LimitedFiles(UnsyncedFiles):
    """Allows a number of changes of the disk, then raises PowerLostError."""

    def __init__(self, changes_left: int = NEVER) -> None:
        self.changes = 0
        self._changes_left = changes_left

    def _change(self) -> None:
        self.changes += 1
        if self.changes > self._changes_left:
            raise PowerLostError

    def open(self, path: Path, flags: int = EXISTING) -> int:
        if not path.exists():
            self._change()
        return super().open(path, flags)

    def write(self, descriptor: int, parts: object, position: int) -> int:
        self._change()
        assert isinstance(parts, list)
        return super().write(descriptor, parts, position)

    def rename(self, source: Path, target: Path) -> None:
        self._change()
        super().rename(source, target)

    def remove(self, path: Path) -> None:
        if path.exists():
            self._change()
        super().remove(path)


def overflowed(directory: Path, chance: random.Random, base_offset: int) -> SegmentInfo:
    """A segment of batches far apart, with aborted transactions; its indexes have no entries, as if they were lost."""
    directory.mkdir(parents=True)
    offset = base_offset + chance.choice([0, 0, 7, 3 << 30])
    log: list[Buffer] = []
    aborted = []
    for _ in range(chance.randrange(2, 30)):
        records = [
            Record(offset + index, chance.randrange(1000), b"k", b"v" * 9, [])
            for index in range(chance.randrange(1, 4))
        ]
        log.append(encode_batch(records, base_offset=offset))
        if chance.random() < 0.3:
            aborted.append(
                AbortedTransaction(3, max(base_offset, offset - 5), offset + 1, max(base_offset, offset - 5))
            )
        offset += len(records) + chance.choice([1, 1, 1, 1 << 29, 1 << 31])
    log.append(encode_batch([Record(offset + (1 << 31), 5, b"k", b"v", [])], base_offset=offset + (1 << 31)))
    data = b"".join(log)
    segment_path(directory, base_offset, LOG_SUFFIX).write_bytes(data)
    for suffix in (".index", ".timeindex"):
        segment_path(directory, base_offset, suffix).touch()
    index = TransactionIndex(base_offset)
    for entry in aborted:
        index.append(entry)
    if aborted:
        segment_path(directory, base_offset, TRANSACTION_INDEX_SUFFIX).write_bytes(index.to_bytes())
    return SegmentInfo(base_offset, len(data), 0, 0, 0)


def bytes_of_log(directory: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(directory.glob("*.log")))


def transactions(directory: Path) -> list[tuple[int, AbortedTransaction]]:
    """(base of the segment, entry)."""
    return [
        (int(path.stem), entry)
        for path in sorted(directory.glob("*.txnindex"))
        for entry in TransactionIndex(int(path.stem), path.read_bytes()).entries
    ]


def split(files: LimitedFiles, directory: Path, segment: SegmentInfo) -> list[int]:
    return split_overflowed_segment(files, directory, segment, INTERVAL, full_speed(), 256)


@pytest.mark.parametrize("seed", range(30))
def test_each_part_holds_what_fits_behind_its_base(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    base_offset = chance.choice([0, 12, 5 << 40])
    directory = tmp_path / "t-0"
    segment = overflowed(directory, chance, base_offset)
    log, aborted = bytes_of_log(directory), [entry for _, entry in transactions(directory)]
    modified_ns = segment_path(directory, base_offset, LOG_SUFFIX).stat().st_mtime_ns
    bases = split(LimitedFiles(), directory, segment)
    assert bases[0] == base_offset
    assert [int(path.stem) for path in sorted(directory.glob("*.log"))] == bases
    assert bytes_of_log(directory) == log
    assert [entry for _, entry in transactions(directory)] == aborted
    for base, entry in transactions(directory):
        assert base == max(one for one in bases if one <= entry.last_offset)
    first_of_next = bases[1:]
    for base, following in zip(bases, [*first_of_next, None], strict=True):
        path = segment_path(directory, base, LOG_SUFFIX)
        assert path.stat().st_mtime_ns == modified_ns
        data = path.read_bytes()
        places = {header.last_offset: position for position, header in iterate_headers(data)}
        assert all(offset - base <= MAX_RELATIVE_OFFSET for offset in places)
        if following is not None:  # such an offset does not fit into an entry
            following_log = segment_path(directory, following, LOG_SUFFIX).read_bytes()
            _, header = next(iter(iterate_headers(following_log)))
            assert header.base_offset == following
            assert header.last_offset - base > MAX_RELATIVE_OFFSET
        offsets = OffsetIndex(base, path.with_suffix(".index").read_bytes())
        assert offsets.last_position == (places[offsets.last_offset] if len(offsets) else 0)
        times = TimeIndex(base, path.with_suffix(".timeindex").read_bytes())
        assert times.last_entry[0] == max((header.max_timestamp for _, header in iterate_headers(data)), default=-1)


@pytest.mark.parametrize("seed", range(8))
def test_a_crash_anywhere_leaves_each_batch_once(tmp_path: Path, seed: int) -> None:
    directory = tmp_path / "whole" / "t-0"
    segment = overflowed(directory, random.Random(seed), 12)
    log, aborted = bytes_of_log(directory), [entry for _, entry in transactions(directory)]
    changes_left = 0
    is_done = False
    while not is_done:
        directory = tmp_path / str(changes_left) / "t-0"
        assert overflowed(directory, random.Random(seed), 12) == segment
        try:
            split(LimitedFiles(changes_left), directory, segment)
            is_done = True
        except PowerLostError:
            recover_swap_files(UnsyncedFiles(), directory)
        assert bytes_of_log(directory) == log
        assert [entry for _, entry in transactions(directory)] == aborted
        assert all(path.suffix in (".log", ".index", ".timeindex", ".txnindex") for path in directory.iterdir())
        changes_left += 1
    assert changes_left > 10
