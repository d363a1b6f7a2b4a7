"""Finds records of a segment by their own timestamps.

Owns: nothing; it reads. Never does: changing the segment. The indexes say where to begin, the batches' greatest
timestamps which to decode. Source: Kafka's LogSegment.findOffsetByTimestamp, FileRecords.searchForTimestamp, KIP-734.
"""

from ..protocol.records.record import iterate_records
from .read_result import TimestampAndOffset
from .segment import Segment


def find_timestamp(segment: Segment, timestamp: int, starting_offset: int) -> TimestampAndOffset | None:
    """The first record from `starting_offset` on whose own timestamp is `timestamp` or later."""
    _, near_offset = segment.time_index.lookup(timestamp)
    position = segment.offset_index.lookup(max(near_offset, starting_offset))
    if position >= segment.size:
        return None
    for place, header in segment.headers(position):
        if header.max_timestamp < timestamp or header.last_offset < starting_offset:
            continue
        for record in iterate_records(segment.read_bytes(place, header.size_in_bytes), header):
            if record.timestamp >= timestamp and record.offset >= starting_offset:
                return TimestampAndOffset(record.timestamp, record.offset, header.partition_leader_epoch)
    return None


def find_max_timestamp(segment: Segment) -> TimestampAndOffset | None:
    """The first record with the greatest timestamp, which is -1 where records have none; None without records."""
    greatest = segment.max_timestamp
    position = segment.offset_index.lookup(segment.max_timestamp_offset)
    for place, header in segment.headers(position):
        if header.max_timestamp != greatest:
            continue
        if header.is_log_append_time:
            return TimestampAndOffset(greatest, header.base_offset, header.partition_leader_epoch)
        for record in iterate_records(segment.read_bytes(place, header.size_in_bytes), header):
            if record.timestamp == greatest:
                return TimestampAndOffset(record.timestamp, record.offset, header.partition_leader_epoch)
    return None
