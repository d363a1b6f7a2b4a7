"""Finds the groups that will lose unread records, because retention is about to remove them.

Pure; times are ms since 1970. A group loses records if its committed offset, the next one that it would read, is in a
segment that retention removes soon. Source: our own. Kafka does not warn; the group's consumers then use
auto.offset.reset. The segments are those that storage/log/log_retention.py would remove.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple

from odradek.protocol.names.topics import TopicPartition
from odradek.storage.log.log_config import LogConfig
from odradek.storage.log.log_retention import RetentionSegment, breached_segments

HORIZON_SHARE = 10
"""A segment counts as removed soon when only a tenth of retention.ms or of retention.bytes is left. For retention.ms
that is at least two check intervals, but at most half of retention.ms."""
WARN_AGAIN_MS = 3_600_000


class Removal(NamedTuple):
    """A segment that retention removes soon. `due_ms`: when it reaches its age limit; None if the size limit of its
    partition decides, or the cap of the whole node (`by_cap`)."""

    end_offset: int
    due_ms: int | None
    by_cap: bool = False


class GroupAtRisk(NamedTuple):
    """A group whose committed offset is in a segment that is removed soon."""

    group_id: str
    topic: str
    partition: int
    committed_offset: int
    removal: Removal


def upcoming_removals(
    segments: Iterable[RetentionSegment],
    config: LogConfig,
    *,
    log_start_offset: int,
    high_watermark: int,
    check_interval_ms: int,
    now_ms: int,
) -> list[Removal]:
    """Returns the segments that retention removes soon (see HORIZON_SHARE), the oldest first."""
    if not config.is_deleted or config.is_compacted:
        return []
    facts = list(segments)
    soon = config
    if config.retention_ms >= 0:
        horizon_ms = max(2 * check_interval_ms, config.retention_ms // HORIZON_SHARE)
        soon = replace(soon, retention_ms=config.retention_ms - min(horizon_ms, config.retention_ms // 2))
    if config.retention_bytes >= 0:
        soon = replace(soon, retention_bytes=config.retention_bytes - config.retention_bytes // HORIZON_SHARE)
    count, _ = breached_segments(
        facts, soon, log_start_offset=log_start_offset, high_watermark=high_watermark, now_ms=now_ms
    )
    by_size, _ = breached_segments(
        facts,
        replace(soon, retention_ms=-1),
        log_start_offset=log_start_offset,
        high_watermark=high_watermark,
        now_ms=now_ms,
    )
    return [
        Removal(fact.end_offset, None if number < by_size else fact.largest_timestamp() + config.retention_ms)
        for number, fact in enumerate(facts[:count])
    ]


def groups_at_risk(
    committed: Iterable[tuple[str, str, int, int]],
    removals: Mapping[TopicPartition, list[Removal]],
    log_start_offsets: Mapping[TopicPartition, int],
) -> list[GroupAtRisk]:
    """Returns the entries of ``committed`` (group, topic, partition, offset) whose offset is in a segment that is
    removed soon.

    An offset below the log start offset is left out: its records are gone already.
    """
    found = []
    for group_id, topic, partition, offset in committed:
        key = topic, partition
        if offset < log_start_offsets.get(key, 0):
            continue
        removal = next((candidate for candidate in removals.get(key, ()) if offset < candidate.end_offset), None)
        if removal is not None:
            found.append(GroupAtRisk(group_id, topic, partition, offset, removal))
    return found


class WarningThrottle:
    """Limits the warnings to one an hour for each group and partition. A warning about another segment may come
    earlier."""

    def __init__(self, pause_ms: int = 0) -> None:
        """``pause_ms``: the shortest time in ms between warnings about two segments of a partition."""
        self._pause_ms = pause_ms
        self._said: dict[tuple[str, str, int], tuple[int, int]] = {}

    def new(self, risks: Iterable[GroupAtRisk], now_ms: int) -> list[GroupAtRisk]:
        """Returns the risks to warn about now. Groups and partitions that are not among ``risks`` are forgotten."""
        fresh, still = [], {}
        for risk in risks:
            key = risk.group_id, risk.topic, risk.partition
            end_offset, said_ms = self._said.get(key, (-1, now_ms - WARN_AGAIN_MS))
            pause_ms = WARN_AGAIN_MS if end_offset == risk.removal.end_offset else self._pause_ms
            if now_ms - said_ms >= pause_ms:
                fresh.append(risk)
                said_ms = now_ms
                end_offset = risk.removal.end_offset
            still[key] = end_offset, said_ms
        self._said = still
        return fresh
