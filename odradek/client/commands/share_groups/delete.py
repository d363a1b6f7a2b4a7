"""``odradek share-groups --delete`` and ``--delete-offsets``.

Source: ``ShareGroupCommand``: deleteShareGroups and deleteOffsets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from odradek.protocol.errors import ErrorCode, KafkaError

from ...errors import AdminError, broker_error
from ..groups.delete import print_deleted
from ..groups.list_of_type import groups_of_type
from ..output import print_columns, print_json
from .options import TYPE, ShareGroupOptions

if TYPE_CHECKING:
    from .admin import ShareGroupsAdmin

EMPTY = "Empty"


async def delete_share_groups(admin: ShareGroupsAdmin, options: ShareGroupOptions) -> int | None:
    """``--delete``: deletes the groups and prints the outcome of each. Returns 1 if one failed, otherwise 0.

    A group of another type is not deleted, nor is one with members.
    """
    states = {group.group_id: group.state for group in await groups_of_type(admin, TYPE)}
    named = list(states) if options.all_groups else list(dict.fromkeys(options.groups))
    failed: dict[str, KafkaError] = {}
    reasons: dict[str, str] = {}
    for group_id in named:
        if group_id not in states:
            failed[group_id] = broker_error(ErrorCode.GROUP_ID_NOT_FOUND, f"group '{group_id}'")
            reasons[group_id] = f"Group '{group_id}' is not a share group ('odradek share-groups --list' shows all)"
        elif states[group_id] != EMPTY:
            failed[group_id] = broker_error(ErrorCode.NON_EMPTY_GROUP, f"group '{group_id}'")
            reasons[group_id] = f"Share group '{group_id}' is not EMPTY (stop its members first)"
    try:
        deleted = list(await admin.delete_groups([group_id for group_id in named if group_id not in failed]))
    except AdminError as error:
        deleted = list(error.results)
        failed |= error.errors
        reasons |= {group_id: failure.error_code.message for group_id, failure in error.errors.items()}
    print_deleted("share", deleted, failed, reasons, as_json=options.as_json)
    return 1 if failed else 0


async def delete_share_offsets(admin: ShareGroupsAdmin, options: ShareGroupOptions) -> int | None:
    """``--delete-offsets``: deletes the offsets of topics, prints the outcome of each. Returns 1 if one failed."""
    (group_id,) = options.groups
    topics = sorted(set(options.topics))
    refused = None
    errors: dict[str, KafkaError] = {}
    try:
        await admin.delete_share_group_offsets(group_id, topics)
    except AdminError as error:
        errors = error.errors
    except KafkaError as error:
        refused = error
        errors = dict.fromkeys(topics, error)
    statuses = {topic: f"Error: {_reason(errors[topic])}" if topic in errors else "Successful" for topic in topics}
    if refused is not None:
        click.echo(f"\nError: {_reason(refused)}", err=True)
    if options.as_json:
        print_json([{"group": group_id, "topic": topic, "status": status} for topic, status in statuses.items()])
    else:
        print_columns(("TOPIC", "STATUS"), list(statuses.items()), (15, 0))
    return 1 if errors else 0


def _reason(error: KafkaError) -> str:
    """The broker's text, as Kafka's script prints it: without the name of the group or topic."""
    what, _, text = str(error.args[-1]).partition("': ")
    return text or what
