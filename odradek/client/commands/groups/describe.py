"""``odradek groups --describe``: offsets and lag, members or state of groups, in Kafka's tables or as JSON.

Owns: the contents and order of the output. Source: ``ConsumerGroupCommand``: printOffsets, printMembers, printStates.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import click

from odradek.protocol.common.lazy_imports import lazy_imports

from ..output import MISSING, Column, print_json, print_table
from ..progress import Progress
from .documents import members_document, offsets_document, state_document
from .options import GroupOptions
from .rebalance import waits
from .selection import existing_groups

with lazy_imports:
    from . import offsets

if TYPE_CHECKING:
    from ...admin.group_descriptions import GroupDescription, MemberDescription
    from ...types import TopicPartition
    from .admin import GroupsAdmin
    from .offsets import GroupOffsetRow

REBALANCING = frozenset({"PreparingRebalance", "CompletingRebalance", "Assigning", "Reconciling"})
CLASSIC_REBALANCE = frozenset({"PreparingRebalance", "CompletingRebalance"})
GROUPS_AT_A_TIME = 200


async def describe_groups(admin: GroupsAdmin, options: GroupOptions, group_ids: Sequence[str]) -> int | None:
    """``--describe``, sorted by group. Prints an error for each group that does not exist, and goes on."""
    exit_code = 0
    documents: list[object] = []
    unique_ids = sorted(set(group_ids))
    with Progress("groups", len(unique_ids)) as progress:
        for start in range(0, len(unique_ids), GROUPS_AT_A_TIME):
            part = unique_ids[start : start + GROUPS_AT_A_TIME]
            found = await existing_groups(admin, part)
            rows = await _offset_rows(admin, options, found)
            progress.clear()
            for group_id in part:
                if group_id not in found:
                    click.echo(f"\nError: Consumer group '{group_id}' does not exist.", err=True)
                    exit_code = 1
                elif options.as_json:
                    documents.append(_document(found[group_id], options, rows.get(group_id, [])))
                else:
                    _print(found[group_id], options, rows.get(group_id, []))
            progress.at(start + len(part))
    if options.as_json:
        print_json(documents)
    return exit_code


async def _offset_rows(
    admin: GroupsAdmin, options: GroupOptions, groups: dict[str, GroupDescription]
) -> dict[str, list[GroupOffsetRow]]:
    if options.members or options.state is not None:
        return {}
    return await offsets.describe_offsets(
        admin, list(groups.values()), isolation_level=options.isolation_level, lag_seconds=options.lag_seconds
    )


def _document(group: GroupDescription, options: GroupOptions, rows: list[GroupOffsetRow]) -> object:
    if options.members:
        return members_document(group)
    if options.state is not None:
        return state_document(group)
    return offsets_document(group, rows)


def _print(group: GroupDescription, options: GroupOptions, rows: list[GroupOffsetRow]) -> None:
    print_state_notice(group)
    if options.members:
        print_members(group, verbose=options.verbose)
    elif options.state is not None:
        print_state(group, verbose=options.verbose)
    elif rows:
        print_offsets(rows, verbose=options.verbose, lag_seconds=options.lag_seconds)


def print_state_notice(group: GroupDescription) -> None:
    """Prints on stderr Kafka's line for a group that is empty or in a rebalance, and what the rebalance waits for."""
    if group.state == "Empty":
        click.echo(f"\nConsumer group '{group.group_id}' has no active members.", err=True)
    elif group.state in REBALANCING:
        click.echo(f"\nWarning: Consumer group '{group.group_id}' is rebalancing.", err=True)
        for wait in waits(group):
            click.echo(f"  {wait}", err=True)
        if group.state in CLASSIC_REBALANCE:
            click.echo(
                "  Kafka's protocol does not say for which members it waits. The log of an Odradek broker names them "
                "if the rebalance takes more than 10 seconds.",
                err=True,
            )


def print_offsets(rows: list[GroupOffsetRow], *, verbose: bool, lag_seconds: bool) -> None:
    """Prints the table of offsets and lag."""
    columns: list[Column] = [
        ("GROUP", 15, [row.group for row in rows]),
        ("TOPIC", 15, [row.topic for row in rows]),
        ("PARTITION", 10, [row.partition for row in rows]),
        *([("LEADER-EPOCH", 15, [row.leader_epoch for row in rows])] if verbose else []),
        ("CURRENT-OFFSET", 15, [row.current_offset for row in rows]),
        ("LOG-END-OFFSET", 15, [row.log_end_offset for row in rows]),
        ("LAG", 15, [row.lag for row in rows]),
        *([("LAG-SECONDS", 15, [_seconds(row.lag_seconds) for row in rows])] if lag_seconds else []),
        ("CONSUMER-ID", 15, [row.consumer_id for row in rows]),
        ("HOST", 15, [row.host for row in rows]),
        ("CLIENT-ID", 0, [row.client_id for row in rows]),
    ]
    print_table(columns)


def _seconds(value: float | None) -> str | None:
    return None if value is None else f"{value:.3f}"


def print_members(group: GroupDescription, *, verbose: bool) -> None:
    """Prints the table of members; with ``verbose`` also their assignments and epochs (classic groups have none)."""
    members = group.members
    static = any(member.group_instance_id for member in members)
    upgraded = {member.upgraded for member in members if member.upgraded is not None}
    columns: list[Column] = [
        ("GROUP", 15, [group.group_id for _ in members]),
        ("CONSUMER-ID", 15, [member.member_id for member in members]),
        *([("GROUP-INSTANCE-ID", 17, [member.group_instance_id or "" for member in members])] if static else []),
        ("HOST", 15, [member.host for member in members]),
        ("CLIENT-ID", 15, [member.client_id for member in members]),
        ("#PARTITIONS", 15, [len(member.assignment) for member in members]),
    ]
    if verbose:
        columns += [
            ("CURRENT-EPOCH", 15, [member.member_epoch for member in members]),
            ("CURRENT-ASSIGNMENT", 20, [assignment_text(member.assignment) for member in members]),
            ("TARGET-EPOCH", 15, [group.target_assignment_epoch for _ in members]),
            ("TARGET-ASSIGNMENT", 20, [_target_text(member) for member in members]),
        ]
        if len(upgraded) > 1:
            columns.append(("UPGRADED", 0, [_lower(member.upgraded) for member in members]))
    print_table(columns)


def _target_text(member: MemberDescription) -> str:
    return assignment_text(member.target_assignment or ())


def _lower(value: bool | None) -> str | None:
    return None if value is None else str(value).lower()


def assignment_text(partitions: Iterable[TopicPartition]) -> str:
    """The partitions as ``topic:0,1;other:2``; ``-`` for none."""
    topics: dict[str, list[str]] = {}
    for topic, number in sorted(partitions):
        topics.setdefault(topic, []).append(str(number))
    return ";".join(f"{topic}:{','.join(numbers)}" for topic, numbers in topics.items()) or MISSING


def print_state(group: GroupDescription, *, verbose: bool) -> None:
    """Prints the table of a group's state."""
    columns: list[Column] = [
        ("GROUP", 15, [group.group_id]),
        ("COORDINATOR (ID)", 25, [f"{group.coordinator_address}  ({group.coordinator})"]),
        ("ASSIGNMENT-STRATEGY", 20, [group.assignor or None]),
        ("STATE", 20, [group.state]),
    ]
    if verbose:
        columns += [
            ("GROUP-EPOCH", 15, [group.group_epoch]),
            ("TARGET-ASSIGNMENT-EPOCH", 25, [group.target_assignment_epoch]),
        ]
    print_table([*columns, ("#MEMBERS", 0, [len(group.members)])])
