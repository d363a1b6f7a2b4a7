"""``odradek share-groups --describe``: start offsets and lag, members or state, in Kafka's tables or as JSON.

Owns: the contents and order of the output. Source: ``ShareGroupCommand``: printOffsets, printMembers, printStates.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import click

from ..groups.describe import assignment_text
from ..groups.list_of_type import groups_of_type
from ..groups.selection import described_groups
from ..output import Column, print_json, print_table
from ..progress import Progress
from .options import TYPE, ShareGroupOptions

if TYPE_CHECKING:
    from ...admin.group_descriptions import GroupDescription, MemberDescription
    from ...admin.share_groups import SharePartitionOffset
    from ...types import TopicPartition
    from .admin import ShareGroupsAdmin

    Offsets = Mapping[TopicPartition, SharePartitionOffset | None]

GROUPS_AT_A_TIME = 200
EMPTY = "Empty"


async def describe_share_groups(admin: ShareGroupsAdmin, options: ShareGroupOptions) -> int | None:
    """``--describe``, sorted by group. Prints an error for each group that does not exist, and goes on."""
    named = [group.group_id for group in await groups_of_type(admin, TYPE)] if options.all_groups else options.groups
    group_ids = sorted(set(named))
    exit_code = 0
    documents: list[object] = []
    with Progress("groups", len(group_ids)) as progress:
        for start in range(0, len(group_ids), GROUPS_AT_A_TIME):
            part = group_ids[start : start + GROUPS_AT_A_TIME]
            found = await described_groups(admin.describe_share_groups, part)
            offsets = {} if _is_without_offsets(options) else await admin.list_share_group_offsets(found)
            progress.clear()
            for group_id in part:
                if group_id not in found:
                    click.echo(f"\nError: Share group '{group_id}' does not exist.", err=True)
                    exit_code = 1
                elif options.as_json:
                    documents.append(_document(found[group_id], options, offsets.get(group_id, {})))
                else:
                    _print(found[group_id], options, offsets.get(group_id, {}))
            progress.at(start + len(part))
    if options.as_json:
        print_json(documents)
    return exit_code


def _is_without_offsets(options: ShareGroupOptions) -> bool:
    return options.members or options.state is not None


def _print(group: GroupDescription, options: ShareGroupOptions, offsets: Offsets) -> None:
    if _is_without_offsets(options):
        if group.state == EMPTY:
            click.echo(f"\nShare group '{group.group_id}' has no active members.", err=True)
        if not options.members:
            print_share_state(group, verbose=options.verbose)
        elif group.members:
            print_share_members(group, verbose=options.verbose)
    elif offsets:
        print_share_offsets(group.group_id, offsets, verbose=options.verbose)
    else:
        click.echo(f"\nShare group '{group.group_id}' has no offset information.")


def print_share_offsets(group_id: str, offsets: Offsets, *, verbose: bool) -> None:
    """Prints the table of start offsets and lag."""
    rows = sorted(offsets.items())
    columns: list[Column] = [
        ("GROUP", 15, [group_id for _ in rows]),
        ("TOPIC", 15, [partition.topic for partition, _ in rows]),
        ("PARTITION", 10, [partition.partition for partition, _ in rows]),
        *([("LEADER-EPOCH", 13, [at and str(at.leader_epoch) for _, at in rows])] if verbose else []),
        ("START-OFFSET", 13, [at and str(at.start_offset) for _, at in rows]),
        ("LAG", 0, [None if at is None else at.lag for _, at in rows]),
    ]
    print_table(columns)


def print_share_members(group: GroupDescription, *, verbose: bool) -> None:
    """Prints the table of members, sorted by id; with ``verbose`` also their epochs."""
    members = _sorted(group)
    columns: list[Column] = [
        ("GROUP", 15, [group.group_id for _ in members]),
        ("CONSUMER-ID", 15, [member.member_id for member in members]),
        ("HOST", 15, [member.host for member in members]),
        ("CLIENT-ID", 15, [member.client_id for member in members]),
        ("#PARTITIONS", 12, [len(member.assignment) for member in members]),
        *([("MEMBER-EPOCH", 13, [member.member_epoch for member in members])] if verbose else []),
        ("ASSIGNMENT", 0, [assignment_text(member.assignment) if member.assignment else "" for member in members]),
    ]
    print_table(columns)


def print_share_state(group: GroupDescription, *, verbose: bool) -> None:
    """Prints the table of a group's state."""
    columns: list[Column] = [
        ("GROUP", 15, [group.group_id]),
        ("COORDINATOR (ID)", 25, [f"{group.coordinator_address}  ({group.coordinator})"]),
        ("STATE", 15, [group.state]),
    ]
    if verbose:
        columns += [
            ("GROUP-EPOCH", 12, [group.group_epoch]),
            ("ASSIGNMENT-EPOCH", 17, [group.target_assignment_epoch]),
        ]
    print_table([*columns, ("#MEMBERS", 0, [len(group.members)])])


def _sorted(group: GroupDescription) -> Sequence[MemberDescription]:
    return sorted(group.members, key=lambda member: member.member_id)


def _document(group: GroupDescription, options: ShareGroupOptions, offsets: Offsets) -> object:
    about = {"group": group.group_id, "state": group.state}
    if options.members:
        return {**about, "members": [_member_document(member) for member in _sorted(group)]}
    if options.state is not None:
        return {
            **about,
            "assignmentStrategy": group.assignor or None,
            "coordinator": {"id": group.coordinator, "address": group.coordinator_address},
            "groupEpoch": group.group_epoch,
            "targetAssignmentEpoch": group.target_assignment_epoch,
            "members": len(group.members),
        }
    return {
        **about,
        "totalLag": sum(at.lag for at in offsets.values() if at is not None and at.lag is not None),
        "partitions": [
            {
                "topic": partition.topic,
                "partition": partition.partition,
                "leaderEpoch": None if at is None else at.leader_epoch,
                "startOffset": None if at is None else at.start_offset,
                "lag": None if at is None else at.lag,
            }
            for partition, at in sorted(offsets.items())
        ],
    }


def _member_document(member: MemberDescription) -> object:
    return {
        "consumerId": member.member_id,
        "host": member.host,
        "clientId": member.client_id,
        "epoch": member.member_epoch,
        "partitions": [{"topic": topic, "partition": number} for topic, number in sorted(member.assignment)],
    }
