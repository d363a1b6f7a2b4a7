"""``--list`` of ``odradek share-groups`` and ``odradek streams-groups``: groups of one type, with their states or not.

Source: ``ShareGroupCommand.listGroups``, ``StreamsGroupCommand.listGroups``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from ..output import print_json
from .options import named

if TYPE_CHECKING:
    from ...admin.group_descriptions import GroupListing
    from ...admin.groups import GroupAdmin

NARROWEST = 15


async def groups_of_type(admin: GroupAdmin, group_type: str, states: Sequence[str] = ()) -> list[GroupListing]:
    """The groups of the type (Share, Streams), or those in the states, sorted by id."""
    return await admin.list_groups(states=states, types=(group_type,))


async def list_groups_of_type(
    admin: GroupAdmin, group_type: str, state: str | None, valid_states: tuple[str, ...], *, as_json: bool
) -> None:
    """Prints the ids. ``state``: the value of ``--state``: prints the states, too, or only groups in these states."""
    listed = await groups_of_type(admin, group_type, named(state or "", valid_states, "state"))
    if as_json:
        print_json([{"group": group.group_id, "state": group.state} for group in listed])
    elif state is None:
        for group in listed:
            click.echo(group.group_id)
    else:
        width = max([NARROWEST, *(len(group.group_id) for group in listed)])
        for group_id, group_state in [("GROUP", "STATE"), *((group.group_id, group.state) for group in listed)]:
            click.echo(f"{group_id:<{width}} {group_state}")
