"""The parsed arguments of ``odradek groups``, and the checks of their combinations.

Owns: the checks that need no broker. Source: ``ConsumerGroupCommandOptions`` and ``GroupsCommand``.
"""

from __future__ import annotations

from dataclasses import dataclass

import click

from odradek.protocol.common.command_options import flag, included, option, repeated

from ..command_config import ConnectionOptions
from ..running import exactly_one, json_option, timeout_option
from .offset_reset import ResetChoice

STATES = ("PreparingRebalance", "CompletingRebalance", "Stable", "Dead", "Empty", "Assigning", "Reconciling")
TYPES = ("Classic", "Consumer")
ALL_TYPES = ("Classic", "Consumer", "Share", "Streams")


@dataclass(frozen=True, kw_only=True)
class GroupOptions:
    """The arguments of ``odradek groups``."""

    connection: ConnectionOptions = included(ConnectionOptions)
    list_: bool = flag("--list", help="List all consumer groups.")
    describe: bool = flag("--describe", help="Show offsets and lag, members or state of groups.")
    delete: bool = flag("--delete", help="Delete groups without members, with their offsets.")
    reset_offsets: bool = flag(
        "--reset-offsets", help="Set committed offsets of groups without members; without --execute only show them."
    )
    delete_offsets: bool = flag("--delete-offsets", help="Delete committed offsets of topics.")
    validate_regex: str | None = option(
        "--validate-regex", metavar="REGEX", help="Check that it is a valid RE2 regular expression; needs no broker."
    )
    groups: tuple[str, ...] = repeated("--group", help="A group; may be repeated.")
    all_groups: bool = flag("--all-groups", help="All consumer groups.")
    topics: tuple[str, ...] = repeated("--topic", metavar="TOPIC[:N,...]", help="A topic, or some of its partitions.")
    all_topics: bool = flag("--all-topics", help="All topics that the group has committed offsets for.")
    offsets: bool = flag("--offsets", help="With --describe: offsets and lag (default).")
    members: bool = flag("--members", help="With --describe: the members.")
    state: str | None = option(
        "--state", is_flag=False, flag_value="", help="With --describe: the state; with --list: only these states."
    )
    verbose: bool = flag("--verbose", help="With --describe: also epochs, and the partitions of members.")
    lag_seconds: bool = flag(
        "--lag-seconds", help="With --describe: also the age of the first unread record of each partition."
    )
    isolation_level: str = option(
        "--isolation-level",
        type=click.Choice(["read_uncommitted", "read_committed"]),
        default="read_uncommitted",
        show_default=True,
        help="With --describe: measure lag to the high watermark or the last stable offset.",
    )
    type_: str | None = option(
        "--type", is_flag=False, flag_value="", help="With --list: the types, or only these types."
    )
    group_type: str | None = option(
        "--group-type", metavar="TYPE", help="With --list: groups of this type, with their protocols."
    )
    protocol: str | None = option(
        "--protocol", metavar="NAME", help="With --list: groups of this protocol, with their types."
    )
    consumer: bool = flag("--consumer", help="With --list: consumer groups, with types and protocols.")
    share: bool = flag("--share", help="With --list: share groups.")
    streams: bool = flag("--streams", help="With --list: streams groups.")
    all_types: bool = flag("--all-types", help="With --list: groups of all types, with types and protocols.")
    reset: ResetChoice = included(ResetChoice)
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
                "validate-regex": self.validate_regex is not None,
            }
        )

    @property
    def scope(self) -> tuple[str, ...] | None:
        """The topics of ``--reset-offsets``, None for all that the group has offsets for."""
        return None if self.all_topics else self.topics

    @property
    def every_type(self) -> bool:
        """Whether ``--list`` works as ``kafka-groups.sh``: groups of all types, with type and protocol."""
        return self.all_types or bool(self.kafka_groups_filters)

    @property
    def kafka_groups_filters(self) -> list[str]:
        """The flags of ``kafka-groups.sh`` that were given."""
        given = {
            "--group-type": self.group_type is not None,
            "--protocol": self.protocol is not None,
            "--consumer": self.consumer,
            "--share": self.share,
            "--streams": self.streams,
        }
        return [flag for flag, is_given in given.items() if is_given]


def check(options: GroupOptions) -> None:
    """Raises UsageError if a flag is missing, or if flags cannot be combined."""
    action = options.action
    if action in ("list", "validate-regex"):
        _check_list(options)
    elif bool(options.groups) == options.all_groups:
        raise click.UsageError(f"--{action} takes one of these options: --all-groups, --group")
    described = (options.offsets, options.members, options.state is not None)
    if action == "describe" and sum(described) > 1:
        raise click.UsageError("--describe takes at most one of these options: --members, --offsets, --state")
    if action == "describe" and options.state:
        raise click.UsageError("--describe does not take a value for --state")
    if action != "describe" and (options.offsets or options.members or options.verbose or options.lag_seconds):
        raise click.UsageError("--offsets, --members, --verbose and --lag-seconds go with --describe")
    if options.lag_seconds and (options.members or options.state is not None):
        raise click.UsageError("--lag-seconds goes with --describe --offsets")
    if options.state is not None and action not in ("describe", "list"):
        raise click.UsageError("--state goes with --describe or --list")
    if action == "delete" and options.topics:
        raise click.UsageError("--delete removes whole groups; --delete-offsets deletes the offsets of a --topic")
    if action == "delete-offsets" and bool(options.topics) == options.all_topics:
        raise click.UsageError("--delete-offsets takes one of these options: --all-topics, --topic")
    options.reset.check(action, options.as_json)
    if action == "reset-offsets":
        _check_reset(options)


def _check_list(options: GroupOptions) -> None:
    named(options.state or "", STATES, "state")
    named(options.type_ or "", TYPES, "type")
    named(options.group_type or "", ALL_TYPES, "type")
    if not options.every_type:
        return
    if options.state is not None or options.type_ is not None:
        raise click.UsageError("--state and --type list consumer groups; with groups of all types use --group-type")
    alone = [flag for flag in options.kafka_groups_filters if flag in ("--consumer", "--share", "--streams")]
    if alone and len(options.kafka_groups_filters) > 1:
        raise click.UsageError(f"{alone[0]} cannot be used with {', '.join(options.kafka_groups_filters[1:])}")


def _check_reset(options: GroupOptions) -> None:
    if options.reset.execute and options.reset.dry_run:
        raise click.UsageError("--reset-offsets only accepts one of --execute and --dry-run")
    if options.topics and options.all_topics:
        raise click.UsageError("--reset-offsets takes one of these options: --all-topics, --topic")
    if options.reset.from_file is None and not (options.topics or options.all_topics):
        raise click.UsageError("One of the reset scopes should be defined: --all-topics, --topic.")


def named(text: str, names: tuple[str, ...], what: str) -> list[str]:
    """Parses a comma-separated list of ``names``, ignoring case. Raises UsageError, which has the valid names."""
    known = {name.lower(): name for name in names}
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if any(part.lower() not in known for part in parts):
        raise click.UsageError(f"Invalid {what} list '{text}'. Valid {what}s are: {', '.join(names)}")
    return [known[part.lower()] for part in parts]
