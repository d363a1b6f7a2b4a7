"""``odradek streams-application-reset``: what ``kafka-streams-application-reset.sh`` does, with its flags and output.

It sets the committed offsets of an application's input topics, sets those of its intermediate topics to their ends, and
deletes its internal topics.
Source: ``StreamsResetter``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import click

from odradek.protocol.common.command_options import flag, included, option, takes
from odradek.protocol.common.lazy_imports import lazy_imports
from odradek.protocol.common.wall_clock import clock_ms

from ..types import OffsetAndMetadata, TopicPartition
from .command_config import ConnectionOptions
from .groups.csv import parse_plan
from .groups.reset_target import parse_datetime, parse_duration_ms
from .kafka_command import KafkaCommand
from .running import CommandError, main, run, timeout_option
from .streams_groups.internal_topics import is_internal

with lazy_imports:
    from odradek.protocol import errors as protocol_errors

    from .. import errors as client_errors
    from ..cluster import list_offsets
    from .groups import admin as groups_admin

if TYPE_CHECKING:
    from .groups.admin import GroupsAdmin

Offsets = dict[TopicPartition, int]


def names_of(text: str | None) -> list[str]:
    """The names of a list with commas."""
    return [name for name in (text or "").split(",") if name]


def listed(names: Sequence[str]) -> str:
    """The names as Kafka prints a list."""
    return f"[{', '.join(names)}]"


@dataclass(frozen=True, kw_only=True)
class ResetOptions:
    """The arguments of the command."""

    connection: ConnectionOptions = included(ConnectionOptions)
    config_file: str | None = option("--config-file", type=click.Path(exists=True, dir_okay=False), hidden=True)
    application_id: str = option("--application-id", required=True, metavar="ID", help="The application.id.")
    input_topics: str | None = option(
        "--input-topics", metavar="LIST", help="Topics whose offsets are reset; separated by commas."
    )
    intermediate_topics: str | None = option(
        "--intermediate-topics", metavar="LIST", help="Deprecated: topics whose offsets are set to the end."
    )
    internal_topics: str | None = option(
        "--internal-topics", metavar="LIST", help="Internal topics to delete; by default all of them."
    )
    to_offset: int | None = option("--to-offset", type=int, metavar="N", help="Reset to this offset.")
    to_datetime: str | None = option(
        "--to-datetime", metavar="YYYY-MM-DDThh:mm:ss.sss", help="Reset to the first record at or after a time."
    )
    by_duration: str | None = option(
        "--by-duration", metavar="PnDTnHnMnS", help="Reset to the first record at or after this long ago."
    )
    to_earliest: bool = flag("--to-earliest", help="Reset to the earliest offset; the default.")
    to_latest: bool = flag("--to-latest", help="Reset to the latest offset.")
    from_file: str | None = option(
        "--from-file",
        type=click.Path(exists=True, dir_okay=False),
        metavar="CSV",
        help="Reset to the offsets in a file with lines TOPIC,PARTITION,OFFSET.",
    )
    shift_by: int | None = option(
        "--shift-by", type=int, metavar="N", help="Move the offset forward by N, or backward if N is negative."
    )
    force: bool = flag("--force", help="Remove active members from the group first.")
    dry_run: bool = flag("--dry-run", help="Only show what would be done.")
    timeout_ms: int = timeout_option()

    @property
    def topics_to_reset(self) -> list[str]:
        """The names of ``--input-topics``."""
        return names_of(self.input_topics)

    @property
    def topics_to_end(self) -> list[str]:
        """The names of ``--intermediate-topics``."""
        return names_of(self.intermediate_topics)

    @property
    def topics_to_delete(self) -> list[str]:
        """The names of ``--internal-topics``."""
        return names_of(self.internal_topics)


class ResetTarget(NamedTuple):
    """The target of the offsets, if it is a time (ms since 1970) or a file."""

    time_ms: int | None
    plan: Mapping[TopicPartition, int] | None


@click.command(
    cls=KafkaCommand,
    help="Reset a Kafka Streams application, so that it processes its input again. Stop its instances first; "
    "afterwards delete their local state.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@takes(ResetOptions)
def command(options: ResetOptions) -> int:
    """Checks the arguments and resets."""
    targets = {
        "--to-offset": options.to_offset is not None,
        "--to-datetime": options.to_datetime is not None,
        "--by-duration": options.by_duration is not None,
        "--to-earliest": options.to_earliest,
        "--to-latest": options.to_latest,
        "--from-file": options.from_file is not None,
        "--shift-by": options.shift_by is not None,
    }
    refuse_several([name for name, given in targets.items() if given])
    settings_file = the_settings_file(options.connection.command_config, options.config_file)
    time_ms = None if options.to_datetime is None else parse_datetime(options.to_datetime)
    if options.by_duration is not None:
        time_ms = clock_ms() - parse_duration_ms(options.by_duration)
    plan = None if options.from_file is None else plan_of(options.from_file, options.application_id)
    connected = replace(options, connection=replace(options.connection, command_config=settings_file))
    return run(lambda: connect_and_reset(connected, ResetTarget(time_ms, plan)))


def the_settings_file(command_config: str | None, config_file: str | None) -> str | None:
    """The file with settings of the admin client, named by the flag or by its deprecated form. Raises UsageError."""
    if config_file is None:
        return command_config
    refuse_several(["--config-file"] if command_config is None else ["--config-file", "--command-config"])
    click.echo(
        "Option --config-file has been deprecated and will be removed in a future version. "
        "Use --command-config instead."
    )
    return config_file


async def connect_and_reset(options: ResetOptions, target: ResetTarget) -> int:
    """Connects and resets. Returns the exit code of :func:`reset_application`."""
    async with options.connection.admin(groups_admin.GroupsAdmin, options.timeout_ms) as admin:
        return await reset_application(admin, options, target)


def refuse_several(flags: Sequence[str]) -> None:
    """Raises UsageError if more than one of these flags was given."""
    if len(flags) > 1:
        raise click.UsageError(f"{' and '.join(flags)} cannot be used together")


def plan_of(path: str, application_id: str) -> dict[TopicPartition, int]:
    """The offsets in a file. Raises CommandError, UsageError."""
    try:
        with open(path, encoding="utf-8", newline="") as file:
            text = file.read()
    except OSError as error:
        raise CommandError(f"--from-file {path}: {error.strerror}") from None
    if not text:
        raise CommandError(f"--from-file {path}: the file is empty")
    return parse_plan(text, [application_id], path).get(application_id, {})


async def reset_application(admin: GroupsAdmin, options: ResetOptions, target: ResetTarget) -> int:
    """Removes the members, resets the offsets, deletes the internal topics. Returns 1 if a topic was not found."""
    await remove_members(admin, options)
    topics = await admin.list_topics()
    internal = internal_topics_to_delete(topics, options)  # checked before anything changes
    if options.dry_run:
        click.echo("----Dry run displays the actions which will be performed when running Streams Reset Tool----")
    exit_code = await reset_offsets(admin, options, target, topics)
    which = "specified" if options.topics_to_delete else "inferred"
    click.echo(f"Deleting {which} internal topics {listed(internal)}")
    if internal and not options.dry_run:
        await admin.delete_topics(internal)
    click.echo("Done.")
    return exit_code


async def remove_members(admin: GroupsAdmin, options: ResetOptions) -> None:
    """Removes the group's members with ``--force``. Without it, raises CommandError if the group has members."""
    group_id = options.application_id
    try:
        group = (await admin.describe_groups([group_id]))[group_id]
    except client_errors.AdminError as error:
        if error.errors[group_id].error_code == protocol_errors.ErrorCode.GROUP_ID_NOT_FOUND:
            return
        raise error.errors[group_id] from None
    if not group.members:
        return
    if not options.force:
        members = ", ".join(f"{member.client_id} ({member.member_id})" for member in group.members)
        raise CommandError(
            f"Consumer group '{group_id}' is still active and has following members: {members}. Make sure to stop all "
            "running application instances before running the reset tool. You can use option '--force' to remove "
            "active members from the group."
        )
    click.echo(f"Force deleting all active members in the group: {group_id}")
    if not options.dry_run:
        await admin.remove_group_members(group_id, group.members)


def internal_topics_to_delete(topics: Sequence[str], options: ResetOptions) -> list[str]:
    """The internal topics to delete: the named ones, or all. Raises CommandError if a named one is not internal."""
    users = {*options.topics_to_reset, *options.topics_to_end}
    inferred = [name for name in topics if is_internal(name, options.application_id) and name not in users]
    if not set(options.topics_to_delete) <= set(inferred):
        raise CommandError(
            "Invalid topic specified in the --internal-topics option. Ensure that the topics specified are all "
            "internal topics. Do a dry run without the --internal-topics option to see the list of all internal topics "
            "that can be deleted."
        )
    return options.topics_to_delete or inferred


async def reset_offsets(admin: GroupsAdmin, options: ResetOptions, target: ResetTarget, topics: Sequence[str]) -> int:
    """Sets the offsets of the input and the intermediate topics. Returns 1 if one does not exist."""
    if options.topics_to_end:
        click.echo("WARN: `--intermediate-topics` is deprecated and will be removed in a future release")
    if not options.topics_to_reset and not options.topics_to_end:
        click.echo("No input or intermediate topics specified. Skipping seek.")
        return 0
    if options.topics_to_reset:
        click.echo(f"Reset-offsets for input topics {listed(options.topics_to_reset)}")
    if options.topics_to_end:
        click.echo(f"Seek-to-end for intermediate topics {listed(options.topics_to_end)}")
    exit_code = 0
    for kind, topics_of_kind, label in (
        ("input", options.topics_to_reset, "Topic: "),
        ("intermediate", options.topics_to_end, "Topic:"),
    ):
        missing = [name for name in topics_of_kind if name not in topics]
        if missing:
            click.echo(f"Following {kind} topics are not found, skipping them")
            click.echo("\n".join(label + name for name in missing))
            exit_code = 1
    found = sorted({*options.topics_to_reset, *options.topics_to_end} & set(topics))
    if not found:
        return exit_code
    described = await admin.describe_topics(found)
    partitions = [TopicPartition(name, number) for name in found for number in sorted(described[name].partitions)]
    of_input = [partition for partition in partitions if partition.topic in options.topics_to_reset]
    offsets: Offsets = {}
    if of_input:
        click.echo(f"Following input topics offsets will be reset to (for consumer group {options.application_id})")
        offsets = await new_offsets(admin, options, target, of_input)
        for partition in of_input:
            click.echo(f"Topic: {partition.topic} Partition: {partition.partition} Offset: {offsets[partition]}")
    skipped = [partition for partition in partitions if partition.topic not in options.topics_to_reset]
    if skipped:
        click.echo(
            f"Following intermediate topics offsets will be reset to end (for consumer group {options.application_id})"
        )
        click.echo("\n".join(f"Topic: {partition.topic}" for partition in skipped))
        offsets |= await ends_of(admin, skipped)
    if not options.dry_run:
        committed = {partition: OffsetAndMetadata(offset) for partition, offset in offsets.items()}
        await commit(admin, options.application_id, committed)
    click.echo("Done.")
    return exit_code


async def commit(admin: GroupsAdmin, application_id: str, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
    """Commits offsets. Raises CommandError if a streams group has members, which no request can remove; KafkaError."""
    try:
        await admin.alter_group_offsets(application_id, offsets)
    except protocol_errors.KafkaError as error:
        if error.error_code != protocol_errors.ErrorCode.UNKNOWN_MEMBER_ID:
            raise
        raise CommandError(
            f"Group '{application_id}' is still active. Make sure to stop all running application instances before "
            "running the reset tool. The option '--force' does not remove members of a streams group."
        ) from None


async def new_offsets(
    admin: GroupsAdmin, options: ResetOptions, target: ResetTarget, partitions: Sequence[TopicPartition]
) -> Offsets:
    """The new offset of each partition of the input topics. Raises CommandError."""
    ends = await ends_of(admin, partitions)
    if options.to_latest:
        return ends
    if target.time_ms is not None:
        at_time = await offsets_at(admin, partitions, target.time_ms)
        for partition in [partition for partition in partitions if at_time[partition] < 0]:
            click.echo(
                f"Partition {partition.partition} from topic {partition.topic} is empty, without a committed record. "
                "Falling back to latest known offset."
            )
            at_time[partition] = ends[partition]
        return at_time
    starts = await offsets_at(admin, partitions, list_offsets.EARLIEST_TIMESTAMP)
    if options.to_offset is not None:
        asked = dict.fromkeys(partitions, options.to_offset)
    elif options.shift_by is not None:
        committed = await admin.list_group_offsets(options.application_id, partitions)
        positions = {
            partition: committed[partition].offset if partition in committed else ends[partition]
            for partition in partitions
        }
        asked = {partition: offset + options.shift_by for partition, offset in positions.items()}
    elif target.plan is not None:
        asked = planned(target.plan, partitions)
    else:
        return starts
    return {partition: within(asked[partition], starts[partition], ends[partition]) for partition in partitions}


def planned(plan: Mapping[TopicPartition, int], partitions: Sequence[TopicPartition]) -> Offsets:
    """The offsets in the file. Raises CommandError unless its partitions are exactly those of the input topics."""
    for names, what in (
        (set(plan) - set(partitions), "is not a partition of --input-topics"),
        (set(partitions) - set(plan), "is missing in the file"),
    ):
        if names:
            raise CommandError(f"--from-file: {min(names)} {what}")
    return dict(plan)


def within(offset: int, start: int, end: int) -> int:
    """The offset, limited to the log. If it is at or outside an end of the log, prints Kafka's line about it."""
    if start < offset < end:
        return offset
    which, bound = ("higher than latest", end) if offset >= end else ("lower than earliest", start)
    click.echo(f"New offset ({offset}) is {which} offset. Value will be set to {bound}")
    return bound


async def ends_of(admin: GroupsAdmin, partitions: Sequence[TopicPartition]) -> Offsets:
    """The end offset of each partition's log."""
    return await offsets_at(admin, partitions, list_offsets.LATEST_TIMESTAMP)


async def offsets_at(admin: GroupsAdmin, partitions: Sequence[TopicPartition], timestamp: int) -> Offsets:
    """The first offset of each partition at or after a timestamp (ms, or -1, -2); below 0 if no record is that late."""
    found = await admin.list_offsets(dict.fromkeys(partitions, timestamp))
    return {partition: answer.offset for partition, answer in found.items()}


def streams_application_reset(arguments: list[str]) -> int:
    """Entry point: takes the arguments after ``odradek streams-application-reset``, returns the exit code."""
    return main(command, "streams-application-reset", arguments)
