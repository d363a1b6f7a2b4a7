"""``odradek share-groups --list``: the ids of share groups, with ``--state`` also their states.

Source: ``ShareGroupCommand.listGroups``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ..groups.options import named
from ..output import print_json
from .options import STATES, ShareGroupOptions

if TYPE_CHECKING:
    from ...admin.group_descriptions import GroupListing
    from ...admin.groups import GroupAdmin

TYPE = "Share"
NARROWEST = 15


async def every_share_group(admin: GroupAdmin, states: list[str] | None = None) -> list[GroupListing]:
    """The share groups of the cluster, or those in the states, sorted by id."""
    return await admin.list_groups(states=states or (), types=(TYPE,))


async def list_share_groups(admin: GroupAdmin, options: ShareGroupOptions) -> int | None:
    """``--list``, with ``--state`` for states or only some states."""
    listed = await every_share_group(admin, named(options.state or "", STATES, "state"))
    if options.as_json:
        print_json([{"group": group.group_id, "state": group.state} for group in listed])
    elif options.state is None:
        for group in listed:
            click.echo(group.group_id)
    else:
        width = max([NARROWEST, *(len(group.group_id) for group in listed)])
        for group_id, state in [("GROUP", "STATE"), *((group.group_id, group.state) for group in listed)]:
            click.echo(f"{group_id:<{width}} {state}")
    return None
