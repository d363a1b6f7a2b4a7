"""One segment of a log: the file of batches, and its indexes.

Owns: the two together. Never does: deciding when to roll, knowing producers or epochs. Invariant: the indexes cover
every batch in the file. Source: Kafka's LogSegment.

Sketch of costs: an append is one pwritev and a few comparisons, plus an index entry every index.interval.bytes. A read
of the last few KiB finds its position in memory; an older one needs the index and one pread of 8 KiB.
"""

from collections.abc import Sequence
from pathlib import Path

from ..files.descriptors import Descriptor, DescriptorCache
from ..files.files import Buffer
from .batch_file import BatchFile
from .batch_scan import BatchPlace
from .segment_indexes import SegmentIndexes


class Segment:
    """A segment: `file` and `indexes`. Every method that touches the disk raises OSError."""

    __slots__ = ("base_offset", "created_ms", "file", "indexes", "jitter_ms")

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
        name_suffix: str = "",
    ) -> None:
        """A segment whose file already has `size` bytes. Indexes are read on first use.

        `name_suffix` is appended to the names of its files until `BatchFile.drop_name_suffix`.
        """
        self.base_offset = base_offset
        self.file = BatchFile(directory, base_offset, size, descriptors, name_suffix)
        self.indexes = SegmentIndexes(self.file, index_interval_bytes)
        self.jitter_ms = jitter_ms
        self.created_ms = created_ms

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
        segment.file.create()
        segment.indexes.create()
        return segment

    def __repr__(self) -> str:
        return f"Segment({self.path}, {self.size} bytes)"

    @property
    def path(self) -> Path:
        """The log file."""
        return self.file.path

    @property
    def size(self) -> int:
        """The size of the log file in bytes."""
        return self.file.size

    def write(self, parts: Sequence[Buffer], size: int) -> int:
        """Writes batches, given as parts of `size` bytes in total. Returns the position where they begin.

        If it raises OSError, the segment is unchanged. Otherwise the caller must call `indexes.note_appended` for each
        batch.
        """
        self.indexes.load_for_append()
        return self.file.write(parts, size)

    def begin_write(self) -> tuple[Descriptor, int]:
        """Prepares a write at the segment's end. Returns (the log file, the position).

        For callers that write themselves; they call `file.end_write` or `file.fail_write` afterwards.
        """
        self.indexes.load_for_append()
        return self.file.begin_write()

    def prepare_truncation(self, offset: int) -> BatchPlace | None:
        """Reads what `truncate` needs, so that it opens no file. Returns the first batch to remove, if there is one."""
        self.indexes.load()
        return self.indexes.find(offset)

    def truncate(self, offset: int, first: BatchPlace | None) -> None:
        """Removes the batch that holds `offset` and all later ones, in memory. `first`: from `prepare_truncation`.

        The log file must be held open. The caller cuts it at its new size, and saves the indexes.
        """
        self.indexes.truncate_to(offset)
        if first is not None:
            self.file.begin_cut(first.position)
        self.indexes.finish_truncation()

    def seal(self) -> None:
        """Adds the last time index entry and cuts off garbage after the last batch, when the log is closed."""
        self.indexes.add_last_entry()
        self.file.cut_garbage()

    def next_offset(self) -> int:
        """The offset after the last batch. Reads from the last index entry on."""
        last = self.base_offset - 1
        for place in self.file.places(self.indexes.offset.last_position):
            last = place.last_offset
        return last + 1

    @property
    def largest_timestamp(self) -> int:
        """The greatest timestamp of a record (ms), or the file's modification time if no record has a timestamp."""
        timestamp = self.indexes.max_timestamp
        return timestamp if timestamp >= 0 else self.file.modified_ms()

    def time_waited_for_roll(self, now_ms: int, timestamp: int) -> int:
        """The age of the segment in ms: from its first batch's timestamp to `timestamp`.

        Without such a timestamp: from its creation to `now_ms`.
        """
        first = self.indexes.first_timestamp()
        if first is not None and first >= 0:
            return timestamp - first
        return now_ms - self.created_ms
