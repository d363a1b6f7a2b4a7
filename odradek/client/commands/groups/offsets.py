"""The rows of ``odradek groups --describe``: committed offset, log end offset and lag of each partition.

Owns: the partitions of a group, in Kafka's order, and the definition of lag in seconds. Never does: printing. Source:
``ConsumerGroupCommand.collectGroupsOffsets``; lag in seconds is Odradek's own (docs/commands.md).
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from odradek.protocol.common.lazy_imports import lazy_imports
from odradek.protocol.common.wall_clock import clock_ms

from ...cluster.list_offsets import LATEST_TIMESTAMP
from ...types import OffsetAndMetadata, TopicPartition

with lazy_imports:
    from ...admin import record_times

if TYPE_CHECKING:
    from ...admin.group_descriptions import GroupDescription, MemberDescription
    from ...admin.record_times import NextRecord
    from .admin import GroupsAdmin

GROUPS_AT_A_TIME = 50
"""The number of groups whose offsets are requested concurrently. A broker answers a connection's requests one by one,
so more would not be faster.
"""


class GroupOffsetRow(NamedTuple):
    """One line of the table; None is printed as ``-``."""

    group: str
    topic: str
    partition: int
    leader_epoch: int | None
    current_offset: int | None
    log_end_offset: int | None
    lag: int | None
    consumer_id: str | None
    host: str | None
    client_id: str | None
    lag_seconds: float | None = None
    next_record: NextRecord | None = None


async def describe_offsets(
    admin: GroupsAdmin, groups: Sequence[GroupDescription], *, isolation_level: str, lag_seconds: bool
) -> dict[str, list[GroupOffsetRow]]:
    """The rows of each group: assigned partitions, member by member, then those that only have a committed offset."""
    answers: list[dict[TopicPartition, OffsetAndMetadata]] = []
    for start in range(0, len(groups), GROUPS_AT_A_TIME):
        part = groups[start : start + GROUPS_AT_A_TIME]
        answers += await asyncio.gather(*(admin.list_group_offsets(group.group_id) for group in part))
    committed = {group.group_id: offsets for group, offsets in zip(groups, answers, strict=True)}
    partitions = {
        partition
        for group in groups
        for partition in (*committed[group.group_id], *(p for m in group.members for p in m.assignment))
    }
    ends = await log_end_offsets(admin, sorted(partitions), isolation_level)
    rows = {group.group_id: _rows(group, committed[group.group_id], ends) for group in groups}
    if lag_seconds:
        return {group_id: await _with_seconds(admin, of_group, isolation_level) for group_id, of_group in rows.items()}
    return rows


def _rows(
    group: GroupDescription,
    committed: Mapping[TopicPartition, OffsetAndMetadata],
    ends: Mapping[TopicPartition, int],
) -> list[GroupOffsetRow]:
    def row(partition: TopicPartition, owner: MemberDescription | None) -> GroupOffsetRow:
        position = committed.get(partition)
        end = ends.get(partition)
        return GroupOffsetRow(
            group.group_id,
            partition.topic,
            partition.partition,
            position.leader_epoch if position is not None and position.leader_epoch >= 0 else None,
            position.offset if position is not None else None,
            end,
            None if position is None or end is None else end - position.offset,
            owner.member_id if owner is not None else None,
            owner.host if owner is not None else None,
            owner.client_id if owner is not None else None,
        )

    owners = sorted((m for m in group.members if m.assignment), key=lambda member: -len(member.assignment))
    rows = [row(partition, member) for member in owners for partition in sorted(member.assignment)]
    owned = {partition for member in owners for partition in member.assignment}
    return rows + [row(partition, None) for partition in sorted(committed) if partition not in owned]


async def log_end_offsets(
    admin: GroupsAdmin, partitions: list[TopicPartition], isolation_level: str
) -> dict[TopicPartition, int]:
    """The high watermarks (read_committed: the last stable offsets). Partitions without a leader are left out."""
    with_leader = await partitions_with_leader(admin, partitions)
    if not with_leader:
        return {}
    found = await admin.list_offsets(dict.fromkeys(with_leader, LATEST_TIMESTAMP), isolation_level=isolation_level)
    return {partition: offset.offset for partition, offset in found.items()}


async def partitions_with_leader(admin: GroupsAdmin, partitions: list[TopicPartition]) -> list[TopicPartition]:
    """The partitions that exist and have a leader."""
    if not partitions:
        return []
    existing = set(await admin.list_topics())
    described = await admin.describe_topics({p.topic for p in partitions} & existing)
    return [
        partition
        for partition in partitions
        if partition.topic in described
        and (known := described[partition.topic].partitions.get(partition.partition)) is not None
        and known.leader >= 0
    ]


async def _with_seconds(admin: GroupsAdmin, rows: list[GroupOffsetRow], isolation_level: str) -> list[GroupOffsetRow]:
    """Adds the lag in seconds to the rows: the age of the first record after the committed offset.

    The record itself is fetched, so the age is exact. It is 0 if no record is left before the log end. It is None
    without a committed offset, if the partition has no leader, if the offset is after the log end, or if the record has
    no timestamp.
    """
    ranges = {
        TopicPartition(row.topic, row.partition): (row.current_offset, row.log_end_offset)
        for row in rows
        if row.current_offset is not None and row.log_end_offset is not None
    }
    found = await record_times.RecordTimeAdmin.beside(admin).next_records(ranges, isolation_level=isolation_level)
    now_ms = clock_ms()
    return [
        row._replace(
            lag_seconds=seconds_behind(row, found[partition], now_ms),
            next_record=found[partition],
        )
        if (partition := TopicPartition(row.topic, row.partition)) in found
        else row
        for row in rows
    ]


def seconds_behind(row: GroupOffsetRow, next_record: NextRecord | None, now_ms: int) -> float | None:
    """The seconds from the next record's timestamp until now, at least 0; see :func:`_with_seconds`."""
    if row.lag is None or row.lag < 0:
        return None
    if next_record is None:
        return 0.0
    if next_record.timestamp_ms < 0:
        return None
    return max(0, now_ms - next_record.timestamp_ms) / 1000
