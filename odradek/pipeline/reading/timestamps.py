"""Finds the offset of the first record of a partition at or after a timestamp.

Reads time and offset indexes, then batch headers, and decodes the records of one batch. Without indexes it reads more,
with the same result. Source: Kafka's UnifiedLog.fetchOffsetByTimestamp; Spark's Kafka source uses it for both bounds.
"""

import numpy

from odradek.storage.errors import CorruptIndexError
from odradek.storage.files.file_names import TIME_INDEX_SUFFIX
from odradek.storage.segment.time_index import TimeIndex

from ..decode.batch_table import BatchTable, check_crcs
from ..decode.damage import Damage
from ..decode.records import decode_chunk
from ..decode.segment_chunks import read_chunks
from ..directories.file_access import is_gone, is_unreadable, read_file
from ..directories.log_directories import PartitionDirectory
from ..directories.segment_files import SegmentFile, indexed_positions
from .positions import position_before


def offset_for_timestamp(found: PartitionDirectory, timestamp: int, log_start: int = 0) -> int | None:
    """The offset of the first record at or after `timestamp` (ms since 1970); None if there is none.

    Records before the offset `log_start` are deleted, and not searched. Raises OSError.
    """
    for index, segment in enumerate(found.segments):
        is_rolled = index + 1 < len(found.segments)
        if is_rolled and found.segments[index + 1].base_offset <= log_start:
            continue
        times = _time_index(segment)
        if is_rolled and len(times) and times.last_entry[0] < timestamp:
            continue  # a rolled segment's last entry is its greatest timestamp
        offset = _offset_in(segment, times, timestamp, log_start)
        if offset is not None:
            return offset
    return None


def _time_index(segment: SegmentFile) -> TimeIndex:
    """The time index. If it can't be read, an empty one, so that the segment is read from its start."""
    path = segment.beside(TIME_INDEX_SUFFIX)
    try:
        return TimeIndex(segment.base_offset, read_file(path))
    except CorruptIndexError:
        return TimeIndex(segment.base_offset)
    except OSError as error:
        if not (is_gone(error) or is_unreadable(error, path)):
            raise
        return TimeIndex(segment.base_offset)


def _offset_in(segment: SegmentFile, times: TimeIndex, timestamp: int, log_start: int) -> int | None:
    """The offset of the first record of a segment at or after a timestamp; None if there is none.

    Starts at the last entry of the time index with a lower timestamp: all batches before it are too old.
    """
    _, near = times.lookup(timestamp - 1)
    positions = indexed_positions(segment)
    start = position_before(segment, positions, max(near, log_start))
    for chunk in read_chunks(segment.path, start=start, batch_positions=positions, inode=segment.inode):
        if isinstance(chunk, Damage):
            continue
        offset = _offset_in_chunk(chunk, timestamp, log_start)
        if offset is not None:
            return offset
    return None


def _offset_in_chunk(chunk: BatchTable, timestamp: int, log_start: int) -> int | None:
    young = (chunk.column("max_timestamp") >= timestamp) & ~chunk.is_control & (chunk.last_offsets >= log_start)
    matches, _ = check_crcs(chunk)
    for index in numpy.flatnonzero(young & matches).tolist():
        selected = numpy.zeros(len(chunk), dtype=numpy.bool_)
        selected[index] = True
        for item in decode_chunk(chunk, selected, columns=["offset", "timestamp"]):
            if isinstance(item, Damage):
                continue
            times = item.columns.column("timestamp").to_numpy()
            offsets = item.columns.column("offset").to_numpy()
            found = numpy.flatnonzero((times >= timestamp) & (offsets >= log_start))
            if len(found):
                return int(offsets[found[0]])
    return None
