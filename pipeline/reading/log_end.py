"""Follows the end of a partition's log while a broker writes it: up to which offset whole batches are there.

Reads batch headers of the active segment from the place where it stopped last. For a read of committed records it
reads all headers after the newest producer snapshot. It waits for the rest of an incomplete batch. It also waits at
bytes that are no batch until the segment is rolled: the next segment shows where the log continues. Never writes.
Source: protocol/records/batch.py.
"""

from collections.abc import Sequence

from ...protocol.records.batch import BATCH_HEADER_SIZE, HEADER, LOG_OVERHEAD, MAGIC, BatchHeader
from ..directories.file_access import RangeReader
from ..directories.log_directories import PartitionDirectory, SegmentFile, indexed_positions, open_segment
from .isolation import newest_snapshot
from .positions import position_before

MARK_BYTES = 64 << 10
"""About how far the positions lie apart that are remembered."""
_LEAST_LENGTH = BATCH_HEADER_SIZE - LOG_OVERHEAD


class LogEnd:
    """The end of one partition's log, as far as it was followed."""

    __slots__ = ("_base_offset", "_inode", "_is_committed_only", "_marks", "_open", "_position", "offset")

    def __init__(self, *, is_committed_only: bool) -> None:
        self._is_committed_only = is_committed_only
        self._open: dict[int, int] = {}
        self._marks: list[int] = []
        self._base_offset = -1
        self._inode = -1
        self._position = 0
        self.offset = 0
        """The offset behind the last whole batch."""

    @property
    def readable_offset(self) -> int:
        """Up to where a reader of this isolation may read, exclusive."""
        return min([self.offset, *self._open.values()])

    def follow(self, found: PartitionDirectory) -> None:
        """Takes in what was written since. Raises OSError; one that `is_gone` if a segment was just deleted."""
        if not found.segments:
            return
        active = found.segments[-1]
        if not self._is_committed_only:
            if not self._is_known(active):
                positions = indexed_positions(active)
                self._begin(active, position_before(active, positions, (1 << 63) - 1))
            self._hop(active)
            return
        if not any(self._is_known(segment) for segment in found.segments):
            snapshot_offset, self._open = newest_snapshot(found.path)
            behind = [segment for segment in found.segments if segment.base_offset <= snapshot_offset]
            self._begin(behind[-1] if behind else found.segments[0], 0)
            self.offset = max(self.offset, snapshot_offset if behind else 0)
        for segment in found.segments:
            if segment.base_offset > self._base_offset:
                self._begin(segment, 0)
            if segment.base_offset == self._base_offset:
                self._hop(segment)

    def positions(self, segment: SegmentFile) -> Sequence[int]:
        """Where batches begin in a segment: by its index, and by what was seen where the index is not written yet."""
        positions = indexed_positions(segment)
        if segment.base_offset == self._base_offset:
            last = positions[-1] if positions else 0
            positions += [mark for mark in self._marks if mark > last]
        return positions

    def _is_known(self, segment: SegmentFile) -> bool:
        """Whether it is the file that was followed, not truncated since."""
        return (
            segment.base_offset == self._base_offset and segment.size >= self._position and segment.inode == self._inode
        )

    def _begin(self, segment: SegmentFile, position: int) -> None:
        self._base_offset = self.offset = segment.base_offset
        self._inode = segment.inode
        self._position = position
        self._marks = []

    def _hop(self, segment: SegmentFile) -> None:
        """Over whole batches, to the first that is none."""
        with open_segment(segment) as file:
            while (header := _header_at(file, self._position)) is not None:
                self._take(header)

    def _take(self, header: BatchHeader) -> None:
        if self._is_committed_only and header.is_transactional and header.last_offset >= self.offset:
            if header.is_control:
                self._open.pop(header.producer_id, None)
            else:
                self._open.setdefault(header.producer_id, header.base_offset)
        if self._position - (self._marks[-1] if self._marks else 0) >= MARK_BYTES:
            self._marks.append(self._position)
        self._position += header.size_in_bytes
        self.offset = max(self.offset, header.last_offset + 1)


def _header_at(file: RangeReader, position: int) -> BatchHeader | None:
    """The header of a batch that is all there; None at the log's end, in a torn batch and in preallocated zeros."""
    data = file.read(position, BATCH_HEADER_SIZE)
    if len(data) < BATCH_HEADER_SIZE or data[16] != MAGIC:
        return None
    length = int.from_bytes(data[8:12], "big", signed=True)
    if length < _LEAST_LENGTH or position + LOG_OVERHEAD + length > file.size:
        return None
    return BatchHeader._make(HEADER.unpack(data))
