"""The rows of ``odradek groups --describe``: committed offset, log end offset and lag of each partition."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ..list_offsets import LATEST_TIMESTAMP
from ..types import TopicPartition

if TYPE_CHECKING:
    from ..admin import Admin
    from ..admin_groups import GroupDescription, MemberDescription


class GroupOffsetRow(NamedTuple):
    """One line of the table; None is printed as ``-``."""

    group: str
    topic: str | None
    partition: int | None
    current_offset: int | None
    log_end_offset: int | None
    lag: int | None
    consumer_id: str | None
    host: str | None
    client_id: str | None


async def describe_offsets(admin: Admin, group: GroupDescription) -> list[GroupOffsetRow]:
    """Partitions with a member first, then those that only have a committed offset, then members without partitions."""
    committed = await admin.list_group_offsets(group.group_id)
    owners = {partition: member for member in group.members for partition in member.assignment}
    partitions = sorted(set(owners) | set(committed))
    ends = await log_end_offsets(admin, partitions)
    rows = []
    for partition in sorted(partitions, key=lambda partition: (partition not in owners, partition)):
        offset = committed[partition].offset if partition in committed else None
        end = ends.get(partition)
        lag = None if offset is None or end is None else end - offset
        owner = owners.get(partition)
        rows.append(_row(group.group_id, partition, offset, end, lag, owner))
    rows += [_row(group.group_id, None, None, None, None, member) for member in group.members if not member.assignment]
    return rows


def _row(
    group_id: str,
    partition: TopicPartition | None,
    offset: int | None,
    end: int | None,
    lag: int | None,
    owner: MemberDescription | None,
) -> GroupOffsetRow:
    return GroupOffsetRow(
        group_id,
        partition.topic if partition is not None else None,
        partition.partition if partition is not None else None,
        offset,
        end,
        lag,
        owner.member_id if owner is not None else None,
        owner.host if owner is not None else None,
        owner.client_id if owner is not None else None,
    )


async def log_end_offsets(admin: Admin, partitions: list[TopicPartition]) -> dict[TopicPartition, int]:
    """The high watermarks; partitions that are deleted or have no leader are left out."""
    existing = set(await admin.list_topics())
    described = await admin.describe_topics({p.topic for p in partitions} & existing) if partitions else {}
    wanted = [
        partition
        for partition in partitions
        if partition.topic in described
        and (known := described[partition.topic].partitions.get(partition.partition)) is not None
        and known.leader >= 0
    ]
    if not wanted:
        return {}
    found = await admin.list_offsets(dict.fromkeys(wanted, LATEST_TIMESTAMP))
    return {partition: offset.offset for partition, offset in found.items()}
