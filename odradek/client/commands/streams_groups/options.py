"""The parsed arguments of ``odradek streams-groups``, and the checks of their combinations.

Owns: the checks that need no broker. Source: ``StreamsGroupCommandOptions`` of Kafka 4.4.
"""

from __future__ import annotations

from dataclasses import dataclass

import click

from odradek.protocol.common.command_options import flag, included, option, repeated

from ..command_config import ConnectionOptions
from ..groups.offset_reset import ResetChoice
from ..groups.options import named
from ..running import exactly_one, json_option, timeout_option

TYPE = "Streams"
STATES = ("Empty", "NotReady", "Stable", "Assigning", "Reconciling", "Dead")


@dataclass(frozen=True, kw_only=True)
class StreamsGroupOptions:
    """The arguments of ``odradek streams-groups``."""

    connection: ConnectionOptions = included(ConnectionOptions)
    list_: bool = flag("--list", help="List all streams groups.")
    describe: bool = flag("--describe", help="Show offsets and lag, members, state or topology of streams groups.")
    delete: bool = flag("--delete", help="Delete streams groups without members, with their offsets.")
    reset_offsets: bool = flag("--reset-offsets", help="Set committed offsets of streams groups without members.")
    delete_offsets: bool = flag("--delete-offsets", help="Delete committed offsets of input topics.")
    groups: tuple[str, ...] = repeated("--group", help="A streams group; may be repeated.")
    all_groups: bool = flag("--all-groups", help="All streams groups.")
    topics: tuple[str, ...] = repeated(
        "--input-topic", metavar="TOPIC[:N,...]", help="A topic that the group reads, or some of its partitions."
    )
    all_topics: bool = flag("--all-input-topics", help="All input topics that the group has committed offsets for.")
    offsets: bool = flag("--offsets", help="With --describe: offsets and lag of the active tasks (default).")
    members: bool = flag("--members", help="With --describe: the members and their tasks.")
    topology: bool = flag("--topology", help="With --describe: the topology, if the broker has a description of it.")
    state: str | None = option(
        "--state", is_flag=False, flag_value="", help="With --describe: the state; with --list: only these states."
    )
    verbose: bool = flag("--verbose", help="With --describe: also epochs, target tasks, or committed offsets.")
    reset: ResetChoice = included(ResetChoice)
    internal_topics: tuple[str, ...] = repeated(
        "--delete-internal-topic",
        metavar="TOPIC",
        help="With --reset-offsets --execute: delete this internal topic of the group; may be repeated.",
    )
    all_internal_topics: bool = flag(
        "--delete-all-internal-topics",
        help="With --delete, or --reset-offsets --execute: delete all internal topics of the groups.",
    )
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


def check_streams_options(options: StreamsGroupOptions) -> None:
    """Raises UsageError if a flag is missing, or if flags cannot be combined."""
    action = options.action
    if action == "list":
        named(options.state or "", STATES, "state")
    elif bool(options.groups) == options.all_groups:
        raise click.UsageError(f"--{action} takes one of these options: --all-groups, --group")
    if action == "delete-offsets":
        if len(options.groups) != 1:
            raise click.UsageError("--delete-offsets takes one --group")
        if bool(options.topics) == options.all_topics:
            raise click.UsageError("--delete-offsets takes one of these options: --all-input-topics, --input-topic")
    _check_describe(options, action)
    options.reset.check(action, options.as_json)
    if action == "reset-offsets":
        scopes = ("--all-input-topics", "--input-topic")
        options.reset.check_one_scope(options.topics, options.all_topics, scopes)
    _check_internal_topics(options)


def _check_describe(options: StreamsGroupOptions, action: str) -> None:
    if action == "describe":
        if sum((options.offsets, options.members, options.topology, options.state is not None)) > 1:
            raise click.UsageError(
                "--describe takes at most one of these options: --members, --offsets, --state, --topology"
            )
        if options.state:
            raise click.UsageError("--describe does not take a value for --state")
        return
    if options.offsets or options.members or options.topology or options.verbose:
        raise click.UsageError("--offsets, --members, --topology and --verbose go with --describe")
    if options.state is not None and action != "list":
        raise click.UsageError("--state goes with --describe or --list")


def _check_internal_topics(options: StreamsGroupOptions) -> None:
    if options.all_internal_topics and options.internal_topics:
        raise click.UsageError("--delete-all-internal-topics cannot be used with --delete-internal-topic")
    if options.internal_topics and not options.reset.execute:
        raise click.UsageError("--delete-internal-topic goes with --reset-offsets --execute")
    if options.all_internal_topics and not (options.delete or options.reset.execute):
        raise click.UsageError("--delete-all-internal-topics goes with --delete, or with --reset-offsets --execute")
