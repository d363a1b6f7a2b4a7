"""``odradek streams-groups``: what ``kafka-streams-groups.sh`` does, with its flags and output.

Owns: the flags, and calling the module of the action. Source: ``StreamsGroupCommand`` of Kafka 4.4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from odradek.protocol.common.command_options import takes
from odradek.protocol.common.lazy_imports import lazy_imports

from ..kafka_command import KafkaCommand
from ..running import main, run
from .options import STATES, TYPE, StreamsGroupOptions, check_streams_options

with lazy_imports:
    from ...admin import groups
    from ..groups import list_of_type, reset_target
    from . import admin as streams_groups_admin
    from . import delete, describe, reset

if TYPE_CHECKING:
    from ..groups.reset_target import ResetTo
    from .admin import StreamsGroupsAdmin

REFUSED = {
    "group": ("all-groups", "list"),
    "input-topic": ("list", "describe", "delete"),
    "all-input-topics": ("list", "describe", "delete"),
    "delete": ("delete-internal-topic",),
}
"""Source: ``StreamsGroupCommandOptions.checkArgs``."""


@click.command(
    cls=KafkaCommand,
    refused=REFUSED,
    help="List, describe or delete streams groups, or reset their offsets.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@takes(StreamsGroupOptions)
def command(options: StreamsGroupOptions) -> int:
    """Checks the arguments and runs the action."""
    check_streams_options(options)
    to = None
    if options.reset_offsets:
        to = reset_target.reset_target(options.reset.targets, options.groups)
    return run(lambda: ask_about_streams_groups(options, to))


async def ask_about_streams_groups(options: StreamsGroupOptions, to: ResetTo | None) -> int | None:
    """Connects and runs the action. Returns its exit code, None for 0."""
    if options.action == "list":
        async with options.connection.admin(groups.GroupAdmin, options.timeout_ms) as admin:
            await list_of_type.list_groups_of_type(admin, TYPE, options.state, STATES, as_json=options.as_json)
        return None
    async with options.connection.admin(streams_groups_admin.StreamsGroupsAdmin, options.timeout_ms) as streams_admin:
        return await _act(streams_admin, options, to)


async def _act(admin: StreamsGroupsAdmin, options: StreamsGroupOptions, to: ResetTo | None) -> int | None:
    if options.action == "describe":
        return await describe.describe_streams_groups(admin, options)
    if to is not None:
        return await reset.reset_streams_groups(admin, options, to)
    return await (delete.delete_streams_groups if options.delete else delete.delete_streams_offsets)(admin, options)


def streams_groups(arguments: list[str]) -> int:
    """Entry point: takes the arguments after ``odradek streams-groups``, returns the exit code."""
    return main(command, "streams-groups", arguments)
