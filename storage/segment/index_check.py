"""Whether the last entries of a segment's indexes agree with its batches.

Owns: nothing; it reads through the caller. Never does: writing or rebuilding (`Segment` does). Source: Kafka's
``OffsetIndex.sanityCheck`` and ``TimeIndex.sanityCheck``, which look at the file only.
"""

from collections.abc import Callable, Iterator

from ...protocol.records.batch import BatchHeader
from ...protocol.records.errors import CorruptRecordError, UnsupportedForMessageFormatError
from .offset_index import OffsetIndex
from .time_index import TimeIndex

Headers = Callable[[int], Iterator[tuple[int, BatchHeader]]]
"""Gives (position, header) of the batches from a position on, as `Segment.headers`."""


def fits_the_log(headers: Headers, size: int, offsets: OffsetIndex, times: TimeIndex) -> bool:
    """Whether the last entry of each index is of a batch. Raises OSError.

    Kafka's followers write an entry for several batches at once, and Kafka before 4 the very record's offset.
    """
    entries: list[tuple[int, int, int | None]] = []
    if len(offsets):
        entries.append((offsets.last_position, offsets.last_offset, None))
    if len(times):
        timestamp, offset = times.last_entry
        entries.append((offsets.lookup(offset), offset, timestamp))
    try:
        return all(_is_entry(headers, size, *entry) for entry in entries)
    except (CorruptRecordError, UnsupportedForMessageFormatError):
        return True  # the log is damaged there, of which the index can't be accused


def _is_entry(headers: Headers, size: int, position: int, offset: int, max_timestamp: int | None) -> bool:
    """Whether there is a batch that holds `offset`, at that position if `max_timestamp` is None, else behind it."""
    if position < size:
        for _, header in headers(position):
            if max_timestamp is None:
                return header.base_offset <= offset
            if header.last_offset >= offset:
                return header.base_offset <= offset and header.max_timestamp == max_timestamp
    return False
