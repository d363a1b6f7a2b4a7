"""One segment of a log: the file of batches and its three indexes.

Owns: the file's logical size, the indexes, the greatest timestamp. Never does: deciding when to roll, knowing producers
or epochs. Invariants: bytes after `size` are garbage and are cut off before the next write; every index entry points to
the start of a batch. Source: Kafka's LogSegment.

Sketch of costs: an append is one pwritev and a few comparisons, plus an index entry every index.interval.bytes. A read
of the last few KiB finds its position in memory; an older one needs the index and one pread of 8 KiB.
"""

import logging
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from pathlib import Path

from ...protocol.records.batch import NO_TIMESTAMP, BatchHeader
from ...protocol.records.errors import CorruptRecordError, UnsupportedForMessageFormatError
from ..errors import CorruptIndexError
from ..files.descriptors import Descriptor, DescriptorCache
from ..files.file_names import (
    LOG_SUFFIX,
    OFFSET_INDEX_SUFFIX,
    TIME_INDEX_SUFFIX,
    TRANSACTION_INDEX_SUFFIX,
    segment_path,
)
from ..files.files import CREATE, EXISTING, Buffer
from .batch_scan import BatchPlace, scan_batches, scan_headers, scan_places
from .index_check import fits_the_log
from .offset_index import OffsetIndex
from .time_index import TimeIndex
from .transaction_index import TransactionIndex

logger = logging.getLogger(__name__)

MAX_RELATIVE_OFFSET = 0x7FFFFFFF
UNKNOWN_TIMESTAMP = -2


class Segment:
    """A segment; `size` is in bytes. Every method that touches the disk raises OSError."""

    __slots__ = (
        "_bytes_since_index_entry",
        "_descriptor",
        "_descriptors",
        "_files",
        "_max_timestamp",
        "_max_timestamp_offset",
        "_offset_index",
        "_recent",
        "_rolling_timestamp",
        "_tail_is_dirty",
        "_time_index",
        "_transaction_index",
        "base_offset",
        "created_ms",
        "directory",
        "file_suffix",
        "index_interval_bytes",
        "jitter_ms",
        "path",
        "size",
    )

    def __init__(
        self,
        directory: Path,
        base_offset: int,
        size: int,
        descriptors: DescriptorCache,
        *,
        index_interval_bytes: int,
        jitter_ms: int,
        created_ms: int,
        file_suffix: str = "",
    ) -> None:
        """A segment whose file already has `size` bytes. Indexes are read on first use.

        `file_suffix` is appended to the names of its files until `drop_file_suffix`.
        """
        self.directory = directory
        self.file_suffix = file_suffix
        self.path = segment_path(directory, base_offset, LOG_SUFFIX + file_suffix)
        self.base_offset = base_offset
        self.size = size
        self.index_interval_bytes = index_interval_bytes
        self.jitter_ms = jitter_ms
        self.created_ms = created_ms
        self._descriptors = descriptors
        self._descriptor: Descriptor | None = None
        self._files = descriptors.files
        self._offset_index: OffsetIndex | None = None
        self._time_index: TimeIndex | None = None
        self._transaction_index: TransactionIndex | None = None
        self._max_timestamp = UNKNOWN_TIMESTAMP
        self._max_timestamp_offset = base_offset
        self._rolling_timestamp: int | None = None
        self._bytes_since_index_entry = 0
        self._tail_is_dirty = False
        # (first offset, last offsets, positions) of the batches since the last index entry: reads of the tail need no
        # index. Replaced as a whole, so that a reader on another thread sees a consistent state.
        self._recent: tuple[int, list[int], list[int]] | None = None

    @classmethod
    def create(
        cls,
        directory: Path,
        base_offset: int,
        descriptors: DescriptorCache,
        *,
        index_interval_bytes: int,
        jitter_ms: int,
        created_ms: int,
    ) -> "Segment":
        """A new segment with empty files. Files that an earlier segment of that name left are removed."""
        segment = cls(
            directory,
            base_offset,
            0,
            descriptors,
            index_interval_bytes=index_interval_bytes,
            jitter_ms=jitter_ms,
            created_ms=created_ms,
        )
        files = descriptors.files
        files.truncate(descriptors.get(segment.path, CREATE).fd, 0)
        for suffix in (OFFSET_INDEX_SUFFIX, TIME_INDEX_SUFFIX):
            files.overwrite(segment_path(directory, base_offset, suffix), b"")
        files.remove(segment_path(directory, base_offset, TRANSACTION_INDEX_SUFFIX))
        segment.reset_indexes()
        for index in (segment.offset_index, segment.time_index, segment.transaction_index):
            index.saved_entries = 0
        return segment

    def __repr__(self) -> str:
        return f"Segment({self.path}, {self.size} bytes)"

    # Indexes -----------------------------------------------------------------

    @property
    def offset_index(self) -> OffsetIndex:
        """The offset index. It is rebuilt from the log if its file is missing or does not match the log."""
        if self._offset_index is None:
            self._load_indexes()
        assert self._offset_index is not None
        return self._offset_index

    @property
    def time_index(self) -> TimeIndex:
        """The time index. It is rebuilt from the log if its file is missing or inconsistent."""
        if self._time_index is None:
            self._load_indexes()
        assert self._time_index is not None
        return self._time_index

    def _load_indexes(self) -> None:
        """Reads both indexes, or rebuilds both."""
        try:
            offsets = self.read_index(OFFSET_INDEX_SUFFIX)
            times = self.read_index(TIME_INDEX_SUFFIX)
            offset_index = OffsetIndex(self.base_offset, offsets)
            time_index = TimeIndex(self.base_offset, times)
            if not fits_the_log(self.headers, self.size, offset_index, time_index):
                raise CorruptIndexError("the last entry of an index does not match the batches")
        except (FileNotFoundError, CorruptIndexError) as problem:
            logger.warning("%s: %s; rebuilding the offset and time index", self.path, problem)
            self._rebuild_indexes()
            return
        self._offset_index = self._offset_index or offset_index
        self._time_index = self._time_index or time_index

    def _rebuild_indexes(self) -> None:
        transactions = self._transaction_index
        self.reset_indexes()
        self._transaction_index = transactions
        for position, header in self.headers():
            if not 0 <= header.last_offset - self.base_offset <= MAX_RELATIVE_OFFSET:
                raise CorruptRecordError(f"{self.path}: the batch at {position} has offset {header.base_offset}")
            self.note_appended(header, header.base_offset, position, header.size_in_bytes)
        self.time_index.append_if_later(self._max_timestamp, self._max_timestamp_offset)

    @property
    def transaction_index(self) -> TransactionIndex:
        """The aborted transactions. Raises CorruptIndexError."""
        if self._transaction_index is None:
            self._transaction_index = self.read_transaction_index()
        return self._transaction_index

    def read_transaction_index(self) -> TransactionIndex:
        """The aborted transactions from the file. Raises CorruptIndexError, OSError."""
        try:
            data = self.read_index(TRANSACTION_INDEX_SUFFIX)
        except FileNotFoundError:
            data = b""
        return TransactionIndex(self.base_offset, data)

    def read_index(self, suffix: str) -> bytes:
        """The bytes of one of the index files. Raises OSError."""
        return self._files.read_file(segment_path(self.directory, self.base_offset, suffix + self.file_suffix))

    def reset_indexes(self) -> None:
        """Empties the indexes in memory. The caller fills them again with `note_appended` for every batch."""
        self._offset_index = OffsetIndex(self.base_offset)
        self._time_index = TimeIndex(self.base_offset)
        self._transaction_index = TransactionIndex(self.base_offset)
        for index in (self._offset_index, self._time_index, self._transaction_index):
            index.saved_entries = -1
        self._max_timestamp = NO_TIMESTAMP
        self._max_timestamp_offset = self.base_offset
        self._rolling_timestamp = None
        self._bytes_since_index_entry = 0
        self._recent = None

    def unload_indexes(self) -> None:
        """Frees the memory of saved indexes. They are read again on their next use."""
        if self._offset_index is not None and self._offset_index.saved_entries == len(self._offset_index):
            self._offset_index = None
        if self._time_index is not None and self._time_index.saved_entries == len(self._time_index):
            self._load_max_timestamp()
            self._time_index = None

    def save_indexes(self) -> list[Path]:
        """Writes the changed indexes. Returns the paths written, which the caller may sync."""
        written = []
        for index, suffix in (
            (self._offset_index, OFFSET_INDEX_SUFFIX),
            (self._time_index, TIME_INDEX_SUFFIX),
            (self._transaction_index, TRANSACTION_INDEX_SUFFIX),
        ):
            if index is None or index.saved_entries == len(index):
                continue
            path = segment_path(self.directory, self.base_offset, suffix)
            if suffix == TRANSACTION_INDEX_SUFFIX and not len(index):
                self._files.remove(path)  # as Kafka: no file without aborted transactions
            else:
                self._files.overwrite(path, index.to_bytes())
                written.append(path)
            index.saved_entries = len(index)
        return written

    # Writing -----------------------------------------------------------------

    def hold_open(self) -> Descriptor:
        """The log file's descriptor. Call its `hold` to use it beyond the next call into storage."""
        descriptor = self._descriptor
        if descriptor is None or descriptor.fd < 0:
            descriptor = self._descriptor = self._descriptors.get(self.path, EXISTING)
        return descriptor

    def write(self, parts: Sequence[Buffer], size: int) -> int:
        """Writes batches, given as parts of `size` bytes in total. Returns the position where they begin.

        If it raises OSError, the segment is unchanged: bytes that the system took are cut off again. The caller must
        call `note_appended` for each batch.
        """
        descriptor, position = self.begin_write()
        fd = descriptor.fd
        files = self._files
        try:
            written = files.write(fd, parts, position)
            if written != size:
                files.write_all(fd, [b"".join(bytes(part) for part in parts)[written:]], position + written)
        except OSError:
            self.fail_write()
            raise
        self.size = position + size
        return position

    def begin_write(self) -> tuple[Descriptor, int]:
        """Prepares a write at the segment's end. Returns (the log file, the position). Raises OSError.

        For callers that write themselves; they call `end_write` or `fail_write` afterwards.
        """
        if self._max_timestamp == UNKNOWN_TIMESTAMP or self._transaction_index is None:
            self._load_for_append()
        descriptor = self.hold_open()
        if self._tail_is_dirty:
            self._files.truncate(descriptor.fd, self.size)
            self._tail_is_dirty = False
        return descriptor, self.size

    def end_write(self, size: int) -> None:
        """Adds `size` written bytes to the segment. The caller must then call `note_appended`."""
        self.size += size

    def _load_for_append(self) -> None:
        """Loads the state that `note_appended` needs, so that nothing can fail after the write."""
        self._offset_index = self.offset_index
        self._time_index = self.time_index
        self._transaction_index = self.transaction_index
        self._load_max_timestamp()

    def fail_write(self) -> None:
        """Cuts off the bytes of a failed write. If that fails too, the next write does it."""
        self._tail_is_dirty = True
        try:
            self._files.truncate(self.hold_open().fd, self.size)
        except OSError:
            return  # `_tail_is_dirty` stays set
        self._tail_is_dirty = False

    def note_appended(self, header: BatchHeader, base_offset: int, position: int, size: int) -> None:
        """Adds a batch at `position` to the indexes. Recovery does so for the batches in the file."""
        last_offset = base_offset + header.last_offset_delta
        max_timestamp = header.max_timestamp
        if self._max_timestamp == UNKNOWN_TIMESTAMP:
            self._load_max_timestamp()
        if position == 0:
            self._rolling_timestamp = max_timestamp
        if max_timestamp > self._max_timestamp:
            self._max_timestamp = max_timestamp
            self._max_timestamp_offset = last_offset
        if self._bytes_since_index_entry > self.index_interval_bytes:
            self.offset_index.append(last_offset, position)
            self.time_index.append_if_later(self._max_timestamp, self._max_timestamp_offset)
            self._bytes_since_index_entry = 0
            self._recent = None
        self._bytes_since_index_entry += size
        recent = self._recent
        if recent is None:
            self._recent = (base_offset, [last_offset], [position])
        else:
            recent[1].append(last_offset)
            recent[2].append(position)

    def become_inactive(self) -> list[Path]:
        """Adds the last time index entry and writes the indexes, when the log is rolled or recovered.

        Returns the paths written, for the caller to sync.
        """
        self._load_max_timestamp()
        self.time_index.append_if_later(self._max_timestamp, self._max_timestamp_offset)
        return self.save_indexes()

    def truncate_to(self, offset: int) -> list[Path]:
        """Removes the batch that holds `offset` and all later ones. Returns the paths of the indexes to sync."""
        place = self.find(offset)
        for index in (self.offset_index, self.time_index, self.transaction_index):
            index.truncate_to(offset)
        if place is not None:
            self._files.truncate(self.hold_open().fd, place.position)
            self.size = place.position
        self._recent = None
        self._bytes_since_index_entry = 0
        self._max_timestamp, self._max_timestamp_offset = self._read_largest_timestamp()
        if self.size == 0:
            self._rolling_timestamp = None
        return self.save_indexes()

    def cut_to(self, size: int) -> None:
        """Cuts the file durably at a batch boundary that recovery found. The caller updates the indexes."""
        self._files.truncate(self.hold_open().fd, size)
        self._files.sync(self.hold_open().fd)
        self.size = size

    def replace_indexes(
        self, indexes: tuple[OffsetIndex, TimeIndex, TransactionIndex], newest: tuple[int, int], position: int
    ) -> None:
        """Sets the indexes, which cover the batches before `position` (bytes). `newest`: (greatest timestamp, its
        offset).
        """
        self._offset_index, self._time_index, self._transaction_index = indexes
        self._max_timestamp, self._max_timestamp_offset = newest
        self._bytes_since_index_entry = position - indexes[0].last_position

    def seal(self) -> None:
        """Adds the last time index entry and cuts off garbage after the last batch, when the log is closed."""
        if self._max_timestamp != UNKNOWN_TIMESTAMP:
            self.time_index.append_if_later(self._max_timestamp, self._max_timestamp_offset)
        if self._tail_is_dirty:
            self._files.truncate(self.hold_open().fd, self.size)
            self._tail_is_dirty = False

    @property
    def indexes_are_saved(self) -> bool:
        """Whether the indexes on disk equal those in memory."""
        indexes = (self._offset_index, self._time_index, self._transaction_index)
        return all(index is None or index.saved_entries == len(index) for index in indexes)

    def forget_files(self) -> None:
        """Releases the descriptors without writing anything."""
        self._descriptor = None
        self._descriptors.forget(self.path)

    def drop_file_suffix(self) -> None:
        """Notes that the files now have their final names."""
        self.forget_files()
        self.file_suffix = ""
        self.path = segment_path(self.directory, self.base_offset, LOG_SUFFIX)

    def move_to(self, directory: Path) -> None:
        """Follows a rename of the partition's directory."""
        self.forget_files()
        self.directory = directory
        self.path = directory / self.path.name

    # Reading -----------------------------------------------------------------

    def find(self, offset: int) -> BatchPlace | None:
        """The first batch whose last offset is `offset` or later; None after the last batch."""
        recent = self._recent
        if recent is not None and offset >= recent[0]:
            _, last_offsets, positions = recent
            slot = bisect_left(last_offsets, offset)
            if slot >= len(positions):
                return None
            position = positions[slot]
            end = positions[slot + 1] if slot + 1 < len(positions) else self.size
            return BatchPlace(position, end - position, last_offsets[slot])
        for place in self._places(self.offset_index.lookup(offset)):
            if place.last_offset >= offset:
                return place
        return None

    def _places(self, position: int) -> Iterator[BatchPlace]:
        if position < self.size:
            try:
                yield from scan_places(self._files, self.hold_open().fd, position, self.size)
            except (CorruptRecordError, UnsupportedForMessageFormatError) as damage:
                raise CorruptRecordError(f"{self.path}: {damage.message}") from damage

    def batches(self, position: int = 0) -> Iterator[tuple[int, BatchHeader, memoryview]]:
        """(position, header, bytes) of each batch from a batch's start on. Raises CorruptRecordError."""
        return scan_batches(self._files, self.hold_open().fd, position, self.size)

    def headers(self, position: int = 0) -> Iterator[tuple[int, BatchHeader]]:
        """(position, header) of each batch from a batch's start on. Raises CorruptRecordError."""
        if position < self.size:
            try:
                yield from scan_headers(self._files, self.hold_open().fd, position, self.size)
            except (CorruptRecordError, UnsupportedForMessageFormatError) as damage:
                raise CorruptRecordError(f"{self.path}: {damage.message}") from damage

    def next_offset(self) -> int:
        """The offset after the last batch. Reads from the last index entry on."""
        last = self.base_offset - 1
        for place in self._places(self.offset_index.last_position):
            last = place.last_offset
        return last + 1

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

    @property
    def largest_timestamp(self) -> int:
        """The greatest timestamp of a record (ms), or the file's modification time if no record has a timestamp."""
        self._load_max_timestamp()
        return self._max_timestamp if self._max_timestamp >= 0 else self.modified_ms()

    def modified_ms(self) -> int:
        """When the log file was last written, ms since 1970."""
        return self._files.modified_ms(self.path)

    def _load_max_timestamp(self) -> None:
        if self._max_timestamp == UNKNOWN_TIMESTAMP:
            self._max_timestamp, self._max_timestamp_offset = self._read_largest_timestamp()

    def _read_largest_timestamp(self) -> tuple[int, int]:
        """(timestamp, last offset of its batch) from the last time index entry and the batches after it.

        As in Kafka, only the batches from the last offset index entry on are read.
        """
        timestamp, offset = self.time_index.last_entry
        if self.size:
            start = self.offset_index.last_position
            for _, header in self.headers(start):
                if header.max_timestamp > timestamp:
                    timestamp, offset = header.max_timestamp, header.last_offset
        return timestamp, offset

    @property
    def first_batch_timestamp(self) -> int | None:
        """The greatest timestamp of the first batch; None for an empty segment. Reads its header once."""
        if self._rolling_timestamp is None and self.size:
            for _, header in self.headers():
                self._rolling_timestamp = header.max_timestamp
                break
        return self._rolling_timestamp

    def time_waited_for_roll(self, now_ms: int, timestamp: int) -> int:
        """How long the segment has been open: from its first batch's time to `timestamp`, else since it was created."""
        first = self.first_batch_timestamp
        if first is not None and first >= 0:
            return timestamp - first
        return now_ms - self.created_ms

    def read_bytes(self, position: int, size: int) -> bytes:
        """`size` bytes of the log file, from `position` on."""
        return self._files.read(self.hold_open().fd, size, position)
