"""Groups neighbouring segments that are cleaned into one, and finds the part of a log that may be cleaned.

Pure. Source: Kafka's Cleaner.groupSegmentsBySize, LogCleanerManager.cleanableOffsets and calculateCleanableBytes.
"""

from collections.abc import Sequence
from typing import NamedTuple

from ..segment.offset_index import MAX_RELATIVE_OFFSET


class SegmentInfo(NamedTuple):
    """A segment: offsets, bytes of its files, the greatest timestamp (or the file's time if there is none), in ms."""

    base_offset: int
    size: int
    offset_index_size: int
    time_index_size: int
    largest_timestamp: int


class CleanableRange(NamedTuple):
    """Offsets `[first_dirty, first_uncleanable)` are not cleaned yet and may be cleaned. Both are segment boundaries or
    the log's start. `high_watermark`: of the log when the range was taken.
    """

    first_dirty_offset: int
    first_uncleanable_offset: int
    high_watermark: int = -1


def first_dirty_offset(cleaned_up_to: int | None, log_start_offset: int, log_end_offset: int) -> tuple[int, str | None]:
    """(the first offset that is not cleaned, the reason if it differs from the checkpoint or None).

    A checkpoint outside the log is ignored (LogCleanerManager.cleanableOffsets).
    """
    if cleaned_up_to is None or log_start_offset <= cleaned_up_to <= log_end_offset:
        return log_start_offset if cleaned_up_to is None else cleaned_up_to, None
    if cleaned_up_to < log_start_offset:
        return log_start_offset, f"the checkpointed offset {cleaned_up_to} is below the log start offset"
    return (
        log_start_offset,
        f"the checkpointed offset {cleaned_up_to} is larger than the log end offset {log_end_offset}",
    )


def cleanable_range(
    segments: Sequence[SegmentInfo],
    *,
    cleaned_up_to: int | None,
    log_start_offset: int,
    log_end_offset: int,
    last_stable_offset: int,
    min_compaction_lag_ms: int,
    now_ms: int,
    high_watermark: int | None = None,
) -> CleanableRange:
    """The range of a round: not the active (last) segment, nothing from the last stable offset on, nothing younger than
    min.compaction.lag.ms. `cleaned_up_to` is the cleaner's checkpoint; it is ignored if it lies outside the log.
    Without `high_watermark` it is the log's end.
    """
    first_dirty, _ = first_dirty_offset(cleaned_up_to, log_start_offset, log_end_offset)
    bounds = [last_stable_offset, segments[-1].base_offset]
    if min_compaction_lag_ms > 0:
        first_reached = _slot_of(segments, first_dirty)
        for segment in segments[first_reached:-1]:
            if segment.largest_timestamp > now_ms - min_compaction_lag_ms:
                bounds.append(segment.base_offset)
                break
    uncleanable = max(first_dirty, min(bounds))
    end = log_end_offset if high_watermark is None else high_watermark
    return CleanableRange(first_dirty, segments[_slot_of(segments, uncleanable)].base_offset, end)


def _slot_of(segments: Sequence[SegmentInfo], offset: int) -> int:
    """The index of the segment that holds `offset`."""
    slot = 0
    for index, segment in enumerate(segments):
        if segment.base_offset <= offset:
            slot = index
    return slot


def group_segments(
    segments: Sequence[SegmentInfo], *, segment_bytes: int, segment_index_bytes: int, first_uncleanable_offset: int
) -> list[list[SegmentInfo]]:
    """The segments, in order, in groups that each fit into one segment. A group has at least one segment of any
    size.
    """
    groups: list[list[SegmentInfo]] = []
    for index, segment in enumerate(segments):
        following = segments[index + 1].base_offset if index + 1 < len(segments) else first_uncleanable_offset
        if groups and _fits(groups[-1], segment, following - 1, segment_bytes, segment_index_bytes):
            groups[-1].append(segment)
        else:
            groups.append([segment])
    return groups


def _fits(
    group: Sequence[SegmentInfo], segment: SegmentInfo, last_offset: int, segment_bytes: int, segment_index_bytes: int
) -> bool:
    return (
        sum(member.size for member in group) + segment.size <= segment_bytes
        and sum(member.offset_index_size for member in group) + segment.offset_index_size <= segment_index_bytes
        and sum(member.time_index_size for member in group) + segment.time_index_size <= segment_index_bytes
        and (segment.size == 0 or last_offset - group[0].base_offset <= MAX_RELATIVE_OFFSET)
    )
