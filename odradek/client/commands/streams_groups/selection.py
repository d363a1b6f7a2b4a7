"""The groups of a command: those that were named, or all streams groups; and their committed offsets."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from ..groups.list_of_type import groups_of_type
from .options import TYPE

if TYPE_CHECKING:
    from ...types import OffsetAndMetadata, TopicPartition
    from .admin import StreamsGroupsAdmin
    from .options import StreamsGroupOptions


async def selected_groups(admin: StreamsGroupsAdmin, options: StreamsGroupOptions) -> list[str]:
    """The ids of ``--group`` or ``--all-groups``, sorted."""
    if options.all_groups:
        return [group.group_id for group in await groups_of_type(admin, TYPE)]
    return sorted(set(options.groups))


async def offsets_in(
    admin: StreamsGroupsAdmin, group_id: str, topics: Collection[str]
) -> dict[TopicPartition, OffsetAndMetadata]:
    """The committed offsets of some topics."""
    committed = await admin.list_group_offsets(group_id)
    return {partition: offset for partition, offset in sorted(committed.items()) if partition.topic in topics}
