"""``odradek share-groups``: what ``kafka-share-groups.sh`` does, with its flags and output.

Owns: the flags, and calling the module of the action. Source: ``ShareGroupCommand`` of Kafka 4.4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from odradek.protocol.common.command_options import takes
from odradek.protocol.common.lazy_imports import lazy_imports

from ..kafka_command import KafkaCommand
from ..running import main, run
from .options import STATES, TYPE, ShareGroupOptions, check_share_options

with lazy_imports:
    from ...admin import groups
    from ..groups import list_of_type, reset_target
    from . import admin as share_groups_admin
    from . import delete, describe, reset

if TYPE_CHECKING:
    from ..groups.reset_target import ResetTo

REFUSED = {"group": ("all-groups", "list"), "topic": ("list", "describe", "delete")}
"""Source: ``ShareGroupCommandOptions.checkArgs``."""


@click.command(
    cls=KafkaCommand,
    refused=REFUSED,
    help="List, describe or delete share groups, or reset their offsets.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@takes(ShareGroupOptions)
def command(options: ShareGroupOptions) -> int:
    """Checks the arguments and runs the action."""
    check_share_options(options)
    to = None
    if options.reset_offsets:
        to = reset_target.reset_target(options.reset_targets, options.groups)
    return run(lambda: ask_about_share_groups(options, to))


async def ask_about_share_groups(options: ShareGroupOptions, to: ResetTo | None) -> int | None:
    """Connects and runs the action. Returns its exit code, None for 0."""
    if options.action == "list":
        async with options.connection.admin(groups.GroupAdmin, options.timeout_ms) as admin:
            await list_of_type.list_groups_of_type(admin, TYPE, options.state, STATES, as_json=options.as_json)
        return None
    async with options.connection.admin(share_groups_admin.ShareGroupsAdmin, options.timeout_ms) as share_admin:
        if options.action == "describe":
            return await describe.describe_share_groups(share_admin, options)
        if to is not None:
            return await reset.reset_share_group(share_admin, options, to)
        return await (delete.delete_share_groups if options.delete else delete.delete_share_offsets)(
            share_admin, options
        )


def share_groups(arguments: list[str]) -> int:
    """Entry point: takes the arguments after ``odradek share-groups``, returns the exit code."""
    return main(command, "share-groups", arguments)
