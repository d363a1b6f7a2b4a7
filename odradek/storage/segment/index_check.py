"""Whether the last entries of a segment's indexes agree with its batches.

Owns: nothing; the caller passes in how to read the batches. Never does: writing or rebuilding (`SegmentIndexes` does).
Source: Kafka's ``OffsetIndex.sanityCheck`` and ``TimeIndex.sanityCheck``, which look at the file only.
"""

from collections.abc import Callable, Iterator

from odradek.protocol.records.batch import BatchHeader
from odradek.protocol.records.errors import CorruptRecordError

from .offset_index import OffsetIndex
from .time_index import TimeIndex

Headers = Callable[[int], Iterator[tuple[int, BatchHeader]]]
"""Yields (position, header) of the batches from a position to the file's end, as `BatchFile.headers` does."""


def fits_the_log(headers: Headers, offsets: OffsetIndex, times: TimeIndex) -> bool:
    """Whether the last entry of each index matches a batch. Raises OSError.

    An entry need not name a batch's last offset: Kafka's followers write one entry for several batches, and Kafka
    before 4 writes the record's own offset.
    """
    entries: list[tuple[int, int, int | None]] = []
    if len(offsets):
        entries.append((offsets.last_position, offsets.last_offset, None))
    if len(times):
        timestamp, offset = times.last_entry
        entries.append((offsets.lookup(offset), offset, timestamp))
    try:
        return all(_is_entry(headers, *entry) for entry in entries)
    except CorruptRecordError:
        return True  # the log is damaged there, not the index


def _is_entry(headers: Headers, position: int, offset: int, max_timestamp: int | None) -> bool:
    """Whether a batch holds `offset`: the one at `position`, or if `max_timestamp` is given, one from there on.

    The first offset of a wrapper is unknown, so any that is not after its last one fits.
    """
    for _, header in headers(position):
        is_after = header.base_offset > offset and not header.is_wrapper
        if max_timestamp is None:
            return not is_after
        if header.last_offset >= offset:
            return not is_after and header.max_timestamp == max_timestamp
    return False
