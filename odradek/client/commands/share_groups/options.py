"""The parsed arguments of ``odradek share-groups``, and the checks of their combinations.

Owns: the checks that need no broker. Source: ``ShareGroupCommandOptions`` of Kafka 4.4.
"""

from __future__ import annotations

from dataclasses import dataclass

import click

from odradek.protocol.common.command_options import flag, included, option, repeated

from ..command_config import ConnectionOptions
from ..groups.offset_reset import ResetChoice
from ..groups.options import named
from ..running import exactly_one, json_option, timeout_option

TYPE = "Share"
STATES = ("Empty", "Stable", "Dead")
ABSENT = ("shift_by", "by_duration")
"""The options of ``--reset-offsets`` that share groups do not have."""


@dataclass(frozen=True, kw_only=True)
class ShareGroupOptions:
    """The arguments of ``odradek share-groups``."""

    connection: ConnectionOptions = included(ConnectionOptions)
    list_: bool = flag("--list", help="List all share groups.")
    describe: bool = flag("--describe", help="Show start offsets and lag, members or state of share groups.")
    delete: bool = flag("--delete", help="Delete share groups without members, with their offsets.")
    reset_offsets: bool = flag("--reset-offsets", help="Set the start offsets of a share group without members.")
    delete_offsets: bool = flag("--delete-offsets", help="Delete the offsets of topics from a share group.")
    groups: tuple[str, ...] = repeated("--group", help="A share group; may be repeated with --describe and --delete.")
    all_groups: bool = flag("--all-groups", help="All share groups.")
    topics: tuple[str, ...] = repeated(
        "--topic", metavar="TOPIC[:N,...]", help="A topic; with --reset-offsets also some of its partitions."
    )
    all_topics: bool = flag("--all-topics", help="With --reset-offsets: all topics that the group has offsets for.")
    offsets: bool = flag("--offsets", help="With --describe: start offsets and lag (default).")
    members: bool = flag("--members", help="With --describe: the members.")
    state: str | None = option(
        "--state", is_flag=False, flag_value="", help="With --describe: the state; with --list: only these states."
    )
    verbose: bool = flag("--verbose", help="With --describe: also epochs.")
    reset: ResetChoice = included(ResetChoice, without=ABSENT)
    timeout_ms: int = timeout_option()
    as_json: bool = json_option()

    @property
    def action(self) -> str:
        """The name of the one action that was given. Raises UsageError if none or several were given."""
        return exactly_one(
            {
                "list": self.list_,
                "describe": self.describe,
                "delete": self.delete,
                "reset-offsets": self.reset_offsets,
                "delete-offsets": self.delete_offsets,
            }
        )

    @property
    def reset_targets(self) -> dict[str, str | int | bool | None]:
        """The targets of ``--reset-offsets`` with their values; None or False if one was not given."""
        return {name: value for name, value in self.reset.targets.items() if name.replace("-", "_") not in ABSENT}


def check_share_options(options: ShareGroupOptions) -> None:
    """Raises UsageError if a flag is missing, or if flags cannot be combined."""
    action = options.action
    if action == "list":
        named(options.state or "", STATES, "state")
    elif action in ("describe", "delete"):
        if bool(options.groups) == options.all_groups:
            raise click.UsageError(f"--{action} takes one of these options: --all-groups, --group")
    elif len(options.groups) != 1:
        raise click.UsageError(f"--{action} takes one --group")
    if action == "delete" and (options.topics or options.all_topics):
        raise click.UsageError("--delete does not take the options --topic or --all-topics")
    if action == "delete-offsets" and not options.topics:
        raise click.UsageError("--delete-offsets takes the following options: --group, --topic")
    _check_describe(options, action)
    options.reset.check(action, options.as_json)
    if action == "reset-offsets":
        options.reset.check_one_scope(options.topics, options.all_topics, ("--all-topics", "--topic"))


def _check_describe(options: ShareGroupOptions, action: str) -> None:
    if action == "describe":
        if sum((options.offsets, options.members, options.state is not None)) > 1:
            raise click.UsageError("--describe takes at most one of these options: --members, --offsets, --state")
        if options.state:
            raise click.UsageError("--describe does not take a value for --state")
        return
    if options.offsets or options.members or options.verbose:
        raise click.UsageError("--offsets, --members and --verbose go with --describe")
    if options.state is not None and action != "list":
        raise click.UsageError("--state goes with --describe or --list")
