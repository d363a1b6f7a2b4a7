"""Groups of all types: their names, the rows in sight, and one group with members, assignment and lag.

A lag is the distance from the committed offset to the high watermark, the end that read_uncommitted sees. It counts
offsets: control records and aborted records are in it. A partition without a committed offset has no lag.
"""

import asyncio
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from odradek.client.admin import GroupDescription, StreamsGroupDescription
from odradek.client.admin.record_times import RecordTimeAdmin
from odradek.client.cluster.list_offsets import LATEST_TIMESTAMP
from odradek.client.errors import AdminError
from odradek.client.types import TopicPartition
from odradek.protocol.common.wall_clock import clock_ms
from odradek.protocol.errors import ErrorCode, KafkaError

from ..arguments import ConsoleError, ViewArguments
from ..context import Context, Json

ROWS_AT_ONCE = 50
MOST_MEMBERS = 2_000
TIMED_PARTITIONS = 200
"""The partitions whose lag in seconds is read: those with the largest lag. Each costs a Fetch of one batch."""
SHARE, STREAMS = "share", "streams"


class Position(NamedTuple):
    """Where a group is in a partition; ``lag`` is None if it is unknown."""

    partition: TopicPartition
    committed: int | None
    end: int | None
    lag: int | None


async def groups(context: Context, arguments: ViewArguments) -> Json:
    """All groups: id, type, state and protocol."""
    found = await context.admin.list_groups()
    return {
        "groups": [
            {
                "name": group.group_id,
                "type": group.group_type.lower() or "classic",
                "state": group.state,
                "protocol": group.protocol_type,
            }
            for group in found
        ]
    }


async def details(context: Context, arguments: ViewArguments) -> Json:
    """What the rows in sight show: members and the sum of the lags. Names: up to 50."""
    names = arguments.items("names")[:ROWS_AT_ONCE]
    types = await types_of_groups(context)

    async def of(name: str) -> Json:
        if name not in types:
            return None
        group = await described_as(context, name, types[name])
        positions = await positions_of(context, group)
        lag = lag_of(positions)
        return {"members": len(group.members), "lag": None if lag is None else str(lag), "topics": _topics(group)}

    return dict(zip(names, await asyncio.gather(*map(of, names)), strict=True))


def _topics(group: GroupDescription) -> int:
    return len({partition.topic for member in group.members for partition in member.assignment})


async def group(context: Context, arguments: ViewArguments) -> Json:
    """One group: state, members with what they own, and each partition's lag in records and seconds."""
    name = arguments.text("group")
    found = await described(context, name)
    positions = await positions_of(context, found)
    seconds = await seconds_behind(context, positions)
    owners = {partition: number for number, member in enumerate(found.members) for partition in member.assignment}
    lag = lag_of(positions)
    return {
        "name": name,
        "type": found.group_type.lower(),
        "state": found.state,
        "protocol": found.protocol_type,
        "assignor": found.assignor,
        "coordinator": found.coordinator,
        "groupEpoch": found.group_epoch,
        "targetEpoch": found.target_assignment_epoch,
        "lag": None if lag is None else str(lag),
        "memberCount": len(found.members),
        "members": [
            {
                "id": member.member_id,
                "instance": member.group_instance_id,
                "client": member.client_id,
                "host": member.host,
                "epoch": member.member_epoch,
                "partitions": len(member.assignment),
                "target": None if member.target_assignment is None else len(member.target_assignment),
            }
            for member in found.members[:MOST_MEMBERS]
        ],
        "partitions": [
            {
                "topic": position.partition.topic,
                "partition": position.partition.partition,
                "committed": None if position.committed is None else str(position.committed),
                "end": None if position.end is None else str(position.end),
                "lag": None if position.lag is None else str(position.lag),
                "seconds": seconds.get(position.partition),
                "member": owners.get(position.partition),
            }
            for position in positions
        ],
    }


async def described(context: Context, name: str) -> GroupDescription:
    """A group of any type. Raises ConsoleError 404."""
    types = await types_of_groups(context)
    if name not in types:
        raise ConsoleError(404, f"there is no group {name}")
    return await described_as(context, name, types[name])


async def types_of_groups(context: Context) -> dict[str, str]:
    """Group -> its type, in lower case. Raises KafkaError."""
    return {group.group_id: group.group_type.lower() for group in await context.admin.list_groups()}


async def described_as(context: Context, name: str, kind: str) -> GroupDescription:
    """A group whose type is known. Raises KafkaError."""
    if kind == SHARE:
        return (await context.admin.describe_share_groups([name]))[name]
    if kind == STREAMS:
        streams: StreamsGroupDescription = (await context.admin.describe_streams_groups([name]))[name]
        return streams.as_group()
    return (await context.admin.describe_groups([name]))[name]


async def positions_of(context: Context, found: GroupDescription) -> list[Position]:
    """The position in each partition that the group has committed an offset of, or that a member owns."""
    committed, lags = await _committed(context, found)
    owned = {partition for member in found.members for partition in member.assignment}
    partitions = sorted(owned | set(committed))
    ends = await _ends(context, partitions)
    positions = []
    for partition in partitions:
        offset, end = committed.get(partition), ends.get(partition)
        lag = lags.get(partition)
        if lag is None and offset is not None and end is not None and found.group_type.lower() != SHARE:
            lag = max(end - offset, 0)
        positions.append(Position(partition, offset, end, lag))
    return positions


def lag_of(positions: Iterable[Position]) -> int | None:
    """The sum of the known lags; None if none is known."""
    known = [position.lag for position in positions if position.lag is not None]
    return sum(known) if known else None


async def _committed(
    context: Context, found: GroupDescription
) -> tuple[dict[TopicPartition, int], Mapping[TopicPartition, int | None]]:
    """Committed offsets (of a share group: start offsets), and the lags that the broker itself knows."""
    if found.group_type.lower() == SHARE:
        offsets = (await context.admin.list_share_group_offsets([found.group_id]))[found.group_id]
        known = {partition: offset for partition, offset in offsets.items() if offset is not None}
        return {p: offset.start_offset for p, offset in known.items()}, {p: o.lag for p, o in known.items()}
    offsets_of_group = await context.admin.list_group_offsets(found.group_id)
    return {partition: offset.offset for partition, offset in offsets_of_group.items()}, {}


async def _ends(context: Context, partitions: list[TopicPartition]) -> dict[TopicPartition, int]:
    """High watermarks; without those of partitions that are deleted, have no leader, or are hidden from this user."""
    if not partitions:
        return {}
    try:
        topics = await context.admin.describe_topics({partition.topic for partition in partitions})
    except AdminError as error:
        topics = error.results
    available = {TopicPartition(name, number) for name, topic in topics.items() for number in topic.available}
    with_leader = [partition for partition in partitions if partition in available]
    found = await context.admin.list_offsets(dict.fromkeys(with_leader, LATEST_TIMESTAMP))
    return {partition: offset.offset for partition, offset in found.items()}


async def seconds_behind(
    context: Context, positions: list[Position], most: int = TIMED_PARTITIONS
) -> dict[TopicPartition, float]:
    """The age of the first record that the group has not read, for the ``most`` partitions with the largest lag.

    The record is fetched, so the age is exact. 0 if nothing is left to read. Partitions that this user may not read
    are left out.
    """
    seconds = {position.partition: 0.0 for position in positions if position.lag == 0}
    behind = sorted((p for p in positions if p.lag and p.committed is not None), key=lambda p: -(p.lag or 0))[:most]
    ranges = {p.partition: (p.committed or 0, p.end or 0) for p in behind}
    try:
        found = await RecordTimeAdmin.beside(context.admin).next_records(ranges)
    except KafkaError as error:
        if error.error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED:
            return seconds
        raise
    now_ms = clock_ms()
    for partition, record in found.items():
        if record is None:
            seconds[partition] = 0.0
        elif record.timestamp_ms >= 0:
            seconds[partition] = max(0, now_ms - record.timestamp_ms) / 1000
    return seconds
