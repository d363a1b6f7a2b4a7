"""The indexes of a segment, and what else it keeps in memory about its batches: timestamps, the newest batches' places.

Owns: the three index files. Never does: writing batches. Invariant: every index entry points to the start of a batch.
Everything here can be rebuilt from the batches, and is if an index file is missing or does not match them. Source:
Kafka's LogSegment, LazyIndex.
"""

import logging
from bisect import bisect_left
from pathlib import Path

from odradek.protocol.records.batch import NO_TIMESTAMP
from odradek.protocol.records.errors import CorruptRecordError

from ..errors import CorruptIndexError
from ..files.file_names import OFFSET_INDEX_SUFFIX, TIME_INDEX_SUFFIX, TRANSACTION_INDEX_SUFFIX
from .batch_file import BatchFile
from .batch_scan import BatchPlace
from .index_check import fits_the_log
from .offset_index import MAX_RELATIVE_OFFSET, OffsetIndex
from .time_index import TimeIndex
from .transaction_index import TransactionIndex

logger = logging.getLogger(__name__)

UNKNOWN_TIMESTAMP = -2


class SegmentIndexes:
    """The indexes of the batches in one file. They are read on first use. Methods raise OSError."""

    __slots__ = (
        "_base_offset",
        "_bytes_since_entry",
        "_file",
        "_first_timestamp",
        "_max_timestamp",
        "_max_timestamp_offset",
        "_offset",
        "_recent",
        "_time",
        "_transaction",
        "interval_bytes",
    )

    def __init__(self, file: BatchFile, interval_bytes: int) -> None:
        """`interval_bytes`: the bytes of batches between two offset index entries."""
        self._file = file
        self._base_offset = file.base_offset
        self.interval_bytes = interval_bytes
        self._offset: OffsetIndex | None = None
        self._time: TimeIndex | None = None
        self._transaction: TransactionIndex | None = None
        self._max_timestamp = UNKNOWN_TIMESTAMP
        self._max_timestamp_offset = file.base_offset
        self._first_timestamp: int | None = None
        self._bytes_since_entry = 0
        # (first offset, last offsets, positions) of the batches since the last index entry: reads of the tail need no
        # index. A tuple only grows, last offsets first, so a reader on another thread finds a batch's position or no
        # batch.
        self._recent: tuple[int, list[int], list[int]] | None = None

    def create(self) -> None:
        """Writes empty index files over those that an earlier segment of that name left."""
        file = self._file
        for suffix in (OFFSET_INDEX_SUFFIX, TIME_INDEX_SUFFIX):
            file.files.overwrite(file.index_path(suffix), b"")
        file.files.remove(file.index_path(TRANSACTION_INDEX_SUFFIX))
        self.reset()
        for index in (self.offset, self.time, self.transaction):
            index.saved_entries = 0

    # Loading -----------------------------------------------------------------

    @property
    def offset(self) -> OffsetIndex:
        """The offset index. It is rebuilt from the log if its file is missing or does not match the log."""
        if self._offset is None:
            self._load()
        assert self._offset is not None
        return self._offset

    @property
    def time(self) -> TimeIndex:
        """The time index. It is rebuilt from the log if its file is missing or inconsistent."""
        if self._time is None:
            self._load()
        assert self._time is not None
        return self._time

    @property
    def transaction(self) -> TransactionIndex:
        """The aborted transactions. Raises CorruptIndexError."""
        if self._transaction is None:
            self._transaction = self.read_transaction_index()
        return self._transaction

    def _load(self) -> None:
        """Reads the offset and the time index, or rebuilds both."""
        try:
            offset = OffsetIndex(self._base_offset, self.read_file(OFFSET_INDEX_SUFFIX))
            time = TimeIndex(self._base_offset, self.read_file(TIME_INDEX_SUFFIX))
            if not fits_the_log(self._file.headers, offset, time):
                raise CorruptIndexError("the last entry of an index does not match the batches")
        except (FileNotFoundError, CorruptIndexError) as problem:
            logger.warning("%s: %s; rebuilding the offset and time index", self._file.path, problem)
            self.rebuild()
            return
        self._offset = self._offset or offset
        self._time = self._time or time

    def rebuild(self) -> None:
        """Makes the offset and the time index from the batches."""
        transaction = self._transaction
        self.reset()
        self._transaction = transaction
        for position, header in self._file.headers():
            if not 0 <= header.last_offset - self._base_offset <= MAX_RELATIVE_OFFSET:
                raise CorruptRecordError(
                    f"{self._file.path}: offset {header.last_offset} at {position} is too far from the base offset"
                )
            self.note_appended(
                header.base_offset, header.last_offset, header.max_timestamp, position, header.size_in_bytes
            )
        self.time.append_if_later(self._max_timestamp, self._max_timestamp_offset)

    def read_transaction_index(self) -> TransactionIndex:
        """The aborted transactions from the file. Raises CorruptIndexError."""
        try:
            data = self.read_file(TRANSACTION_INDEX_SUFFIX)
        except FileNotFoundError:
            data = b""
        return TransactionIndex(self._base_offset, data)

    def read_file(self, suffix: str) -> bytes:
        """The bytes of one of the index files."""
        return self._file.files.read_file(self._file.index_path(suffix + self._file.name_suffix))

    def load(self) -> None:
        """Reads all three indexes, unless they are in memory."""
        self._offset, self._time, self._transaction = self.offset, self.time, self.transaction

    def load_for_append(self) -> None:
        """Loads what `note_appended` needs, so that nothing can fail after the write."""
        if self._max_timestamp == UNKNOWN_TIMESTAMP or self._transaction is None:
            self.load()
            self._load_max_timestamp()

    def reset(self) -> None:
        """Empties the indexes in memory. The caller fills them again with `note_appended` for every batch."""
        self._offset = OffsetIndex(self._base_offset)
        self._time = TimeIndex(self._base_offset)
        self._transaction = TransactionIndex(self._base_offset)
        for index in (self._offset, self._time, self._transaction):
            index.saved_entries = -1
        self._max_timestamp = NO_TIMESTAMP
        self._max_timestamp_offset = self._base_offset
        self._first_timestamp = None
        self._bytes_since_entry = 0
        self._recent = None

    def replace(
        self, indexes: tuple[OffsetIndex, TimeIndex, TransactionIndex], newest: tuple[int, int], position: int
    ) -> None:
        """Sets the indexes, which cover the batches before `position` (bytes). `newest`: (greatest timestamp, its
        offset).
        """
        self._offset, self._time, self._transaction = indexes
        self._max_timestamp, self._max_timestamp_offset = newest
        self._bytes_since_entry = position - indexes[0].last_position

    def unload(self) -> None:
        """Frees the memory of saved indexes. They are read again on their next use."""
        if self._offset is not None and self._offset.saved_entries == len(self._offset):
            self._offset = None
        if self._time is not None and self._time.saved_entries == len(self._time):
            self._load_max_timestamp()
            self._time = None

    # Changes -----------------------------------------------------------------

    def note_appended(self, base_offset: int, last_offset: int, max_timestamp: int, position: int, size: int) -> None:
        """Updates the indexes for a batch of `size` bytes at `position`, after an append or when recovery reads the
        file. `max_timestamp`: the greatest one of its records, in ms.
        """
        if self._max_timestamp == UNKNOWN_TIMESTAMP:
            self._load_max_timestamp()
        if position == 0:
            self._first_timestamp = max_timestamp
        if max_timestamp > self._max_timestamp:
            self._max_timestamp = max_timestamp
            self._max_timestamp_offset = last_offset
        if self._bytes_since_entry > self.interval_bytes:
            self.offset.append(last_offset, position)
            self.time.append_if_later(self._max_timestamp, self._max_timestamp_offset)
            self._bytes_since_entry = 0
            self._recent = None
        self._bytes_since_entry += size
        recent = self._recent
        if recent is None:
            self._recent = (base_offset, [last_offset], [position])
        else:
            recent[1].append(last_offset)
            recent[2].append(position)

    def truncate_to(self, offset: int) -> None:
        """Removes the entries of `offset` and later. The caller cuts the file and then calls `finish_truncation`."""
        for index in (self.offset, self.time, self.transaction):
            index.truncate_to(offset)

    def finish_truncation(self) -> None:
        """Notes that the file was cut. The caller saves the indexes."""
        self._recent = None
        self._bytes_since_entry = 0
        self._max_timestamp, self._max_timestamp_offset = self._read_largest_timestamp()
        if self._file.size == 0:
            self._first_timestamp = None

    def add_last_entry(self) -> None:
        """Adds the last time index entry, when the log is closed."""
        if self._max_timestamp != UNKNOWN_TIMESTAMP:
            self.time.append_if_later(self._max_timestamp, self._max_timestamp_offset)

    def become_inactive(self) -> list[Path]:
        """Adds the last time index entry and writes the indexes, when the log is rolled or recovered.

        Returns the paths written, for the caller to sync.
        """
        self._load_max_timestamp()
        self.time.append_if_later(self._max_timestamp, self._max_timestamp_offset)
        return self.save()

    def save(self) -> list[Path]:
        """Writes the changed indexes. Returns the paths written, which the caller may sync.

        If it raises OSError, none counts as saved: the next call writes, and returns, all of them.
        """
        written: list[Path] = []
        changed: list[OffsetIndex | TimeIndex | TransactionIndex] = []
        for index, suffix in (
            (self._offset, OFFSET_INDEX_SUFFIX),
            (self._time, TIME_INDEX_SUFFIX),
            (self._transaction, TRANSACTION_INDEX_SUFFIX),
        ):
            if index is None or index.saved_entries == len(index):
                continue
            path = self._file.index_path(suffix)
            if suffix == TRANSACTION_INDEX_SUFFIX and not len(index):
                self._file.files.remove(path)  # as Kafka: no file without aborted transactions
            else:
                self._file.files.overwrite(path, index.to_bytes())
                written.append(path)
            changed.append(index)
        for index in changed:
            index.saved_entries = len(index)
        return written

    @property
    def are_saved(self) -> bool:
        """Whether the indexes on disk equal those in memory."""
        indexes = (self._offset, self._time, self._transaction)
        return all(index is None or index.saved_entries == len(index) for index in indexes)

    # Look-ups ----------------------------------------------------------------

    def find(self, offset: int) -> BatchPlace | None:
        """The first batch whose last offset is `offset` or later; None after the last batch."""
        recent = self._recent
        if recent is not None and offset >= recent[0]:
            _, last_offsets, positions = recent
            slot = bisect_left(last_offsets, offset)
            if slot >= len(positions):
                return None
            position = positions[slot]
            end = positions[slot + 1] if slot + 1 < len(positions) else self._file.size
            return BatchPlace(position, end - position, last_offsets[slot])
        for place in self._file.places(self.offset.lookup(offset)):
            if place.last_offset >= offset:
                return place
        return None

    @property
    def max_timestamp(self) -> int:
        """The greatest timestamp of a record; -1 without records."""
        self._load_max_timestamp()
        return self._max_timestamp

    @property
    def max_timestamp_offset(self) -> int:
        """The last offset of the batch that has the greatest timestamp."""
        self._load_max_timestamp()
        return self._max_timestamp_offset

    def first_timestamp(self) -> int | None:
        """The greatest timestamp of the first batch; None for an empty segment. Reads its header once."""
        if self._first_timestamp is None and self._file.size:
            for _, header in self._file.headers():
                self._first_timestamp = header.max_timestamp
                break
        return self._first_timestamp

    def _load_max_timestamp(self) -> None:
        if self._max_timestamp == UNKNOWN_TIMESTAMP:
            self._max_timestamp, self._max_timestamp_offset = self._read_largest_timestamp()

    def _read_largest_timestamp(self) -> tuple[int, int]:
        """(timestamp, last offset of its batch) from the last time index entry and the batches after it.

        As in Kafka, only the batches from the last offset index entry on are read.
        """
        timestamp, offset = self.time.last_entry
        if self._file.size:
            for _, header in self._file.headers(self.offset.last_position):
                if header.max_timestamp > timestamp:
                    timestamp, offset = header.max_timestamp, header.last_offset
        return timestamp, offset
