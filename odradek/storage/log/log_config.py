"""The configuration of one log: Kafka's topic keys as typed values.

Pure. Owns: names, units and Kafka's defaults. Never does: parsing text or knowing the server's synonyms
(`broker.config` does). Sizes are bytes, times ms; -1 means no limit where Kafka says so. Source: Kafka's LogConfig and
TopicConfig.
"""

from dataclasses import dataclass, field
from zlib import crc32

from odradek.protocol.records.batch import COMPRESSION_TYPE_MASK, LOG_APPEND_TIME_FLAG
from odradek.protocol.records.varint import MAX_INT64

MAX_ADOPTED_OFFSET = 1 << 62
"""The highest end offset that a log may have for `odradek storage adopt`. It leaves 2^62 offsets for appends."""

LARGEST_RECORD_BYTES = 2_147_483_639
"""The default of max.decompressed.message.bytes: the largest array of Java. No record is larger."""

CREATE_TIME = "CreateTime"
LOG_APPEND_TIME = "LogAppendTime"
PRODUCER_COMPRESSION = "producer"


@dataclass(frozen=True, slots=True)
class LogConfig:
    """The part of a topic's configuration that concerns its logs. Fields are Kafka's topic keys with underscores for
    dots.

    `segment_bytes` is `internal.segment.bytes` if that test key is set. `compression_type` is a codec's name,
    "uncompressed", or "producer" (batches keep the producer's compression). `producer_id_expiration_ms` is a server
    key, and so are `acks_all_fsync` (`odradek.acks.all.fsync`) and `check_records` (`odradek.produce.check.records`).
    """

    segment_bytes: int = 1 << 30
    segment_ms: int = 7 * 24 * 3600 * 1000
    segment_jitter_ms: int = 0
    segment_index_bytes: int = 10 << 20
    index_interval_bytes: int = 4096
    max_message_bytes: int = 1_048_588
    max_decompressed_message_bytes: int = LARGEST_RECORD_BYTES
    retention_ms: int = 7 * 24 * 3600 * 1000
    retention_bytes: int = -1
    cleanup_policy: frozenset[str] = frozenset({"delete"})
    message_timestamp_type: str = CREATE_TIME
    message_timestamp_before_max_ms: int = MAX_INT64
    message_timestamp_after_max_ms: int = 3_600_000
    flush_messages: int = MAX_INT64
    flush_ms: int = MAX_INT64
    file_delete_delay_ms: int = 60_000
    delete_retention_ms: int = 86_400_000
    min_compaction_lag_ms: int = 0
    max_compaction_lag_ms: int = MAX_INT64
    min_cleanable_dirty_ratio: float = 0.5
    min_insync_replicas: int = 1
    unclean_leader_election_enable: bool = False
    compression_type: str = PRODUCER_COMPRESSION
    compression_gzip_level: int = -1
    compression_lz4_level: int = 9
    compression_zstd_level: int = 3
    preallocate: bool = False
    producer_id_expiration_ms: int = 86_400_000
    acks_all_fsync: bool = False
    check_records: bool = False

    # What follows from the others, worked out once, because each append asks for it.

    is_compacted: bool = field(init=False, repr=False, compare=False)
    """Whether the cleaner keeps only the last value of each key; such a log refuses records without key."""
    max_segment_ms: int = field(init=False, repr=False, compare=False)
    """The age in ms at which a segment is rolled: segment.ms; for a compacted log at most max.compaction.lag.ms, since
    the active segment is never cleaned (LogConfig.maxSegmentMs, KIP-354)."""
    inspected_attributes: int = field(init=False, repr=False, compare=False)
    """The attributes of a batch that require an inspection of its records: any compression, if its records are limited.
    """
    has_rules_for_records: bool = field(init=False, repr=False, compare=False)
    """Whether the records of every batch of a client must be inspected: each needs a key, or may be too old or damaged.
    """

    def __post_init__(self) -> None:
        is_compacted = "compact" in self.cleanup_policy
        limit_ms = self.max_compaction_lag_ms if is_compacted and self.max_compaction_lag_ms > 0 else self.segment_ms
        every_time = self.message_timestamp_before_max_ms != MAX_INT64  # any record may be too old, not only the first
        object.__setattr__(self, "is_compacted", is_compacted)
        object.__setattr__(self, "max_segment_ms", min(limit_ms, self.segment_ms))
        is_limited = self.max_decompressed_message_bytes < LARGEST_RECORD_BYTES
        attributes = LOG_APPEND_TIME_FLAG | (COMPRESSION_TYPE_MASK if is_limited else 0)
        object.__setattr__(self, "inspected_attributes", attributes)
        object.__setattr__(self, "has_rules_for_records", is_compacted or self.check_records or every_time)

    def roll_jitter_ms(self, seed: int, base_offset: int) -> int:
        """A pseudo-random time to subtract from segment.ms, different for each segment and each seed of a log.

        Source: Kafka's LogConfig.randomSegmentJitter.
        """
        limit_ms = min(self.segment_jitter_ms, self.segment_ms)
        return crc32(b"%d %d" % (seed, base_offset)) % limit_ms if limit_ms > 0 else 0

    @property
    def is_deleted(self) -> bool:
        """Whether retention time and size remove whole segments."""
        return "delete" in self.cleanup_policy

    @property
    def is_log_append_time(self) -> bool:
        """Whether the broker's time of the append replaces the producer's timestamps."""
        return self.message_timestamp_type == LOG_APPEND_TIME


class FlushPolicy:
    """How much of a log must be synced before an append is answered, and before a consumer sees it.

    setting                      unsynced offsets allowed when answered             allowed when visible to consumers
    flush.messages=N             fewer than N (any acks)                            fewer than N
    odradek.acks.all.fsync       acks=all: none; other acks: as flush.messages      none

    Invariant: an answered record is visible, and a crash loses at most flush.messages visible records. Source: Kafka's
    UnifiedLog.append, which flushes before it returns once flush.messages offsets are unsynced.

    `unseen_from`: consumers do not see the log's end while this many offsets before it, or more, are unsynced.
    `asks_for_syncs`: whether an append may require a sync, now or after `flush_ms`; False for Kafka's defaults.
    """

    __slots__ = ("_flush_messages", "asks_for_syncs", "flush_ms", "unseen_from")

    def __init__(self, config: LogConfig) -> None:
        self._flush_messages = config.flush_messages
        self.unseen_from = 1 if config.acks_all_fsync else config.flush_messages
        self.flush_ms = config.flush_ms
        self.asks_for_syncs = self.unseen_from != MAX_INT64 or config.flush_ms != MAX_INT64

    def offset_to_answer(self, end_offset: int, *, acks_all: bool) -> int:
        """The end offset up to which the log must be synced before an append that ends at `end_offset` is answered."""
        return end_offset - (self.unseen_from if acks_all else self._flush_messages) + 1

    def offset_to_see(self, end_offset: int) -> int:
        """The end offset up to which the log must be synced before consumers see the records before `end_offset`."""
        return end_offset - self.unseen_from + 1
