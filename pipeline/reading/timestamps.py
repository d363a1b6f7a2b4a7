"""Finds the first offset of a partition whose record is as young as a timestamp.

Reads time and offset indexes, then batch headers, and decodes the records of one batch. Without indexes it reads more
and finds the same. Source: Kafka's UnifiedLog.fetchOffsetByTimestamp, which both bounds of Spark's Kafka source ask.
"""

import numpy

from ...storage.errors import CorruptIndexError
from ...storage.files.file_names import TIME_INDEX_SUFFIX, segment_path
from ...storage.segment.time_index import TimeIndex
from ..decode.batch_table import BatchTable, check_crcs
from ..decode.damage import Damage
from ..decode.records import decode_chunk
from ..decode.segment_chunks import read_chunks
from ..directories.file_access import is_gone, is_unreadable, read_file
from ..directories.log_directories import PartitionDirectory, SegmentFile, indexed_positions
from .positions import position_before


def offset_for_timestamp(found: PartitionDirectory, timestamp: int) -> int | None:
    """The offset of the first record (ms since 1970) from `timestamp` on, None without one. Raises OSError."""
    for index, segment in enumerate(found.segments):
        times = _time_index(segment)
        is_rolled = index + 1 < len(found.segments)
        if is_rolled and len(times) and times.last_entry[0] < timestamp:
            continue  # a rolled segment's last entry is its greatest timestamp
        offset = _offset_in(segment, times, timestamp)
        if offset is not None:
            return offset
    return None


def _time_index(segment: SegmentFile) -> TimeIndex:
    """The time index; an empty one if it can't be read, and the segment is read from its beginning."""
    path = segment_path(segment.path.parent, segment.base_offset, TIME_INDEX_SUFFIX)
    try:
        return TimeIndex(segment.base_offset, read_file(path))
    except CorruptIndexError:
        return TimeIndex(segment.base_offset)
    except OSError as error:
        if not (is_gone(error) or is_unreadable(error, path)):
            raise
        return TimeIndex(segment.base_offset)


def _offset_in(segment: SegmentFile, times: TimeIndex, timestamp: int) -> int | None:
    """Batches before the entry with the greatest timestamp below are too old; the index knows where that entry lies."""
    _, near = times.lookup(timestamp - 1)
    positions = indexed_positions(segment)
    start = position_before(segment, positions, near)
    for chunk in read_chunks(segment.path, start=start, batch_positions=positions, inode=segment.inode):
        if isinstance(chunk, Damage):
            continue
        offset = _offset_in_chunk(chunk, timestamp)
        if offset is not None:
            return offset
    return None


def _offset_in_chunk(chunk: BatchTable, timestamp: int) -> int | None:
    young = (chunk.column("max_timestamp") >= timestamp) & ~chunk.is_control
    matches, _ = check_crcs(chunk)
    for index in numpy.flatnonzero(young & matches).tolist():
        selected = numpy.zeros(len(chunk), dtype=numpy.bool_)
        selected[index] = True
        for item in decode_chunk(chunk, selected, columns=["offset", "timestamp"]):
            if isinstance(item, Damage):
                continue
            times = item.columns.column("timestamp").to_numpy()
            found = numpy.flatnonzero(times >= timestamp)
            if len(found):
                return int(item.columns.column("offset")[int(found[0])].as_py())
    return None
