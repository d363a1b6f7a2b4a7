"""``odradek groups --list``: consumer groups as ``kafka-consumer-groups.sh`` lists them, or groups of all types.

Source: ``ConsumerGroupCommand.listGroups`` and ``GroupsCommand.printGroupDetails``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ..output import print_json
from .options import ALL_TYPES, STATES, TYPES, GroupOptions, named

if TYPE_CHECKING:
    from ...admin.group_descriptions import GroupListing
    from ...admin.groups import GroupAdmin


async def list_groups(admin: GroupAdmin, options: GroupOptions) -> int | None:
    """``--list``, with ``--state`` and ``--type``, or with the filters of ``kafka-groups.sh``."""
    states = named(options.state or "", STATES, "state")
    types = named(options.type_ or "", TYPES, "type")
    if options.every_type:
        kind = named(options.group_type or "", ALL_TYPES, "type")
        listed = [group for group in await admin.list_groups() if _passes(group, options, kind)]
    else:
        listed = [group for group in await admin.list_groups(states=states, types=types) if group.is_consumer_group]
    if options.as_json:
        print_json(
            [{"group": g.group_id, "type": g.group_type, "protocol": g.protocol_type, "state": g.state} for g in listed]
        )
    elif options.every_type:
        _print_every_type(listed)
    elif options.state is None and options.type_ is None:
        for group in listed:
            click.echo(group.group_id)
    else:
        _print_consumer_groups(listed, options)
    return None


def _passes(group: GroupListing, options: GroupOptions, types: list[str]) -> bool:
    group_type = group.group_type.capitalize()
    if types and group_type not in types:
        return False
    if options.protocol is not None and group.protocol_type != options.protocol:
        return False
    if options.consumer:
        return group.protocol_type in ("consumer", "") or group_type == "Consumer"
    if options.share or options.streams:
        return group_type == ("Share" if options.share else "Streams")
    return True


def _print_every_type(listed: list[GroupListing]) -> None:
    rows = [("GROUP", "TYPE", "PROTOCOL")]
    rows += [(group.group_id, group.group_type.capitalize(), group.protocol_type) for group in listed]
    width = max(20, *(len(cell) for row in rows for cell in row))
    for row in rows:
        click.echo(" ".join(f"{cell:<{width}}" for cell in row))


def _print_consumer_groups(listed: list[GroupListing], options: GroupOptions) -> None:
    rows = [("GROUP", "TYPE", "STATE")]
    rows += [(group.group_id, group.group_type.capitalize(), group.state) for group in listed]
    width = max([15, *(len(group.group_id) for group in listed)]) + 10
    for group_id, group_type, state in rows:
        columns = [f"{group_id:<{width}}"]
        if options.type_ is not None:
            columns.append(f"{group_type:<20}")
        if options.state is not None:
            columns.append(f"{state:<20}")
        click.echo(" ".join(columns))
