"""``odradek share-groups --reset-offsets``: computes the new start offsets, and sets them with ``--execute``.

Owns: which groups and partitions can be reset. The new offsets are computed as those of ``odradek groups``.
Source: ``ShareGroupCommand.resetOffsets``, ``GroupOffsetsResetter``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from odradek.protocol.errors import ErrorCode

from ...errors import AdminError
from ..groups.reset import new_offsets, print_new_offsets
from ..groups.selection import described_groups
from ..running import CommandError

if TYPE_CHECKING:
    from ...admin.share_groups import SharePartitionOffset
    from ...types import TopicPartition
    from ..groups.reset_target import ResetTo
    from .admin import ShareGroupsAdmin
    from .options import ShareGroupOptions

EMPTY = "Empty"


async def reset_share_group(admin: ShareGroupsAdmin, options: ShareGroupOptions, to: ResetTo) -> int | None:
    """``--reset-offsets``: sets the offsets with ``--execute``, and shows them. Raises CommandError, KafkaError."""
    (group_id,) = options.groups
    group = (await described_groups(admin.describe_share_groups, [group_id])).get(group_id)
    if group is not None and group.state != EMPTY:
        raise CommandError(f"Share group '{group_id}' is not empty. Stop its members first.")
    if to.kind == "from-file" and group_id not in to.plan:
        raise CommandError(f"No reset plan for group {group_id} found in {options.reset.from_file}")
    now = await _offsets_now(admin, group_id) if options.all_topics or to.kind == "to-current" else {}
    current = {partition: at.start_offset for partition, at in now.items() if at is not None}
    scope = options.topics
    if options.all_topics:
        scope = tuple(f"{partition.topic}:{partition.partition}" for partition in sorted(now))
        if not scope:
            raise CommandError(f"share group '{group_id}' has no offsets; name topics with --topic")
    offsets = await new_offsets(admin, scope, group_id, to, current)
    if options.reset.execute:
        await _set(admin, group_id, offsets)
    print_new_offsets(
        {group_id: offsets},
        as_json=options.as_json,
        export=options.reset.export,
        executed=options.reset.execute,
        with_group=False,
    )
    return None


async def _offsets_now(admin: ShareGroupsAdmin, group_id: str) -> Mapping[TopicPartition, SharePartitionOffset | None]:
    """The offsets of a group; empty if it does not exist."""
    try:
        return (await admin.list_share_group_offsets([group_id]))[group_id]
    except AdminError as error:
        if error.errors[group_id].error_code != ErrorCode.GROUP_ID_NOT_FOUND:
            raise error.errors[group_id] from None
        return {}


async def _set(admin: ShareGroupsAdmin, group_id: str, offsets: Mapping[TopicPartition, int]) -> None:
    try:
        await admin.alter_share_group_offsets(group_id, offsets)
    except AdminError as error:
        raise CommandError(f"not all offsets were set: {_told(list(error.errors.items()))}") from None


def _told(failures: Sequence[tuple[object, Exception]]) -> str:
    return ", ".join(str(failure.args[-1]) for _, failure in failures)
