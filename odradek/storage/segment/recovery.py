"""Recovery of one segment: how much of its indexes is kept after a crash, without reading the whole log.

Owns: nothing; it reads the files and sets the segment's indexes. Never does: checking batches (the log's loader does).
Index files are overwritten in place, so a crash may have torn their last entries: these are compared with the batches.
Source: our own; Kafka's recovery reads the whole segment.
"""

from typing import NamedTuple

from odradek.protocol.records.errors import CorruptRecordError

from ..errors import CorruptIndexError
from ..files.file_names import OFFSET_INDEX_SUFFIX, TIME_INDEX_SUFFIX
from .index_check import fits_the_log
from .offset_index import OffsetIndex
from .segment import Segment
from .time_index import TimeIndex
from .transaction_index import TransactionIndex


class ResumedIndexes(NamedTuple):
    """The indexes of the batches before `position` (bytes); `newest` is (greatest timestamp, its offset)."""

    indexes: tuple[OffsetIndex, TimeIndex, TransactionIndex]
    newest: tuple[int, int]
    position: int


def resume_recovery(segment: Segment, offset: int) -> int:
    """Loads the part of the segment's indexes below `offset`. The caller reads the batches after it.

    Returns the position where that part ends; 0, with empty indexes, if the files can't be trusted. Raises OSError.
    """
    segment.indexes.reset()
    resumed = _resume_indexes(segment, offset) if offset > segment.base_offset else None
    if resumed is None:
        return 0
    segment.indexes.replace(*resumed)
    return resumed.position


def _resume_indexes(segment: Segment, offset: int) -> ResumedIndexes | None:
    """The indexes of the batches below `offset`, the recovery point. None if the files can't be trusted."""
    try:
        stored = segment.indexes.read_file(OFFSET_INDEX_SUFFIX), segment.indexes.read_file(TIME_INDEX_SUFFIX)
        offsets, times = OffsetIndex(segment.base_offset, stored[0]), TimeIndex(segment.base_offset, stored[1])
        transactions = segment.indexes.read_transaction_index()
    except (FileNotFoundError, CorruptIndexError):
        return None
    for index in (offsets, times, transactions):
        index.truncate_to(offset)
    if (offsets.to_bytes(), times.to_bytes()) == stored:
        # Nothing was written since: the index files of an idle log are not rewritten.
        offsets.saved_entries, times.saved_entries = len(offsets), len(times)
    position = offsets.last_position
    newest = times.last_entry
    next_offset = segment.base_offset
    try:
        if not fits_the_log(segment.file.headers, offsets, times):
            return None
        for place, header in segment.file.headers(position):
            if header.base_offset >= offset:
                break
            if header.base_offset < next_offset:
                # The CRC does not cover the base offset: a crash lost the page with the front of an unsynced batch.
                if next_offset < offset:
                    return None
                break
            newest = max(newest, (header.max_timestamp, header.last_offset), key=lambda entry: entry[0])
            position, next_offset = place + header.size_in_bytes, header.next_offset
    except CorruptRecordError:
        if next_offset < offset:
            return None
    return ResumedIndexes((offsets, times, transactions), newest, position)
