"""Explains in words why a partition keeps its records, and until when.

Pure: facts, configuration and the time go in, sentences come out; times are ms since 1970, sizes bytes. The rules are
those of retention (storage/log/log_retention.py) and of the cleaner. Source: Kafka's UnifiedLog.deleteOldSegments,
LogSegment.shouldRoll, LogCleanerManager.
"""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from odradek.storage.log.log_config import LogConfig

from ..replicas.directories.disk_space import in_words

DAY_MS = 86_400_000
LONG_MS = 100 * 365 * DAY_MS
"""100 years. Longer durations are shown as "forever" or "never", and dates far after that as a number of ms."""


class SegmentOnDisk(NamedTuple):
    """A segment. `waited_ms`: for the active segment, the time that counts against segment.ms."""

    base_offset: int
    end_offset: int
    size: int
    largest_timestamp: int
    waited_ms: int = 0


class ExplainedTransaction(NamedTuple):
    """A transaction that was neither committed nor aborted."""

    producer_id: int
    first_offset: int
    last_timestamp: int


class PartitionOnDisk(NamedTuple):
    """The contents of a partition's directory. The last segment is the active one."""

    topic: str
    partition: int
    segments: Sequence[SegmentOnDisk]
    log_start_offset: int
    log_end_offset: int
    last_stable_offset: int
    transactions: Sequence[ExplainedTransaction] = ()
    deleted_files: int = 0
    deleted_bytes: int = 0
    cleaned_up_to: int = 0
    dirty_bytes: int = 0
    clean_bytes: int = 0
    earliest_dirty_timestamp: int | None = None

    @property
    def size(self) -> int:
        """The size of all log files."""
        return sum(segment.size for segment in self.segments)


class Explanation(NamedTuple):
    """The sentences about a partition, and the time (ms since 1970) when retention.ms deletes its oldest segment; None
    if retention.ms does not apply.
    """

    sentences: list[str]
    oldest_goes_ms: int | None


def explain_partition(facts: PartitionOnDisk, config: LogConfig, check_interval_ms: int, now_ms: int) -> Explanation:
    """Explains what is kept, why it is not deleted yet, and when it will be."""
    sentences = [*_contents(facts)]
    oldest_goes_ms = None
    if config.is_deleted and facts.size:
        oldest_goes_ms = _expiry_ms(facts.segments[0], config)
        sentences += _by_age(facts, config, check_interval_ms, now_ms)
        sentences += _by_size(facts, config, check_interval_ms)
    if config.is_compacted:
        sentences += _compaction(facts, config, now_ms)
    sentences += _active(facts, config, now_ms)
    sentences += _transactions(facts)
    if facts.deleted_files:
        sentences.append(
            f"{_count(facts.deleted_files, 'file')} ({in_words(facts.deleted_bytes)}) were deleted already and are"
            f" removed from disk after file.delete.delay.ms ({duration(config.file_delete_delay_ms)}), or at the next"
            " start."
        )
    return Explanation(sentences, oldest_goes_ms)


def _contents(facts: PartitionOnDisk) -> Iterator[str]:
    if not facts.size:
        yield f"Keeps nothing; the next record gets offset {facts.log_end_offset}."
        return
    first = facts.segments[0]
    yield (
        f"Keeps {in_words(facts.size)} in {_count(len(facts.segments), 'segment')}: offsets {facts.log_start_offset} to"
        f" {facts.log_end_offset - 1}."
    )
    if facts.log_start_offset > first.base_offset:
        yield (
            f"Records below offset {facts.log_start_offset} are deleted (DeleteRecords), but those from offset"
            f" {first.base_offset} on still take space: a segment is removed as a whole, the first one when the log"
            f" start offset has reached {first.end_offset}."
        )


# cleanup.policy=delete -----------------------------------------------------------


def _expiry_ms(segment: SegmentOnDisk, config: LogConfig) -> int | None:
    return None if config.retention_ms < 0 else segment.largest_timestamp + config.retention_ms


def _by_age(facts: PartitionOnDisk, config: LogConfig, check_interval_ms: int, now_ms: int) -> Iterator[str]:
    if config.retention_ms < 0:
        yield "Nothing is deleted by age: retention.ms is -1."
        return
    first = facts.segments[0]
    goes_ms = first.largest_timestamp + config.retention_ms
    what = f"The oldest segment (offsets {first.base_offset} to {first.end_offset - 1}, {in_words(first.size)})"
    newest = f"its newest record is of {moment(first.largest_timestamp)}"
    limit = f"retention.ms is {duration(config.retention_ms)}"
    if goes_ms < now_ms:
        yield (
            f"{what} is due: {newest}, {limit}. It is deleted at the next check, which comes"
            f" every {duration(check_interval_ms)} (log.retention.check.interval.ms) while a broker runs."
        )
        return
    yield (
        f"{what} is deleted {_when(goes_ms, now_ms)}: {newest}, {limit}, and a segment is deleted as a whole, when its"
        " newest record is old enough."
    )
    future = [segment for segment in facts.segments if segment.largest_timestamp > now_ms]
    if future:
        segment = future[0]
        yield (
            f"A record in the segment from offset {segment.base_offset} has a timestamp in the future,"
            f" {moment(segment.largest_timestamp)}: that segment, and all later ones, stay until retention.ms after"
            " that. message.timestamp.type=LogAppendTime, or message.timestamp.after.max.ms, keeps such records out."
        )


def _by_size(facts: PartitionOnDisk, config: LogConfig, check_interval_ms: int) -> Iterator[str]:
    if config.retention_bytes < 0:
        yield "Nothing is deleted by size: retention.bytes is -1."
        return
    first = facts.segments[0]
    over = facts.size - config.retention_bytes - first.size
    limit = f"retention.bytes is {in_words(config.retention_bytes)}, for each partition"
    if over >= 0:
        yield f"{limit}: the oldest segment is deleted at the next check (every {duration(check_interval_ms)})."
    elif len(facts.segments) == 1:
        yield (
            f"{limit}, and only whole segments are deleted. There is one segment, so the log may grow by segment.bytes"
            f" ({in_words(config.segment_bytes)}) before the first one is deleted."
        )
    else:
        yield (
            f"{limit}: the oldest segment is deleted when {in_words(-over)} more are written, because the others must"
            " reach the limit without it."
        )


# Compaction, the active segment, transactions --------------------------------------


def _compaction(facts: PartitionOnDisk, config: LogConfig, now_ms: int) -> Iterator[str]:
    if not facts.size:
        return
    total = facts.clean_bytes + facts.dirty_bytes
    ratio = facts.dirty_bytes / total if total else 0.0
    yield (
        f"Compacted: the last record of each key stays forever. It was cleaned up to offset {facts.cleaned_up_to};"
        f" {in_words(facts.dirty_bytes)} after that may be cleaned, a dirty ratio of {ratio:.2f}."
    )
    if not facts.dirty_bytes:
        yield "The active segment is never cleaned, so there is nothing to do until it rolls."
    elif ratio > config.min_cleanable_dirty_ratio:
        yield "It is cleaned as soon as the log cleaner has time for it."
    else:
        yield (
            f"It is cleaned when the ratio is above min.cleanable.dirty.ratio ({config.min_cleanable_dirty_ratio})"
            + _by_lag(facts, config, now_ms)
            + "."
        )
    if config.min_compaction_lag_ms:
        yield f"Records younger than min.compaction.lag.ms ({duration(config.min_compaction_lag_ms)}) are not cleaned."
    yield (
        f"A tombstone stays for delete.retention.ms ({duration(config.delete_retention_ms)}) after the cleaner has"
        " first read it."
    )


def _by_lag(facts: PartitionOnDisk, config: LogConfig, now_ms: int) -> str:
    if facts.earliest_dirty_timestamp is None or config.max_compaction_lag_ms > LONG_MS:
        return ""
    return (
        f", or {_when(facts.earliest_dirty_timestamp + config.max_compaction_lag_ms, now_ms)} (max.compaction.lag.ms)"
    )


def _active(facts: PartitionOnDisk, config: LogConfig, now_ms: int) -> Iterator[str]:
    active = facts.segments[-1] if facts.segments else None
    if active is None or not active.size:
        return
    rolls_ms = now_ms + config.segment_ms - active.waited_ms
    left = max(0, config.segment_bytes - active.size)
    yield (
        f"The active segment (from offset {active.base_offset}, {in_words(active.size)}) is still written to: it rolls"
        f" after {in_words(left)} more (segment.bytes) or with the first record {_when(rolls_ms, now_ms)} (segment.ms)."
    )


def _transactions(facts: PartitionOnDisk) -> Iterator[str]:
    for transaction in facts.transactions:
        yield (
            f"Producer {transaction.producer_id} has a transaction open since offset {transaction.first_offset} (last"
            f" written {moment(transaction.last_timestamp)}): read_committed consumers and the cleaner"
            f" stop at offset {facts.last_stable_offset} until it is committed or aborted."
        )


# Words -------------------------------------------------------------------------------


def moment(timestamp_ms: int) -> str:
    """A timestamp as a date in UTC; one that is too large for a date as a number of ms."""
    if timestamp_ms > LONG_MS + 60 * 365 * DAY_MS:
        return f"{timestamp_ms} ms since 1970"
    return datetime.fromtimestamp(timestamp_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def duration(milliseconds: int) -> str:
    """A duration as text, rounded down to its two largest units: `1 day 2 hours`."""
    if milliseconds > LONG_MS:
        return "forever"
    units = (("day", DAY_MS), ("hour", 3_600_000), ("minute", 60_000), ("second", 1_000), ("ms", 1))
    parts = []
    for name, size in units:
        count, milliseconds = divmod(milliseconds, size)
        if count:
            parts.append(f"{count} ms" if name == "ms" else _count(count, name))
    return " ".join(parts[:2]) or "0 ms"


def _when(timestamp_ms: int, now_ms: int) -> str:
    if timestamp_ms <= now_ms:
        return "from now on"
    if timestamp_ms - now_ms > LONG_MS:
        return "never"
    return f"after {moment(timestamp_ms)}, in {duration(timestamp_ms - now_ms)}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
