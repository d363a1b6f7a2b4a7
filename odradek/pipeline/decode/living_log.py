"""Reads a partition while a broker may delete, replace or move its files. Returns each batch once.

A file that vanishes while it is read was removed by retention, the cleaner or a deletion. The reader then lists the
partition again and continues at the next offset, at most MOST_RESTARTS times. Never writes. Memory: one chunk.
Invariant: batches are returned by rising offsets, so that no batch is returned again after a restart. Source: Kafka's
LocalLog (deleteSegmentFiles, replaceSegments), LogManager.asyncDelete.
"""

from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

import numpy

from ..directories.file_access import MOST_RESTARTS, attempts, is_gone
from ..directories.log_directories import PartitionDirectory, partition_at
from ..directories.segment_files import SegmentFile, indexed_positions
from .batch_table import BatchTable
from .damage import Damage
from .segment_chunks import read_chunks

END_OF_OFFSETS = (1 << 63) - 1


class LogPart(NamedTuple):
    """Bytes `[start, end)` of a segment to read; its offsets end before `end_offset`."""

    segment: SegmentFile
    start: int
    end: int
    end_offset: int
    is_active: bool
    """True for the active segment: its file may end inside a batch."""


class LivingChunk(NamedTuple):
    """Batches that were not returned before, or damage, with their place."""

    part: LogPart
    item: BatchTable | Damage


class AbsenceReason(StrEnum):
    """The reason why requested offsets are missing."""

    DELETED = "offsets-lost"
    """Retention deleted the segments with these offsets."""
    GONE = "partition-gone"
    """The whole partition was deleted or moved to another directory."""
    CHANGING = "partition-changing"
    """Files vanished during each attempt to read."""
    UNREADABLE = "file-unreadable"
    """The directory can't be listed any more."""


class AbsentOffsets(NamedTuple):
    """Offsets `[first_offset, end_offset)` that are missing; `text` begins with the kind and the path."""

    kind: AbsenceReason
    first_offset: int
    end_offset: int
    text: str


def parts_of(found: PartitionDirectory, first_offset: int, end_offset: int) -> list[LogPart]:
    """The whole segments that may have offsets of `[first_offset, end_offset)`."""
    parts = []
    for index, segment in enumerate(found.segments):
        is_active = index + 1 == len(found.segments)
        following = END_OF_OFFSETS if is_active else found.segments[index + 1].base_offset
        if segment.base_offset < end_offset and following > first_offset:
            parts.append(LogPart(segment, 0, segment.size, min(following, end_offset), is_active))
    return parts


def read_living(
    key: tuple[str, int],
    path: Path,
    first_parts: Callable[[], Sequence[LogPart]],
    first_offset: int,
    end_offset: int,
) -> Iterator[LivingChunk | AbsentOffsets]:
    """The batches of a partition's directory that have offsets of `[first_offset, end_offset)`.

    `first_parts`: the parts that have the offsets, as of the planning of the read. A restart lists the directory again.
    Chunks may have batches outside the range. No batch is returned twice. Raises OSError for errors that do not concern
    one file.
    """
    reading = _GivenOffsets(key, path, first_offset, end_offset)
    is_first = True
    for _ in attempts():
        try:
            if is_first:
                is_first = False
                yield from reading.chunks(first_parts())
                return
            found = partition_at(key, path)
            absent = reading.absence(found)
            if absent is not None:
                yield absent
            if found is None or found.fault:
                return
            yield from reading.chunks(parts_of(found, reading.next_offset, end_offset))
            return
        except OSError as error:
            if not is_gone(error):
                raise
    yield reading.absent(
        AbsenceReason.CHANGING, f"files disappeared during each of {MOST_RESTARTS + 1} attempts to read"
    )


class _GivenOffsets:
    """The progress of one reading: which offsets its chunks have covered."""

    def __init__(self, key: tuple[str, int], path: Path, first_offset: int, end_offset: int) -> None:
        self.key = key
        self.path = path
        self.next_offset = first_offset
        self.end_offset = end_offset
        self.is_restarted = False

    def chunks(self, parts: Sequence[LogPart]) -> Iterator[LivingChunk]:
        """Yields the batches of the parts from the next offset on. Raises OSError as read_chunks does."""
        for part in parts:
            positions = [at for at in indexed_positions(part.segment) if part.start < at < part.end]
            file = part.segment
            for item in read_chunks(
                file.path, start=part.start, end=part.end, batch_positions=positions, inode=file.inode
            ):
                new = self._new(item)
                if new is None:
                    continue
                is_last = False
                if isinstance(new, BatchTable):
                    end = int(new.last_offsets[-1]) + 1
                    is_last = END_OF_OFFSETS != self.end_offset <= end
                    self.next_offset = max(self.next_offset, min(end, part.end_offset))
                yield LivingChunk(part, new)
                if is_last:
                    return  # later batches may be half written
            self.next_offset = max(self.next_offset, min(part.end_offset, self.end_offset))

    def _new(self, item: BatchTable | Damage) -> BatchTable | Damage | None:
        """The part of an item that no chunk before a restart had; None if nothing is left."""
        if not self.is_restarted:
            return item
        if isinstance(item, Damage):
            return None if 0 <= item.base_offset < self.next_offset else item
        later = numpy.flatnonzero(item.last_offsets >= self.next_offset)
        if not len(later):
            return None
        return item.from_batch(int(later[0]))

    def absence(self, found: PartitionDirectory | None) -> AbsentOffsets | None:
        """The offsets that the directory lacks, by its current listing; None if it may have the next offset."""
        self.is_restarted = True
        if found is None:
            return self.absent(AbsenceReason.GONE, "the partition was deleted or moved while it was read")
        if found.fault:
            return self.absent(AbsenceReason.UNREADABLE, found.fault)
        start = found.segments[0].base_offset if found.segments else self.end_offset
        if found.is_changing or start <= self.next_offset:
            return None
        end = min(start, self.end_offset)
        lost = self.absent(AbsenceReason.DELETED, f"retention deleted offsets {self.next_offset} to {end - 1}", end)
        self.next_offset = end
        return lost

    def absent(self, kind: AbsenceReason, reason: str, end: int | None = None) -> AbsentOffsets:
        """The offsets from the next one up to `end`; by default, up to the end of the requested range."""
        text = f"{kind}: {self.path}: {reason}"
        return AbsentOffsets(kind, self.next_offset, self.end_offset if end is None else end, text)
