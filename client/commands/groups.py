"""``odradek groups``: what ``kafka-consumer-groups.sh`` does, with its flags and output."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import click

from ...protocol.errors import ErrorCode
from ..errors import AdminError
from .group_reset import ResetTo, reset_offsets, reset_target
from .output import print_columns, print_json
from .running import CommandError, bootstrap_option, exactly_one, json_option, main, output_option, run, timeout_option
from .topic_partitions import parse_topic_partitions, the_partitions

if TYPE_CHECKING:
    from ..admin import Admin
    from ..admin_groups import GroupDescription
    from .group_offsets import GroupOffsetRow

OFFSET_HEADER = (
    "GROUP",
    "TOPIC",
    "PARTITION",
    "CURRENT-OFFSET",
    "LOG-END-OFFSET",
    "LAG",
    "CONSUMER-ID",
    "HOST",
    "CLIENT-ID",
)
REBALANCING = frozenset({"PreparingRebalance", "CompletingRebalance", "Assigning", "Reconciling"})


class GroupOptions(NamedTuple):
    """The command's arguments beside the action."""

    groups: tuple[str, ...]
    all_groups: bool
    topics: tuple[str, ...]
    all_topics: bool
    members: bool
    verbose: bool
    state: str | None
    type: str | None
    reset_to: ResetTo | None
    execute: bool
    as_json: bool


@click.command(
    help="List, describe or delete consumer groups, or reset their offsets.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@bootstrap_option
@click.option("--list", "list_", is_flag=True, help="List all groups.")
@click.option("--describe", is_flag=True, help="Show offsets and lag, members or state of groups.")
@click.option("--delete", is_flag=True, help="Delete groups without members, with their offsets.")
@click.option("--reset-offsets", is_flag=True, help="Set committed offsets of groups without members.")
@click.option("--delete-offsets", is_flag=True, help="Forget committed offsets of topics.")
@click.option("--group", "groups_", multiple=True, help="A group; may be given several times.")
@click.option("--all-groups", is_flag=True, help="All groups.")
@click.option("--topic", "topics_", multiple=True, metavar="TOPIC[:N,...]", help="A topic, or some of its partitions.")
@click.option("--all-topics", is_flag=True, help="All topics that the group has committed offsets for.")
@click.option("--offsets", is_flag=True, help="With --describe: offsets and lag (the default).")
@click.option("--members", is_flag=True, help="With --describe: the members.")
@click.option("--verbose", is_flag=True, help="With --members: their partitions too.")
@click.option(
    "--state", is_flag=False, flag_value="", help="With --describe: the state; with --list: only these states."
)
@click.option("--type", "type_", is_flag=False, flag_value="", help="With --list: the types, or only these types.")
@click.option("--to-earliest", is_flag=True, help="Reset to the log start offset.")
@click.option("--to-latest", is_flag=True, help="Reset to the log end offset.")
@click.option("--to-current", is_flag=True, help="Reset to the committed offset.")
@click.option("--to-offset", type=click.IntRange(min=0), help="Reset to this offset.")
@click.option("--shift-by", type=int, help="Reset by this many records, forwards or (negative) backwards.")
@click.option("--to-datetime", metavar="YYYY-MM-DDTHH:mm:SS.sss", help="Reset to the first record of this time.")
@click.option("--by-duration", metavar="PnDTnHnMnS", help="Reset to the first record of this long ago.")
@click.option("--execute", is_flag=True, help="With --reset-offsets: do it.")
@click.option("--dry-run", is_flag=True, help="With --reset-offsets: only show what would be done (the default).")
@timeout_option
@json_option
@output_option
def command(
    bootstrap_server: str,
    list_: bool,
    describe: bool,
    delete: bool,
    reset_offsets: bool,
    delete_offsets: bool,
    groups_: tuple[str, ...],
    all_groups: bool,
    topics_: tuple[str, ...],
    all_topics: bool,
    offsets: bool,
    members: bool,
    verbose: bool,
    state: str | None,
    type_: str | None,
    to_earliest: bool,
    to_latest: bool,
    to_current: bool,
    to_offset: int | None,
    shift_by: int | None,
    to_datetime: str | None,
    by_duration: str | None,
    execute: bool,
    dry_run: bool,
    timeout_ms: int,
    as_json: bool,
    output: str,
) -> int:
    """Checks the arguments and runs the action."""
    action = exactly_one(
        {
            "list": list_,
            "describe": describe,
            "delete": delete,
            "reset-offsets": reset_offsets,
            "delete-offsets": delete_offsets,
        }
    )
    if action != "list" and bool(groups_) == all_groups:
        raise click.UsageError(f"--{action} takes one of these options: --all-groups, --group")
    if sum((offsets, members, action == "describe" and state is not None)) > 1:
        raise click.UsageError("--describe takes at most one of these options: --members, --offsets, --state")
    reset_to = None
    if action == "reset-offsets":
        reset_to = reset_target(to_earliest, to_latest, to_current, to_offset, shift_by, to_datetime, by_duration)
        if execute and dry_run:
            raise click.UsageError("--execute and --dry-run cannot be used together")
    if action in ("reset-offsets", "delete-offsets") and bool(topics_) == all_topics:
        raise click.UsageError(f"--{action} takes one of these options: --all-topics, --topic")
    options = GroupOptions(
        groups_,
        all_groups,
        topics_,
        all_topics,
        members,
        verbose,
        state,
        type_,
        reset_to,
        execute,
        as_json or output == "json",
    )

    return run(lambda: ask(bootstrap_server, timeout_ms, action, options))


async def ask(bootstrap_server: str, timeout_ms: int, action: str, options: GroupOptions) -> int | None:
    """Connects and carries the action out; its exit code, None for 0."""
    from ..admin import Admin

    async with Admin(bootstrap_server, default_api_timeout_ms=timeout_ms) as admin:
        return await ACTIONS[action](admin, options)


async def wanted_groups(admin: Admin, options: GroupOptions) -> list[str]:
    """The groups that ``--group`` or ``--all-groups`` means."""
    if not options.all_groups:
        return list(options.groups)
    return [group.group_id for group in await admin.list_groups() if group.is_consumer_group]


async def list_groups(admin: Admin, options: GroupOptions) -> int | None:
    """``--list``, with ``--state`` and ``--type``."""
    states = [text.strip() for text in (options.state or "").split(",") if text.strip()]
    types = [text.strip() for text in (options.type or "").split(",") if text.strip()]
    listed = [group for group in await admin.list_groups(states=states, types=types) if group.is_consumer_group]
    if options.as_json:
        print_json([{"group": g.group_id, "type": g.group_type, "state": g.state} for g in listed])
        return None
    if options.state is None and options.type is None:
        for group in listed:
            click.echo(group.group_id)
        return None
    width = max([15, *(len(group.group_id) for group in listed)]) + 10
    for group_id, group_type, state in [
        ("GROUP", "TYPE", "STATE"),
        *((g.group_id, g.group_type, g.state) for g in listed),
    ]:
        columns = [f"{group_id:<{width}}"]
        if options.type is not None:
            columns.append(f"{group_type:<20}")
        if options.state is not None:
            columns.append(f"{state:<20}")
        click.echo(" ".join(columns))
    return None


async def describe_groups(admin: Admin, options: GroupOptions) -> int | None:
    """``--describe``: each group by itself, so that one that does not exist does not hide the others."""
    exit_code = 0
    documents: list[object] = []
    for group_id in await wanted_groups(admin, options):
        try:
            description = (await admin.describe_groups([group_id]))[group_id]
        except AdminError as error:
            if error.error_code != ErrorCode.GROUP_ID_NOT_FOUND:
                raise
            description = None
        if description is None or description.state == "Dead":
            click.echo(f"\nError: Consumer group '{group_id}' does not exist.", err=True)
            exit_code = 1
            continue
        if not options.as_json:
            say_state(description)
        if options.members:
            documents.append(members_document(description))
            if not options.as_json and description.members:
                print_members(description, verbose=options.verbose)
        elif options.state is not None:
            documents.append(state_document(description))
            if not options.as_json:
                print_state(description)
        else:
            from .group_offsets import describe_offsets

            rows = await describe_offsets(admin, description)
            documents.append(offsets_document(description, rows))
            if not options.as_json and rows:
                print_offsets(rows)
    if options.as_json:
        print_json(documents)
    return exit_code


def say_state(description: GroupDescription) -> None:
    """Kafka's line for a group without members or in a rebalance, on standard error."""
    if description.state == "Empty":
        click.echo(f"\nConsumer group '{description.group_id}' has no active members.", err=True)
    elif description.state in REBALANCING:
        click.echo(f"\nWarning: Consumer group '{description.group_id}' is rebalancing.", err=True)


def print_offsets(rows: list[GroupOffsetRow]) -> None:
    """The table of offsets and lag."""
    cells = [
        (r.group, r.topic, r.partition, r.current_offset, r.log_end_offset, r.lag, r.consumer_id, r.host, r.client_id)
        for r in rows
    ]
    print_columns(OFFSET_HEADER, cells, (15, 15, 10, 15, 15, 15, 15, 15, 0))


def print_members(description: GroupDescription, *, verbose: bool) -> None:
    """The table of members."""
    static = any(member.group_instance_id for member in description.members)
    header = ["GROUP", "CONSUMER-ID", *(["GROUP-INSTANCE-ID"] if static else []), "HOST", "CLIENT-ID", "#PARTITIONS"]
    widths = [15, 15, *([17] if static else []), 15, 15, 15]
    rows: list[list[object]] = []
    for member in description.members:
        instance = [member.group_instance_id or ""] if static else []
        count = len(member.assignment)
        rows.append([description.group_id, member.member_id, *instance, member.host, member.client_id, count])
        if verbose:
            topics: dict[str, list[str]] = {}
            for partition in sorted(member.assignment):
                topics.setdefault(partition.topic, []).append(str(partition.partition))
            rows[-1].append(", ".join(f"{topic}({','.join(numbers)})" for topic, numbers in topics.items()) or None)
    print_columns([*header, "ASSIGNMENT"] if verbose else header, rows, [*widths, 0] if verbose else widths)


def print_state(description: GroupDescription) -> None:
    """The table of a group's state."""
    coordinator = f"{description.coordinator_address}  ({description.coordinator})"
    header = ("GROUP", "COORDINATOR (ID)", "ASSIGNMENT-STRATEGY", "STATE", "#MEMBERS")
    row = (
        description.group_id,
        coordinator,
        description.assignor or None,
        description.state,
        len(description.members),
    )
    print_columns(header, [row], (15, 25, 20, 20, 0))


def offsets_document(description: GroupDescription, rows: list[GroupOffsetRow]) -> object:
    """Offsets and lag for JSON, with the sum of the lags."""
    lags = [row.lag for row in rows if row.lag is not None]
    return {
        "group": description.group_id,
        "state": description.state,
        "totalLag": sum(lags),
        "partitions": [
            {
                "topic": row.topic,
                "partition": row.partition,
                "currentOffset": row.current_offset,
                "logEndOffset": row.log_end_offset,
                "lag": row.lag,
                "consumerId": row.consumer_id,
                "host": row.host,
                "clientId": row.client_id,
            }
            for row in rows
            if row.topic is not None
        ],
    }


def members_document(description: GroupDescription) -> object:
    """The members for JSON."""
    return {
        "group": description.group_id,
        "state": description.state,
        "members": [
            {
                "consumerId": member.member_id,
                "groupInstanceId": member.group_instance_id,
                "host": member.host,
                "clientId": member.client_id,
                "partitions": [{"topic": p.topic, "partition": p.partition} for p in sorted(member.assignment)],
            }
            for member in description.members
        ],
    }


def state_document(description: GroupDescription) -> object:
    """The state for JSON."""
    return {
        "group": description.group_id,
        "state": description.state,
        "type": description.group_type,
        "assignmentStrategy": description.assignor or None,
        "coordinator": {"id": description.coordinator, "address": description.coordinator_address},
        "members": len(description.members),
    }


async def delete_groups(admin: Admin, options: GroupOptions) -> int | None:
    """``--delete``."""
    wanted = await wanted_groups(admin, options)
    try:
        deleted = list(await admin.delete_groups(wanted))
        failed = {}
    except AdminError as error:
        deleted, failed = list(error.results), error.errors
    if options.as_json:
        errors = {group: {"error": error.error_code.name} for group, error in failed.items()}
        print_json(
            [{"group": group, "error": None} for group in deleted] + [{"group": g, **e} for g, e in errors.items()]
        )
    elif not failed:
        click.echo(f"Deletion of requested consumer groups ('{', '.join(deleted)}') was successful.")
    else:
        click.echo("\nError: Deletion of some consumer groups failed:", err=True)
        for group, failure in failed.items():
            click.echo(f"* Group '{group}' could not be deleted due to: {failure.args[-1]}", err=True)
        if deleted:
            click.echo(f"\nThese consumer groups were deleted successfully: '{', '.join(deleted)}'")
    return 1 if failed else 0


async def reset(admin: Admin, options: GroupOptions) -> int | None:
    """``--reset-offsets``: shows the new offsets, and sets them with ``--execute``."""
    assert options.reset_to is not None
    rows: list[tuple[str, str, int, int]] = []
    exit_code = 0
    for group_id in await wanted_groups(admin, options):
        try:
            description = (await admin.describe_groups([group_id]))[group_id]
            state = description.state
        except AdminError as error:
            if error.error_code != ErrorCode.GROUP_ID_NOT_FOUND:
                raise
            state = "Dead"
        if state not in ("Empty", "Dead"):
            click.echo(
                f"\nError: Assignments can only be reset if the group '{group_id}' is inactive, but the current state "
                f"is {state}. Stop its members first.",
                err=True,
            )
            exit_code = 1
            continue
        partitions = None if options.all_topics else await the_partitions(admin, parse_topic_partitions(options.topics))
        offsets = await reset_offsets(admin, group_id, partitions, options.reset_to)
        if options.execute:
            await admin.alter_group_offsets(group_id, offsets)
        rows += [(group_id, p.topic, p.partition, offset.offset) for p, offset in sorted(offsets.items())]
    if options.as_json:
        names = ("group", "topic", "partition", "newOffset")
        print_json({"executed": options.execute, "offsets": [dict(zip(names, row, strict=True)) for row in rows]})
    elif rows:
        print_columns(("GROUP", "TOPIC", "PARTITION", "NEW-OFFSET"), rows, (30, 30, 10, 15))
        if not options.execute:
            click.echo("\nNothing was changed: add --execute to do it.", err=True)
    return exit_code


async def delete_offsets(admin: Admin, options: GroupOptions) -> int | None:
    """``--delete-offsets``."""
    exit_code = 0
    rows: list[tuple[str, int, str]] = []
    for group_id in await wanted_groups(admin, options):
        if options.all_topics:
            partitions = sorted(await admin.list_group_offsets(group_id))
        else:
            partitions = await the_partitions(admin, parse_topic_partitions(options.topics))
        if not partitions:
            raise CommandError(f"group '{group_id}' has no committed offsets to delete")
        try:
            deleted, failed = await admin.delete_group_offsets(group_id, partitions), {}
        except AdminError as error:
            deleted, failed = error.results, error.errors
            exit_code = 1
        rows += [(p.topic, p.partition, "Successful") for p in sorted(deleted)]
        rows += [(p.topic, p.partition, f"Error: {error.args[-1]}") for p, error in sorted(failed.items())]
    if options.as_json:
        print_json([dict(zip(("topic", "partition", "status"), row, strict=True)) for row in rows])
    else:
        print_columns(("TOPIC", "PARTITION", "STATUS"), rows, (30, 15, 15))
    return exit_code


ACTIONS = {
    "list": list_groups,
    "describe": describe_groups,
    "delete": delete_groups,
    "reset-offsets": reset,
    "delete-offsets": delete_offsets,
}


def groups(arguments: list[str]) -> int:
    """Entry point: the arguments after ``odradek groups``, the exit code back."""
    return main(command, "groups", arguments)
