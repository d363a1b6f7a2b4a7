"""Which index files of a segment can be believed after a crash, without reading the whole log.

Owns: nothing; it reads. Never does: writing or rebuilding (`Segment` does). Index files are written anew in place,
so that a crash may have torn what came last in them: the last entries must be what the batches say. Source: our own;
Kafka's recovery reads the whole segment.
"""

from typing import TYPE_CHECKING, NamedTuple

from ...protocol.records.errors import CorruptRecordError, UnsupportedForMessageFormatError
from ..errors import CorruptIndexError
from ..files.file_names import OFFSET_INDEX_SUFFIX, TIME_INDEX_SUFFIX
from .offset_index import OffsetIndex
from .time_index import TimeIndex
from .transaction_index import TransactionIndex

if TYPE_CHECKING:
    from .segment import Segment


class ResumedIndexes(NamedTuple):
    """What the indexes say of the batches in front of `position`; `newest` is (greatest timestamp, its offset)."""

    indexes: tuple[OffsetIndex, TimeIndex, TransactionIndex]
    newest: tuple[int, int]
    position: int


def resume_indexes(segment: "Segment", offset: int) -> ResumedIndexes | None:
    """What the files say of the batches below `offset`, with which they were synced; None where that can't be trusted.

    Raises OSError.
    """
    try:
        stored = segment.read_index(OFFSET_INDEX_SUFFIX), segment.read_index(TIME_INDEX_SUFFIX)
        offsets, times = OffsetIndex(segment.base_offset, stored[0]), TimeIndex(segment.base_offset, stored[1])
        transactions = segment.read_transaction_index()
    except (FileNotFoundError, CorruptIndexError):
        return None
    for index in (offsets, times, transactions):
        index.truncate_to(offset)
    if (offsets.to_bytes(), times.to_bytes()) == stored:
        # Nothing was written since: of thousands of idle logs no file is written anew.
        offsets.saved_entries, times.saved_entries = len(offsets), len(times)
    position = offsets.last_position
    newest = times.last_entry
    next_offset = segment.base_offset
    try:
        if not fits_the_log(segment, offsets, times):
            return None
        for place, header in segment.headers(position):
            if header.base_offset >= offset:
                break
            if header.base_offset < next_offset:
                # No CRC covers it: the front of a batch that was not synced, lost with the page that it lay in.
                if next_offset < offset:
                    return None
                break
            newest = max(newest, (header.max_timestamp, header.last_offset), key=lambda entry: entry[0])
            position, next_offset = place + header.size_in_bytes, header.next_offset
    except (CorruptRecordError, UnsupportedForMessageFormatError):
        if next_offset < offset:
            return None
    return ResumedIndexes((offsets, times, transactions), newest, position)


def fits_the_log(segment: "Segment", offsets: OffsetIndex, times: TimeIndex) -> bool:
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
        return all(_is_entry(segment, *entry) for entry in entries)
    except (CorruptRecordError, UnsupportedForMessageFormatError):
        return True  # the log is damaged there, of which the index can't be accused


def _is_entry(segment: "Segment", position: int, offset: int, max_timestamp: int | None) -> bool:
    """Whether there is a batch that holds `offset`, at that position if `max_timestamp` is None, else behind it."""
    if position < segment.size:
        for _, header in segment.headers(position):
            if max_timestamp is None:
                return header.base_offset <= offset
            if header.last_offset >= offset:
                return header.base_offset <= offset and header.max_timestamp == max_timestamp
    return False
