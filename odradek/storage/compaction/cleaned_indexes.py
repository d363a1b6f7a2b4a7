"""The indexes of a cleaned segment, built while its batches are written.

Pure. The entries are the same as after appends of the single batches: one before a batch if more than
index.interval.bytes were written since the last one, and a last time index entry at the end. Source: append and
onBecomeInactiveSegment of LogSegment.
"""

from collections.abc import Iterable, Iterator
from typing import Protocol

from odradek.protocol.records.batch import NO_TIMESTAMP
from odradek.protocol.records.errors import CorruptRecordError

from ..files.file_names import OFFSET_INDEX_SUFFIX, TIME_INDEX_SUFFIX, TRANSACTION_INDEX_SUFFIX
from ..segment.offset_index import MAX_RELATIVE_OFFSET, OffsetIndex
from ..segment.time_index import TimeIndex
from ..segment.transaction_index import AbortedTransaction, TransactionIndex

IndexedBatch = tuple[int, int, int]
"""The index data of a batch: its last offset, its greatest timestamp (ms since 1970), its bytes."""


class SegmentOffsetOverflowError(CorruptRecordError):
    """An offset is too far after the base of its segment for an index (LogSegmentOffsetOverflowException)."""

    def __init__(self, offset: int, base_offset: int) -> None:
        super().__init__(
            f"offset {offset} is too far from the base offset {base_offset} of its segment:"
            " run `odradek compact`, which splits such segments"
        )
        self.offset = offset


class IndexedBatches(Protocol):
    """Index data of several batches: a list of tuples, or the rows of a table."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[IndexedBatch]: ...


class CleanedIndexes:
    """The three indexes of a new segment. `size`: bytes of the log file so far."""

    __slots__ = (
        "_base_offset",
        "_bytes_since_entry",
        "_index_interval_bytes",
        "_max_timestamp",
        "_max_timestamp_offset",
        "_offsets",
        "_times",
        "_transactions",
        "size",
    )

    def __init__(self, base_offset: int, index_interval_bytes: int) -> None:
        self._base_offset = base_offset
        self._offsets = OffsetIndex(base_offset)
        self._times = TimeIndex(base_offset)
        self._transactions = TransactionIndex(base_offset)
        self._index_interval_bytes = index_interval_bytes
        self._bytes_since_entry = 0
        self._max_timestamp = NO_TIMESTAMP
        self._max_timestamp_offset = base_offset
        self.size = 0

    def append(self, batches: IndexedBatches) -> None:
        """Adds the next batches of the file. Raises SegmentOffsetOverflowError if an offset does not fit."""
        interval, since_entry, position = self._index_interval_bytes, self._bytes_since_entry, self.size
        greatest = max(last_offset for last_offset, _, _ in batches)
        if greatest - self._base_offset > MAX_RELATIVE_OFFSET:
            raise SegmentOffsetOverflowError(greatest, self._base_offset)
        for last_offset, max_timestamp, size in batches:
            if max_timestamp > self._max_timestamp:
                self._max_timestamp = max_timestamp
                self._max_timestamp_offset = last_offset
            if since_entry > interval:
                self._offsets.append(last_offset, position)
                self._times.append_if_later(self._max_timestamp, self._max_timestamp_offset)
                since_entry = 0
            since_entry += size
            position += size
        self._bytes_since_entry, self.size = since_entry, position

    def append_aborted(self, entries: Iterable[AbortedTransaction]) -> None:
        """Adds aborted transactions whose marker was written."""
        for entry in entries:
            self._transactions.append(entry)

    def entries(self) -> tuple[bytes, bytes]:
        """The offset index and the time index."""
        self._times.append_if_later(self._max_timestamp, self._max_timestamp_offset)
        return self._offsets.to_bytes(), self._times.to_bytes()

    def files(self) -> dict[str, bytes]:
        """The bytes of each index file by suffix, after all batches were added; no empty transaction index."""
        offsets, times = self.entries()
        files = {OFFSET_INDEX_SUFFIX: offsets, TIME_INDEX_SUFFIX: times}
        if len(self._transactions):
            files[TRANSACTION_INDEX_SUFFIX] = self._transactions.to_bytes()
        return files
