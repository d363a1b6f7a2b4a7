"""Which neighbouring segments are cleaned into one, and which part of a log may be cleaned at all.

Pure. Source: Kafka's Cleaner.groupSegmentsBySize, LogCleanerManager.cleanableOffsets and calculateCleanableBytes.
"""

from collections.abc import Sequence
from typing import NamedTuple

from ..segment.segment import MAX_RELATIVE_OFFSET


class SegmentFacts(NamedTuple):
    """A segment: offsets, bytes of its files, the greatest timestamp in it (or its file's time without any), in ms."""

    base_offset: int
    size: int
    offset_index_size: int
    time_index_size: int
    largest_timestamp: int


class CleanableRange(NamedTuple):
    """Offsets `[first_dirty, first_uncleanable)` have not been cleaned yet and may be; both are segment boundaries
    or the log's start."""

    first_dirty_offset: int
    first_uncleanable_offset: int


def first_dirty_offset(cleaned_up_to: int | None, log_start_offset: int, log_end_offset: int) -> tuple[int, str | None]:
    """(where the part begins that was not cleaned, why not where the checkpoint says; None: it is as it says).

    A checkpoint outside the log counts as none (LogCleanerManager.cleanableOffsets).
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
    segments: Sequence[SegmentFacts],
    *,
    cleaned_up_to: int | None,
    log_start_offset: int,
    log_end_offset: int,
    last_stable_offset: int,
    min_compaction_lag_ms: int,
    now_ms: int,
) -> CleanableRange:
    """The range of a round: never the active (last) segment, nothing at or behind the last stable offset, nothing
    younger than min.compaction.lag.ms. `cleaned_up_to` is the cleaner's checkpoint; one outside the log counts as none.
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
    return CleanableRange(first_dirty, segments[_slot_of(segments, uncleanable)].base_offset)


def _slot_of(segments: Sequence[SegmentFacts], offset: int) -> int:
    """The index of the segment that holds `offset`."""
    slot = 0
    for index, segment in enumerate(segments):
        if segment.base_offset <= offset:
            slot = index
    return slot


def group_segments(
    segments: Sequence[SegmentFacts], *, segment_bytes: int, segment_index_bytes: int, first_uncleanable_offset: int
) -> list[list[SegmentFacts]]:
    """The segments in groups that each fit into one segment, in order; the first counts whatever its size."""
    groups: list[list[SegmentFacts]] = []
    for index, segment in enumerate(segments):
        following = segments[index + 1].base_offset if index + 1 < len(segments) else first_uncleanable_offset
        if groups and _fits(groups[-1], segment, following - 1, segment_bytes, segment_index_bytes):
            groups[-1].append(segment)
        else:
            groups.append([segment])
    return groups


def _fits(
    group: Sequence[SegmentFacts], segment: SegmentFacts, last_offset: int, segment_bytes: int, segment_index_bytes: int
) -> bool:
    return (
        sum(member.size for member in group) + segment.size <= segment_bytes
        and sum(member.offset_index_size for member in group) + segment.offset_index_size <= segment_index_bytes
        and sum(member.time_index_size for member in group) + segment.time_index_size <= segment_index_bytes
        and (segment.size == 0 or last_offset - group[0].base_offset <= MAX_RELATIVE_OFFSET)
    )
