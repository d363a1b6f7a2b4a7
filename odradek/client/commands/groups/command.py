"""``odradek groups``: what ``kafka-consumer-groups.sh`` and ``kafka-groups.sh`` do, with their flags and output.

Owns: the flags, and calling the module of the action. Source: ``ConsumerGroupCommand``, ``GroupsCommand``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ..command_config import admin_settings, command_config_option
from ..kafka_command import KafkaCommand
from ..running import bootstrap_option, json_option, main, run, timeout_option
from .options import GroupOptions, check

if TYPE_CHECKING:
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
@bootstrap_option
@command_config_option
@click.option("--list", "list_", is_flag=True, help="List all consumer groups.")
@click.option("--describe", is_flag=True, help="Show offsets and lag, members or state of groups.")
@click.option("--delete", is_flag=True, help="Delete groups without members, with their offsets.")
@click.option("--reset-offsets", is_flag=True, help="Set committed offsets of groups without members.")
@click.option("--delete-offsets", is_flag=True, help="Delete committed offsets of topics.")
@click.option(
    "--validate-regex", metavar="REGEX", help="Check that it is a valid RE2 regular expression; needs no broker."
)
@click.option("--group", "groups", multiple=True, help="A group; may be repeated.")
@click.option("--all-groups", is_flag=True, help="All consumer groups.")
@click.option("--topic", "topics", multiple=True, metavar="TOPIC[:N,...]", help="A topic, or some of its partitions.")
@click.option("--all-topics", is_flag=True, help="All topics that the group has committed offsets for.")
@click.option("--offsets", is_flag=True, help="With --describe: offsets and lag (default).")
@click.option("--members", is_flag=True, help="With --describe: the members.")
@click.option(
    "--state", is_flag=False, flag_value="", help="With --describe: the state; with --list: only these states."
)
@click.option("--verbose", is_flag=True, help="With --describe: also epochs, and the partitions of members.")
@click.option(
    "--lag-seconds", is_flag=True, help="With --describe: also the age of the first unread record of each partition."
)
@click.option(
    "--isolation-level",
    type=click.Choice(["read_uncommitted", "read_committed"]),
    default="read_uncommitted",
    show_default=True,
    help="With --describe: measure lag to the high watermark or the last stable offset.",
)
@click.option("--type", "type_", is_flag=False, flag_value="", help="With --list: the types, or only these types.")
@click.option("--group-type", metavar="TYPE", help="With --list: groups of this type, with their protocols.")
@click.option("--protocol", metavar="NAME", help="With --list: groups of this protocol, with their types.")
@click.option("--consumer", is_flag=True, help="With --list: consumer groups, with types and protocols.")
@click.option("--share", is_flag=True, help="With --list: share groups.")
@click.option("--streams", is_flag=True, help="With --list: streams groups.")
@click.option("--all-types", is_flag=True, help="With --list: groups of all types, with types and protocols.")
@click.option("--to-earliest", is_flag=True, help="Reset to the log start offset.")
@click.option("--to-latest", is_flag=True, help="Reset to the log end offset.")
@click.option("--to-current", is_flag=True, help="Reset to the committed offset, or to the log end if there is none.")
@click.option("--to-offset", type=int, help="Reset to this offset.")
@click.option("--shift-by", type=int, help="Move the offset forward by N, or backward if N is negative.")
@click.option(
    "--to-datetime", metavar="YYYY-MM-DDThh:mm:ss.sss", help="Reset to the first record at or after this time."
)
@click.option("--by-duration", metavar="PnDTnHnMnS", help="Reset to the first record at or after this long ago.")
@click.option("--from-file", metavar="CSV", help="Reset to the offsets in a file.")
@click.option("--execute", is_flag=True, help="With --reset-offsets: set the offsets.")
@click.option("--dry-run", is_flag=True, help="With --reset-offsets: only show the new offsets (default).")
@click.option("--export", is_flag=True, help="With --reset-offsets: print CSV for --from-file.")
@timeout_option
@json_option
def command(**given: Any) -> int:
    """Checks the arguments and runs the action."""
    options = GroupOptions(**given)
    check(options)
    if options.validate_regex is not None:
        from .regex import validate_regex

        return validate_regex(options.validate_regex, as_json=options.as_json)
    to = None
    if options.reset_offsets:
        from .reset_target import reset_target

        to = reset_target(options)
    return run(lambda: ask(options, to))


async def ask(options: GroupOptions, to: ResetTo | None) -> int | None:
    """Connects and runs the action. Returns its exit code, None for 0."""
    settings = admin_settings(options.command_config, options.timeout_ms)
    if options.action == "list":
        from ...admin.groups import GroupAdmin
        from .list import list_groups

        async with GroupAdmin(options.bootstrap_server, **settings._asdict()) as admin:
            return await list_groups(admin, options)
    return await _ask_about_groups(options, to, settings._asdict())


async def _ask_about_groups(options: GroupOptions, to: ResetTo | None, settings: dict[str, Any]) -> int | None:
    from .admin import GroupsAdmin
    from .wanted import wanted_groups

    async with GroupsAdmin(options.bootstrap_server, **settings) as admin:
        group_ids = await wanted_groups(admin, options)
        if options.action == "describe":
            from .describe import describe_groups

            return await describe_groups(admin, options, group_ids)
        if to is not None:
            from .reset import reset

            return await reset(admin, options, group_ids, to)
        from .delete import delete_groups, delete_offsets

        return await (delete_groups if options.action == "delete" else delete_offsets)(admin, options, group_ids)


def groups(arguments: list[str]) -> int:
    """Entry point: takes the arguments after ``odradek groups``, returns the exit code."""
    return main(command, "groups", arguments)
