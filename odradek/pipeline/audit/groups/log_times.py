"""Looks up times in a partition's log: its end at past moments, the times of records, the ends of leader epochs.

Reads a few batches for each look-up, by the indexes. If an index is damaged or missing, reads from the segment's start.
Never writes. Source: Kafka's LogSegment.findOffsetByTimestamp, LeaderEpochFileCache.endOffsetFor.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import TypeVar

from odradek.protocol.errors import KafkaError
from odradek.protocol.records.batch import BatchHeader, read_header
from odradek.protocol.records.record import iterate_records
from odradek.storage.errors import CorruptCheckpointError, CorruptIndexError
from odradek.storage.files.checkpoints import read_epoch_checkpoint
from odradek.storage.files.file_names import (
    LEADER_EPOCH_CHECKPOINT,
    OFFSET_INDEX_SUFFIX,
    TIME_INDEX_SUFFIX,
)
from odradek.storage.segment.offset_index import OffsetIndex
from odradek.storage.segment.time_index import TimeIndex

from ...decode.damage import Damage
from ...decode.segment_chunks import read_chunks
from ...directories.file_access import PathFiles, attempts, is_gone, read_file
from ...directories.log_directories import PartitionDirectory, partition_at
from ...directories.segment_files import SegmentFile

CHUNK_BYTES = 64 << 10

Index = TypeVar("Index", OffsetIndex, TimeIndex)


@dataclass(frozen=True, slots=True)
class LogLookUps:
    """The look-ups in one replica."""

    replica: PartitionDirectory
    log_end_offset: int
    times: tuple[int, ...]
    """Moments at which to find the log end offset: ms since 1970, rising."""
    offsets: tuple[int, ...]
    """Offsets for which to find the time of the first record at or after them."""


@dataclass(slots=True)
class LookUpResults:
    """The results of the look-ups: `end_offsets` by moment, `timestamps` by offset.

    `timestamps` has no entry for an offset if the log has no record at or after it.
    """

    end_offsets: dict[int, int] = field(default_factory=dict)
    timestamps: dict[int, int] = field(default_factory=dict)
    epochs: list[tuple[int, int]] = field(default_factory=list)
    """(leader epoch, start offset), rising."""


def look_up(look_ups: LogLookUps) -> LookUpResults:
    """Does the look-ups. If files of the replica are gone, lists its files again and repeats them.

    Returns an empty LookUpResults if the partition is gone or its files keep changing. Raises OSError.
    """
    for _ in attempts():
        try:
            return _look_up(look_ups)
        except OSError as error:
            if not is_gone(error):
                raise
        replica = look_ups.replica
        now = partition_at((replica.topic, replica.partition), replica.path)
        if now is None:
            break
        look_ups = replace(look_ups, replica=now)
    return LookUpResults()


def _look_up(look_ups: LogLookUps) -> LookUpResults:
    segments = [_IndexedSegment(segment) for segment in look_ups.replica.segments if segment.size]
    found = LookUpResults()
    for time in look_ups.times:
        found.end_offsets[time] = _end_offset(segments, time, look_ups.log_end_offset)
    for offset in look_ups.offsets:
        written = _time_at(segments, offset)
        if written is not None:
            found.timestamps[offset] = written
    try:
        found.epochs = read_epoch_checkpoint(PathFiles(), look_ups.replica.path / LEADER_EPOCH_CHECKPOINT)
    except (CorruptCheckpointError, OSError):
        found.epochs = []  # the audit of the partition reports it
    return found


def end_offset_of_epoch(epochs: list[tuple[int, int]], epoch: int, log_end_offset: int) -> int | None:
    """The end offset of a leader epoch; None for an epoch outside of the checkpoint."""
    if not epochs or not epochs[0][0] <= epoch <= epochs[-1][0]:
        return None
    return next((start for later, start in epochs if later > epoch), log_end_offset)


class _IndexedSegment:
    """A segment with its indexes, read once."""

    def __init__(self, file: SegmentFile) -> None:
        self.file = file
        self._offsets = _index(file, OFFSET_INDEX_SUFFIX, OffsetIndex)
        self._times = _index(file, TIME_INDEX_SUFFIX, TimeIndex)

    def batches_from_offset(self, offset: int) -> Iterator[tuple[memoryview, BatchHeader]]:
        """Batches, starting with one at or before the offset."""
        return self._batches(self._offsets.lookup(offset) if self._offsets is not None else 0)

    def batches_from_time(self, time: int) -> Iterator[tuple[memoryview, BatchHeader]]:
        """Batches, starting at a position before which no timestamp is greater than the time."""
        if self._offsets is None or self._times is None:
            return self._batches(0)
        return self._batches(self._offsets.lookup(self._times.lookup(time)[1]))

    def _batches(self, position: int) -> Iterator[tuple[memoryview, BatchHeader]]:
        for chunk in read_chunks(self.file.path, start=position, chunk_bytes=CHUNK_BYTES, inode=self.file.inode):
            if isinstance(chunk, Damage):
                continue
            for place in chunk.positions.tolist():
                header = read_header(chunk.view, place)
                yield chunk.view[place : place + header.size_in_bytes], header

    @property
    def greatest_time(self) -> int | None:
        """The last time in the time index, which is the maximum of a closed segment; None without an index."""
        return self._times.last_entry[0] if self._times is not None and len(self._times) else None


def _index(file: SegmentFile, suffix: str, kind: type[Index]) -> Index | None:
    path = file.beside(suffix)
    try:
        return kind(file.base_offset, read_file(path))
    except (OSError, CorruptIndexError):
        return None  # the audit of the partition reports it


def _end_offset(segments: list[_IndexedSegment], time: int, log_end_offset: int) -> int:
    """The offset of the first record later than the moment, or the log end offset."""
    for index, segment in enumerate(segments):
        greatest = segment.greatest_time
        if index + 1 < len(segments) and greatest is not None and greatest <= time:
            continue
        for batch, header in segment.batches_from_time(time):
            if header.max_timestamp > time:
                found = _first(batch, header, lambda record_time, _: record_time > time)
                if found is not None:
                    return found[1]
    return log_end_offset


def _time_at(segments: list[_IndexedSegment], offset: int) -> int | None:
    """The time of the first record at or after an offset."""
    for index, segment in enumerate(segments):
        if index + 1 < len(segments) and segments[index + 1].file.base_offset <= offset:
            continue
        for batch, header in segment.batches_from_offset(offset):
            if header.last_offset >= offset and not header.is_control:
                found = _first(batch, header, lambda _, record_offset: record_offset >= offset)
                if found is not None:
                    return found[0]
    return None


def _first(batch: memoryview, header: BatchHeader, is_it: Callable[[int, int], bool]) -> tuple[int, int] | None:
    """(time, offset) of the first record that matches; None if none does or the records can't be decoded."""
    try:
        for record in iterate_records(batch, header):
            if is_it(record.timestamp, record.offset):
                return record.timestamp, record.offset
    except KafkaError:
        return None
    return None
