"""The rows of ``odradek streams-groups --describe``: committed offset, log end offset and lag of each partition.

Source: ``StreamsGroupCommand.getOffsets``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ...cluster.list_offsets import EARLIEST_TIMESTAMP, LATEST_TIMESTAMP
from ..groups.offsets import partitions_with_leader
from .selection import offsets_in

if TYPE_CHECKING:
    from ...admin.streams_group_descriptions import StreamsGroupDescription
    from ...types import TopicPartition
    from .admin import StreamsGroupsAdmin


class StreamsOffsetRow(NamedTuple):
    """One line of the table of offsets; None is printed as ``-``."""

    partition: TopicPartition
    current_offset: int | None
    leader_epoch: int | None
    log_end_offset: int
    lag: int
    """From the committed offset to the end; from the log start if there is none."""


async def offset_rows(admin: StreamsGroupsAdmin, group: StreamsGroupDescription) -> list[StreamsOffsetRow]:
    """The partitions that active tasks read, and that exist and have a leader, sorted."""
    active = [task for member in group.members for task in member.tasks.active]
    partitions = await partitions_with_leader(admin, sorted(group.partitions_of(active)))
    if not partitions:
        return []
    starts = await admin.list_offsets(dict.fromkeys(partitions, EARLIEST_TIMESTAMP))
    ends = await admin.list_offsets(dict.fromkeys(partitions, LATEST_TIMESTAMP))
    read_topics = [topic for part in group.subtopologies for topic in part.read_topics]
    committed = await offsets_in(admin, group.group_id, read_topics)

    def row(partition: TopicPartition) -> StreamsOffsetRow:
        at, end = committed.get(partition), ends[partition].offset
        if at is None:
            return StreamsOffsetRow(partition, None, None, end, end - starts[partition].offset)
        return StreamsOffsetRow(
            partition, at.offset, at.leader_epoch if at.leader_epoch >= 0 else None, end, end - at.offset
        )

    return [row(partition) for partition in partitions]
