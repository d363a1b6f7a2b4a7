"""Selects the logs to clean now: the one with the greatest dirty ratio comes first.

Pure. Sizes are bytes, times ms since 1970. Source: Kafka's LogCleanerManager (grabFilthiestCompactedLog,
maxCompactionDelay, calculateCleanableBytes) and LogToClean; KIP-354.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from odradek.protocol.names.topics import TopicPartition

from ..log.log_config import LogConfig
from .grouping import CleanableRange, SegmentInfo


@dataclass(frozen=True, slots=True)
class LogToClean:
    """How dirty one log is. ``compaction_delay_ms``: the time since max.compaction.lag.ms was exceeded; 0 if it was
    not.
    """

    key: TopicPartition
    offsets: CleanableRange
    clean_bytes: int
    cleanable_bytes: int
    compaction_delay_ms: int
    min_cleanable_dirty_ratio: float

    @property
    def total_bytes(self) -> int:
        """The bytes of the cleaned and of the cleanable part."""
        return self.clean_bytes + self.cleanable_bytes

    @property
    def cleanable_ratio(self) -> float:
        """The dirty ratio: cleanable bytes divided by the total; 0 for an empty log."""
        return self.cleanable_bytes / self.total_bytes if self.total_bytes else 0.0

    @property
    def is_due(self) -> bool:
        """Whether the log is dirty enough, or has waited longer than max.compaction.lag.ms."""
        if self.compaction_delay_ms > 0 and self.cleanable_bytes > 0:
            return True
        return self.cleanable_ratio > self.min_cleanable_dirty_ratio


def log_to_clean(
    key: TopicPartition,
    segments: Sequence[SegmentInfo],
    offsets: CleanableRange,
    config: LogConfig,
    earliest_dirty_timestamp: int | None,
    now_ms: int,
) -> LogToClean:
    """The facts about one log. ``earliest_dirty_timestamp``: the least first timestamp of its dirty sealed segments."""
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
    """The due log with the greatest dirty ratio; None if no log is due."""
    return max(
        (log for log in logs if log.total_bytes and log.is_due), key=lambda log: log.cleanable_ratio, default=None
    )


def max_dirty_ratio(logs: Iterable[LogToClean]) -> float:
    """The dirty ratio of the filthiest log, due or not."""
    return max((log.cleanable_ratio for log in logs), default=0.0)


def map_entries(dedupe_buffer_bytes: int, load_factor: float, threads: int) -> int:
    """The maximum number of keys of a round: Kafka's slots of 24 bytes (an MD5 hash and an offset) times the load
    factor.

    Our map holds the keys themselves and needs more memory for the same number (offset_map.py).
    """
    buffer_bytes = min(dedupe_buffer_bytes // max(threads, 1), 0x7FFFFFFF)
    return max(1, int(buffer_bytes // 24 * load_factor))
