"""Follows the end of a partition's log while a broker writes it: finds the offset up to which batches are complete.

Reads batch headers of the active segment from the position where it stopped last. For a read of committed records it
reads all headers after the newest producer snapshot. At an incomplete batch it stops until the batch is complete. At
bytes that are not a batch it stops until the segment is rolled, and continues in the next segment. Never writes.
Source: protocol/records/batch.py.
"""

from collections.abc import Sequence

from odradek.protocol.records.batch import (
    BatchHeader,
)
from odradek.storage.segment.transaction_index import AbortedTransaction

from ..directories.file_access import RangeReader
from ..directories.log_directories import PartitionDirectory
from ..directories.segment_files import SegmentFile, header_at, indexed_positions, open_segment
from .isolation import aborted_by, is_abort_marker, trusted_snapshot
from .positions import position_before

MARK_BYTES = 64 << 10
"""The approximate distance in bytes between remembered positions of batches."""


class LogEnd:
    """The end of one partition's log, as of the last call of `follow`."""

    __slots__ = (
        "_base_offset",
        "_inode",
        "_is_committed_only",
        "_marks",
        "_open",
        "_position",
        "aborted",
        "offset",
    )

    def __init__(self, *, is_committed_only: bool) -> None:
        self._is_committed_only = is_committed_only
        self._open: dict[int, int] = {}
        self._marks: list[int] = []
        self._base_offset = -1
        self._inode = -1
        self._position = 0
        self.aborted: list[AbortedTransaction] = []
        """The aborted transactions that were passed, with `is_committed_only`. Transaction indexes may lack them."""
        self.offset = 0
        """The offset after the last complete batch."""

    @property
    def readable_offset(self) -> int:
        """The offset up to which a reader may read (exclusive): with `is_committed_only`, the last stable offset."""
        return min([self.offset, *self._open.values()])

    def follow(self, found: PartitionDirectory) -> None:
        """Reads the headers of batches written since the last call.

        Raises OSError, for which `is_gone` is true if a segment was just deleted.
        """
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
            snapshot_offset, self._open = trusted_snapshot(found)
            self.aborted = []
            behind = [segment for segment in found.segments if segment.base_offset <= snapshot_offset]
            self._begin(behind[-1] if behind else found.segments[0], 0)
            self.offset = max(self.offset, snapshot_offset if behind else 0)
        for segment in found.segments:
            if segment.base_offset > self._base_offset:
                self._begin(segment, 0)
            if segment.base_offset == self._base_offset:
                self._hop(segment)

    def forget_aborted(self, offset: int) -> None:
        """Forgets the aborted transactions that end before `offset`, which no later read needs."""
        self.aborted = [entry for entry in self.aborted if entry.last_offset >= offset]

    def positions(self, segment: SegmentFile) -> Sequence[int]:
        """Positions of batches in a segment: those in its index, and remembered ones after the index's end."""
        positions = indexed_positions(segment)
        if segment.base_offset == self._base_offset:
            last = positions[-1] if positions else 0
            positions += [mark for mark in self._marks if mark > last]
        return positions

    def _is_known(self, segment: SegmentFile) -> bool:
        """Whether the segment is the file that was followed, and was not truncated since."""
        return (
            segment.base_offset == self._base_offset and segment.size >= self._position and segment.inode == self._inode
        )

    def _begin(self, segment: SegmentFile, position: int) -> None:
        self._base_offset = self.offset = segment.base_offset
        self._inode = segment.inode
        self._position = position
        self._marks = []

    def _hop(self, segment: SegmentFile) -> None:
        """Reads headers up to the first batch that is not complete."""
        with open_segment(segment) as file:
            while (header := header_at(file, self._position)) is not None:
                self._take(header, file)

    def _take(self, header: BatchHeader, file: RangeReader) -> None:
        if self._is_committed_only and header.is_transactional and header.last_offset >= self.offset:
            if not header.is_control:
                self._open.setdefault(header.producer_id, header.base_offset)
            elif (first := self._open.pop(header.producer_id, None)) is not None and is_abort_marker(
                file.read(self._position, header.size_in_bytes)
            ):
                self.aborted.append(aborted_by(header.producer_id, first, header.last_offset))
        if self._position - (self._marks[-1] if self._marks else 0) >= MARK_BYTES:
            self._marks.append(self._position)
        self._position += header.size_in_bytes
        self.offset = max(self.offset, header.last_offset + 1)
