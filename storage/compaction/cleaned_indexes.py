"""The indexes of a cleaned segment, made while its batches are written.

Pure. As if the batches were appended one by one: an entry in front of a batch once more than index.interval.bytes were
written since the last, a last time index entry at the end. Source: append and onBecomeInactiveSegment of LogSegment.
"""

from collections.abc import Iterable

from ...protocol.records.batch import NO_TIMESTAMP
from ..file_names import OFFSET_INDEX_SUFFIX, TIME_INDEX_SUFFIX, TRANSACTION_INDEX_SUFFIX
from ..offset_index import OffsetIndex
from ..time_index import TimeIndex
from ..transaction_index import AbortedTransaction, TransactionIndex

IndexedBatch = tuple[int, int, int]
"""What indexes need of a batch: its last offset, its greatest timestamp (ms since 1970), its bytes."""


class CleanedIndexes:
    """The three indexes of one segment to be; `size` is the bytes of the log file so far."""

    __slots__ = (
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
        self._offsets = OffsetIndex(base_offset)
        self._times = TimeIndex(base_offset)
        self._transactions = TransactionIndex(base_offset)
        self._index_interval_bytes = index_interval_bytes
        self._bytes_since_entry = 0
        self._max_timestamp = NO_TIMESTAMP
        self._max_timestamp_offset = base_offset
        self.size = 0

    def append(self, batches: Iterable[IndexedBatch]) -> None:
        """These batches come next in the file."""
        interval, since_entry, position = self._index_interval_bytes, self._bytes_since_entry, self.size
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
        """Aborted transactions whose marker was written."""
        for entry in entries:
            self._transactions.append(entry)

    def files(self) -> dict[str, bytes]:
        """The bytes of each index file by suffix, once all batches are in; no transaction index without entries."""
        self._times.append_if_later(self._max_timestamp, self._max_timestamp_offset)
        files = {OFFSET_INDEX_SUFFIX: self._offsets.to_bytes(), TIME_INDEX_SUFFIX: self._times.to_bytes()}
        if len(self._transactions):
            files[TRANSACTION_INDEX_SUFFIX] = self._transactions.to_bytes()
        return files
