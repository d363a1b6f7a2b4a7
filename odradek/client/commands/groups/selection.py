"""Finds the groups for a command: the named ones, or all consumer groups; and those of them that exist."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from odradek.protocol.errors import ErrorCode

from ...errors import AdminError

if TYPE_CHECKING:
    from ...admin.group_descriptions import GroupDescription
    from ...admin.groups import GroupAdmin
    from ...admin.streams_group_descriptions import StreamsGroupDescription
    from .options import GroupOptions

Description = TypeVar("Description", "GroupDescription", "StreamsGroupDescription")


async def selected_groups(admin: GroupAdmin, options: GroupOptions) -> list[str]:
    """The ids of the groups of ``--group``, or of all consumer groups with ``--all-groups``."""
    if not options.all_groups:
        return list(dict.fromkeys(options.groups))
    return [group.group_id for group in await admin.list_groups() if group.is_consumer_group]


async def existing_groups(admin: GroupAdmin, group_ids: Sequence[str]) -> dict[str, GroupDescription]:
    """Describes the groups that exist, leaves the others out. Raises AdminError for any other error of a group."""
    return await described_groups(admin.describe_groups, group_ids)


async def described_groups(
    describe: Callable[[Sequence[str]], Awaitable[dict[str, Description]]], group_ids: Sequence[str]
) -> dict[str, Description]:
    """What ``describe`` finds of the groups, as :func:`existing_groups` does."""
    try:
        found = await describe(group_ids)
    except AdminError as error:
        others = {
            key: failure for key, failure in error.errors.items() if failure.error_code != ErrorCode.GROUP_ID_NOT_FOUND
        }
        if others:
            raise AdminError(others, error.results) from None
        found = error.results
    return {group_id: group for group_id, group in found.items() if group.state != "Dead"}
