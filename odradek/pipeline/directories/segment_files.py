"""The segments of a partition in a listing of its directory, also while the cleaner exchanges them for others.

Reads names, sizes, offset indexes and, of `.swap` files, batch headers. Never writes. Source:
storage/files/file_names.py; Kafka's LogLoader.load, LogSegment.readNextOffset.
"""

from collections.abc import Iterable
from contextlib import AbstractContextManager
from pathlib import Path
from struct import Struct
from typing import NamedTuple

from odradek.protocol.records.batch import (
    BATCH_HEADER_SIZE,
    HEADER,
    MAGIC,
    MAGIC_POSITION,
    BatchHeader,
    batch_size,
    legacy_header,
)
from odradek.protocol.records.errors import CorruptRecordError
from odradek.storage.files.file_names import (
    CLEANED_SUFFIX,
    LOG_SUFFIX,
    OFFSET_INDEX_SUFFIX,
    SEGMENT_SUFFIXES,
    SWAP_SUFFIX,
    base_offset_of,
    segment_path,
)

from .file_access import FileEntry, RangeReader, is_gone, is_unreadable, open_ranges, read_file

_INDEX_ENTRY = Struct(">ii")
_SWAPPED = tuple(suffix + SWAP_SUFFIX for suffix in SEGMENT_SUFFIXES)


class SegmentFile(NamedTuple):
    """A segment: its base offset, and path and size (bytes) of its log file. `is_file`: False for a link, FIFO, ….

    `inode`: that of the listed file, 0 in object storage. It shows whether the cleaner has replaced the file since.
    """

    base_offset: int
    path: Path
    size: int
    is_file: bool = True
    inode: int = 0

    def beside(self, suffix: str) -> Path:
        """The path of another file of the segment, such as an index: one that is to be put in place has a name for that
        too."""
        path = segment_path(self.path.parent, self.base_offset, suffix)
        return path.with_name(path.name + SWAP_SUFFIX) if self.path.name.endswith(SWAP_SUFFIX) else path


def segments_of(directory: Path, entries: Iterable[FileEntry]) -> list[SegmentFile]:
    """The segments among a directory's entries, by offset."""
    return sorted(
        _segment(directory, base_offset, entry)
        for entry in entries
        if entry.name.endswith(LOG_SUFFIX) and (base_offset := base_offset_of(entry.name)) is not None
    )


def _segment(directory: Path, base_offset: int, entry: FileEntry) -> SegmentFile:
    is_file = not (entry.is_directory or entry.fault)
    return SegmentFile(base_offset, directory / entry.name, entry.size, is_file, entry.inode)


def segments_in_exchange(directory: Path, entries: Iterable[FileEntry]) -> list[SegmentFile]:
    """The segments whose exchange by the cleaner was not completed, by offset. Raises OSError.

    The cleaner has left complete `.swap` files, and may have removed some of the segments that they replace. If it has
    removed none, they are the log. Otherwise it is what the next start makes: that puts every `.swap` file in place,
    instead of all segments between the first and the last of them.
    """
    listed = list(entries)
    segments, swaps = segments_of(directory, listed), _complete_swaps(directory, listed)
    if {swap.base_offset for swap in swaps} <= {segment.base_offset for segment in segments}:
        return segments
    low, high = swaps[0].base_offset, max(_end_of(swap) for swap in swaps)
    return sorted([segment for segment in segments if not low <= segment.base_offset < high] + swaps)


def _complete_swaps(directory: Path, entries: Iterable[FileEntry]) -> list[SegmentFile]:
    """The `.swap` files, by offset, without those of an exchange that a start undoes: it removes them."""
    listed = [(base, entry) for entry in entries if (base := base_offset_of(entry.name)) is not None]
    least_cleaned = min((base for base, entry in listed if entry.name.endswith(CLEANED_SUFFIX)), default=None)
    return sorted(
        _segment(directory, base, entry)
        for base, entry in listed
        if entry.name.endswith(LOG_SUFFIX + SWAP_SUFFIX) and (least_cleaned is None or base < least_cleaned)
    )


def _end_of(segment: SegmentFile) -> int:
    """The offset after the last complete batch, at least one after the base offset. Raises OSError."""
    end, position = segment.base_offset + 1, 0
    try:
        with open_segment(segment) as file:
            while (header := header_at(file, position)) is not None:
                end = max(end, header.last_offset + 1)
                position += header.size_in_bytes
    except OSError as error:
        if not (is_gone(error) or is_unreadable(error, segment.path)):
            raise  # otherwise, whoever reads the segment reports the error
    return end


def is_swapping(entries: Iterable[FileEntry]) -> bool:
    """Whether a .swap file has no final name yet: Kafka's LocalLog.replaceSegments renames the old segments first."""
    swaps = {entry.name.removesuffix(SWAP_SUFFIX) for entry in entries if entry.name.endswith(_SWAPPED)}
    return bool(swaps) and not swaps.issubset(entry.name for entry in entries)


def open_segment(segment: SegmentFile) -> AbstractContextManager[RangeReader]:
    """Opens the segment's log file. Raises OSError, for which `is_gone` is true if the file was replaced."""
    return open_ranges(segment.path, segment.inode)


def indexed_positions(segment: SegmentFile) -> list[int]:
    """The positions of batches in the segment's offset index, rising. Leaves out positions outside the file."""
    path = segment.beside(OFFSET_INDEX_SUFFIX)
    try:
        data = read_file(path).rstrip(b"\0")  # the active segment's index is preallocated: 10 MiB of zeros
    except OSError as error:
        if is_gone(error) or is_unreadable(error, path):
            return []  # without the index, reading ends at the first damage
        raise
    data += bytes(-len(data) % _INDEX_ENTRY.size)
    entries = _INDEX_ENTRY.iter_unpack(data)
    return sorted({position for _, position in entries if 0 < position < segment.size})


def header_at(file: RangeReader, position: int) -> BatchHeader | None:
    """The header of a complete batch; None at the end of the log, at an incomplete batch or at preallocated zeros."""
    data = file.read(position, BATCH_HEADER_SIZE)
    try:
        size = batch_size(data)
    except CorruptRecordError:
        return None
    if size is None or position + size > file.size:
        return None
    return legacy_header(data, 0) if data[MAGIC_POSITION] < MAGIC else BatchHeader._make(HEADER.unpack(data))
