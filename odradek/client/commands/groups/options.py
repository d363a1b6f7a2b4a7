"""The parsed arguments of ``odradek groups``, and the checks of their combinations.

Owns: the checks that need no broker. Source: ``ConsumerGroupCommandOptions`` and ``GroupsCommand``.
"""

from __future__ import annotations

from typing import NamedTuple

import click

from ..running import exactly_one

STATES = ("PreparingRebalance", "CompletingRebalance", "Stable", "Dead", "Empty", "Assigning", "Reconciling")
TYPES = ("Classic", "Consumer")
ALL_TYPES = ("Classic", "Consumer", "Share", "Streams")


class GroupOptions(NamedTuple):
    """The arguments. The fields have the names of the flags."""

    bootstrap_server: str
    command_config: str | None
    timeout_ms: int
    as_json: bool
    output: str
    list_: bool
    describe: bool
    delete: bool
    reset_offsets: bool
    delete_offsets: bool
    validate_regex: str | None
    groups: tuple[str, ...]
    all_groups: bool
    topics: tuple[str, ...]
    all_topics: bool
    offsets: bool
    members: bool
    state: str | None
    verbose: bool
    lag_seconds: bool
    isolation_level: str
    type_: str | None
    group_type: str | None
    protocol: str | None
    consumer: bool
    share: bool
    streams: bool
    all_types: bool
    to_earliest: bool
    to_latest: bool
    to_current: bool
    to_offset: int | None
    shift_by: int | None
    to_datetime: str | None
    by_duration: str | None
    from_file: str | None
    execute: bool
    dry_run: bool
    export: bool

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
        return [flag for flag, wanted in given.items() if wanted]


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
    if action == "reset-offsets":
        _check_reset(options)
    elif options.export or options.execute or options.dry_run:
        raise click.UsageError("--execute, --dry-run and --export go with --reset-offsets")


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
    if options.execute and options.dry_run:
        raise click.UsageError("--reset-offsets only accepts one of --execute and --dry-run")
    if options.topics and options.all_topics:
        raise click.UsageError("--reset-offsets takes one of these options: --all-topics, --topic")
    if options.from_file is None and not (options.topics or options.all_topics):
        raise click.UsageError("One of the reset scopes should be defined: --all-topics, --topic.")
    if options.export and options.as_json:
        raise click.UsageError("--export writes CSV: use it without --json")


def named(text: str, names: tuple[str, ...], what: str) -> list[str]:
    """Parses a comma-separated list of ``names``, ignoring case. Raises UsageError, which has the valid names."""
    known = {name.lower(): name for name in names}
    wanted = [part.strip() for part in text.split(",") if part.strip()]
    if any(part.lower() not in known for part in wanted):
        raise click.UsageError(f"Invalid {what} list '{text}'. Valid {what}s are: {', '.join(names)}")
    return [known[part.lower()] for part in wanted]
