"""``odradek streams-groups --describe``: lag, members, state or topology, in Kafka's tables or as JSON.

Owns: the contents and order of the output. Source: ``StreamsGroupCommand``: printOffsets, printMembers, printStates,
printTopology.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import click

from ..groups.selection import described_groups
from ..output import Column, print_json, print_table
from ..progress import Progress
from .documents import streams_document
from .offsets import StreamsOffsetRow, offset_rows
from .options import StreamsGroupOptions
from .selection import selected_groups
from .topology import print_why_no_topology, topology_text

if TYPE_CHECKING:
    from ...admin.streams_group_descriptions import StreamsGroupDescription, StreamsTasks, SubtopologyTasks
    from .admin import StreamsGroupsAdmin

GROUPS_AT_A_TIME = 200
EMPTY = "Empty"


async def describe_streams_groups(admin: StreamsGroupsAdmin, options: StreamsGroupOptions) -> int | None:
    """``--describe``, sorted by group. Prints an error for each group that does not exist, and goes on."""
    group_ids = await selected_groups(admin, options)
    exit_code = 0
    documents: list[object] = []
    with Progress("groups", len(group_ids)) as progress:
        for start in range(0, len(group_ids), GROUPS_AT_A_TIME):
            part = group_ids[start : start + GROUPS_AT_A_TIME]
            found = await described_groups(
                lambda ids: admin.describe_streams_groups(ids, include_topology_description=options.topology), part
            )
            for number, group_id in enumerate(part, start):
                progress.at(number)
                if (group := found.get(group_id)) is None:
                    progress.clear()
                    click.echo(f"\nError: Streams group '{group_id}' does not exist.", err=True)
                    exit_code = 1
                    continue
                rows = await offset_rows(admin, group) if _is_about_offsets(options) else []
                progress.clear()
                if options.topology and group.topology_description is None:
                    print_why_no_topology(group)
                    exit_code = 1
                if options.as_json:
                    documents.append(streams_document(group, options, rows))
                else:
                    _print(group, options, rows)
    if options.as_json:
        print_json(documents)
    return exit_code


def _is_about_offsets(options: StreamsGroupOptions) -> bool:
    return not (options.members or options.topology or options.state is not None)


def _print(group: StreamsGroupDescription, options: StreamsGroupOptions, rows: list[StreamsOffsetRow]) -> None:
    if options.topology:
        if group.topology_description is not None:
            click.echo(topology_text(group.topology_description))
        return
    if group.state == EMPTY:
        click.echo(f"\nStreams group '{group.group_id}' has no active members.", err=True)
    if options.state is not None:
        print_streams_state(group, verbose=options.verbose)
    elif group.members:
        if options.members:
            print_streams_members(group, verbose=options.verbose)
        else:
            print_streams_offsets(group.group_id, rows, verbose=options.verbose)


def print_streams_offsets(group_id: str, rows: Sequence[StreamsOffsetRow], *, verbose: bool) -> None:
    """Prints the table of lag; with ``verbose`` also committed and log end offsets."""
    columns: list[Column] = [
        ("GROUP", 15, [group_id for _ in rows]),
        ("TOPIC", 15, [row.partition.topic for row in rows]),
        ("PARTITION", 10, [row.partition.partition for row in rows]),
    ]
    if verbose:
        columns += [
            ("CURRENT-OFFSET", 15, [row.current_offset for row in rows]),
            ("LEADER-EPOCH", 15, [row.leader_epoch for row in rows]),
            ("LOG-END-OFFSET", 15, [row.log_end_offset for row in rows]),
        ]
    print_table([*columns, ("OFFSET-LAG", 0, [row.lag for row in rows])])


def print_streams_members(group: StreamsGroupDescription, *, verbose: bool) -> None:
    """Prints the table of members, sorted by id; with ``verbose`` also epochs and target tasks."""
    members = sorted(group.members, key=lambda member: member.member_id)
    columns: list[Column] = [("GROUP", 15, [group.group_id for _ in members])]
    if verbose:
        columns += [
            ("TARGET-ASSIGNMENT-EPOCH", 25, [group.target_assignment_epoch for _ in members]),
            ("TOPOLOGY-EPOCH", 14, [group.topology_epoch for _ in members]),
        ]
    columns.append(("MEMBER", 15, [member.member_id for member in members]))
    if verbose:
        columns += [
            ("MEMBER-PROTOCOL", 15, ["classic" if member.is_classic else "streams" for member in members]),
            ("MEMBER-EPOCH", 15, [member.member_epoch for member in members]),
        ]
    columns += [
        ("PROCESS", 15, [member.process_id for member in members]),
        ("CLIENT-ID", 15, [member.client_id for member in members]),
        ("ASSIGNMENTS", 0, [_tasks_text(member.tasks, member.target_tasks if verbose else None) for member in members]),
    ]
    print_table(columns)


def _tasks_text(tasks: StreamsTasks, target: StreamsTasks | None) -> str:
    """The tasks as ``ACTIVE: 0:[0,1]; 1:[0]; STANDBY: 1:[2];``."""
    named = [("ACTIVE", tasks.active), ("STANDBY", tasks.standby), ("WARMUP", tasks.warmup)]
    if target is not None:
        named += [
            ("TARGET-ACTIVE", target.active),
            ("TARGET-STANDBY", target.standby),
            ("TARGET-WARMUP", target.warmup),
        ]
    return " ".join(f"{name}: {_task_list(some)}" for name, some in named if some)


def _task_list(tasks: Iterable[SubtopologyTasks]) -> str:
    return " ".join(f"{task.subtopology_id}:[{','.join(map(str, task.partitions))}];" for task in tasks)


def print_streams_state(group: StreamsGroupDescription, *, verbose: bool) -> None:
    """Prints the table of a group's state."""
    columns: list[Column] = [
        ("GROUP", 15, [group.group_id]),
        ("COORDINATOR (ID)", 25, [f"{group.coordinator_address} ({group.coordinator})"]),
        ("ASSIGNOR", 15, [group.assignor]),
        ("STATE", 25, [group.state]),
    ]
    if verbose:
        columns += [
            ("GROUP-EPOCH", 15, [group.group_epoch]),
            ("TARGET-ASSIGNMENT-EPOCH", 25, [group.target_assignment_epoch]),
        ]
    print_table([*columns, ("#MEMBERS", 0, [len(group.members)])])
