"""Which logs are to be cleaned now, and which first: the one with the greatest part that was not cleaned yet.

Pure. Sizes are bytes, times ms since 1970. Source: Kafka's LogCleanerManager (grabFilthiestCompactedLog,
maxCompactionDelay, calculateCleanableBytes) and LogToClean; KIP-354.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..log.log_config import LogConfig
from .grouping import CleanableRange, SegmentFacts

TopicPartition = tuple[str, int]


@dataclass(frozen=True, slots=True)
class LogToClean:
    """How dirty one log is. ``compaction_delay_ms``: how long max.compaction.lag.ms has been passed, 0 for not."""

    key: TopicPartition
    offsets: CleanableRange
    clean_bytes: int
    cleanable_bytes: int
    compaction_delay_ms: int
    min_cleanable_dirty_ratio: float

    @property
    def total_bytes(self) -> int:
        """Of the part that was cleaned and of the part that may be."""
        return self.clean_bytes + self.cleanable_bytes

    @property
    def cleanable_ratio(self) -> float:
        """The dirty ratio: what may be cleaned of the total; 0 for an empty log."""
        return self.cleanable_bytes / self.total_bytes if self.total_bytes else 0.0

    @property
    def is_due(self) -> bool:
        """Whether it is dirty enough, or has waited for longer than max.compaction.lag.ms."""
        if self.compaction_delay_ms > 0 and self.cleanable_bytes > 0:
            return True
        return self.cleanable_ratio > self.min_cleanable_dirty_ratio


def log_to_clean(
    key: TopicPartition,
    segments: Sequence[SegmentFacts],
    offsets: CleanableRange,
    config: LogConfig,
    earliest_dirty_timestamp: int | None,
    now_ms: int,
) -> LogToClean:
    """The facts of one log. ``earliest_dirty_timestamp``: the least first timestamp of its dirty sealed segments."""
    clean = sum(segment.size for segment in segments if segment.base_offset < offsets.first_dirty_offset)
    dirty = 0
    for index, segment in enumerate(segments[:-1]):
        reaches_dirty = segments[index + 1].base_offset > offsets.first_dirty_offset
        if reaches_dirty and segment.base_offset < offsets.first_uncleanable_offset:
            dirty += segment.size
    delay = 0
    if earliest_dirty_timestamp is not None:
        delay = max(0, now_ms - max(config.max_compaction_lag_ms, 0) - earliest_dirty_timestamp)
    return LogToClean(key, offsets, clean, dirty, delay, config.min_cleanable_dirty_ratio)


def filthiest(logs: Iterable[LogToClean]) -> LogToClean | None:
    """Of the logs that are due, the one with the greatest dirty ratio; None when nothing is to be done."""
    return max(
        (log for log in logs if log.total_bytes and log.is_due), key=lambda log: log.cleanable_ratio, default=None
    )


def max_dirty_ratio(logs: Iterable[LogToClean]) -> float:
    """The dirty ratio of the filthiest log, due or not."""
    return max((log.cleanable_ratio for log in logs), default=0.0)


def map_entries(dedupe_buffer_bytes: int, load_factor: float, threads: int) -> int:
    """How many keys a round may hold: Kafka's slots of 24 bytes (an MD5 hash and an offset), filled so far.

    Ours holds the keys themselves and needs more memory for as many (offset_map.py).
    """
    buffer_bytes = min(dedupe_buffer_bytes // max(threads, 1), 0x7FFFFFFF)
    return max(1, int(buffer_bytes // 24 * load_factor))
