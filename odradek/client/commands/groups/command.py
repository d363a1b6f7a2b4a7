"""``odradek groups``: what ``kafka-consumer-groups.sh`` and ``kafka-groups.sh`` do, with their flags and output.

Owns: the flags, and calling the module of the action. Source: ``ConsumerGroupCommand``, ``GroupsCommand``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from odradek.protocol.common.command_options import takes
from odradek.protocol.common.lazy_imports import lazy_imports

from ..kafka_command import KafkaCommand
from ..running import main, run
from .options import GroupOptions, check

with lazy_imports:
    import re2

    from ...admin import groups as admin_groups
    from .. import output
    from . import admin as groups_admin
    from . import delete, describe, reset, reset_target, selection
    from . import list as listing

if TYPE_CHECKING:
    import re2

    from .reset_target import ResetTo


LIST_ONLY = ("type", "group-type", "protocol", "consumer", "share", "streams", "all-types")
REFUSED = {
    "list": ("group", "all-groups", "topic"),
    "describe": (*LIST_ONLY, "topic"),
    "delete": LIST_ONLY,
    "reset-offsets": LIST_ONLY,
    "delete-offsets": LIST_ONLY,
}
"""Source: ``ConsumerGroupCommandOptions.checkArgs``."""


@click.command(
    cls=KafkaCommand,
    refused=REFUSED,
    help="List, describe or delete consumer groups, or reset their offsets.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@takes(GroupOptions)
def command(options: GroupOptions) -> int:
    """Checks the arguments and runs the action."""
    check(options)
    if options.validate_regex is not None:
        return validate_regex(options.validate_regex, as_json=options.as_json)
    to = None
    if options.reset_offsets:
        to = reset_target.reset_target(options.reset.targets, options.groups)
    return run(lambda: ask(options, to))


async def ask(options: GroupOptions, to: ResetTo | None) -> int | None:
    """Connects and runs the action. Returns its exit code, None for 0."""
    if options.action == "list":
        async with options.connection.admin(admin_groups.GroupAdmin, options.timeout_ms) as admin:
            return await listing.list_groups(admin, options)
    return await _ask_about_groups(options, to)


async def _ask_about_groups(options: GroupOptions, to: ResetTo | None) -> int | None:
    async with options.connection.admin(groups_admin.GroupsAdmin, options.timeout_ms) as admin:
        group_ids = await selection.selected_groups(admin, options)
        if options.action == "describe":
            return await describe.describe_groups(admin, options, group_ids)
        if to is not None:
            return await reset.reset(admin, options, group_ids, to)
        return await (delete.delete_groups if options.action == "delete" else delete.delete_offsets)(
            admin, options, group_ids
        )


def validate_regex(pattern: str, *, as_json: bool) -> int:
    """Prints whether a broker accepts the pattern as a subscription (KIP-848). Returns exit code 0 if it does, else 1.

    The syntax is RE2's, which has no look-around and no back references. Source:
    ``ConsumerGroupCommand.validateRegex``.
    """
    reason = None
    options = re2.Options()
    options.log_errors = False
    try:
        re2.compile(pattern, options)
    except re2.error as error:
        reason = _text(error)
    if as_json:
        output.print_json({"regex": pattern, "valid": reason is None, "reason": reason})
    elif reason is None:
        click.echo(f"The regular expression `{pattern}` is valid.")
    else:
        click.echo(f"The regular expression `{pattern}` is invalid: {reason}.")
    return 0 if reason is None else 1


def _text(error: re2.error) -> str:
    cause = error.args[0] if error.args else error
    return cause.decode() if isinstance(cause, bytes) else str(cause)


def groups(arguments: list[str]) -> int:
    """Entry point: takes the arguments after ``odradek groups``, returns the exit code."""
    return main(command, "groups", arguments)
