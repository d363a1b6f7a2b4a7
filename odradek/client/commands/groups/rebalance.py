"""Finds the members that delay the rebalance of a consumer group, from a ConsumerGroupDescribe response.

Owns: comparing epochs and assignments (KIP-848). Never does: classic groups, whose responses have no epochs.
Pure. Source: ``ConsumerGroupMember``, ``CurrentAssignmentBuilder``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...admin.group_descriptions import GroupDescription, MemberDescription
    from ...types import TopicPartition


def waits(group: GroupDescription) -> list[str]:
    """A line for each member that delays the others, then one for each member that waits for partitions.

    A member delays the others while its epoch is lower than the target assignment's: it has not confirmed yet that it
    revoked its other partitions, so they still count as its own.
    """
    target_epoch = group.target_assignment_epoch
    if target_epoch is None or group.group_epoch is None:
        return []
    lines = []
    if group.group_epoch > target_epoch:
        lines.append(f"The target assignment of epoch {group.group_epoch} is not computed yet.")
    behind = [m for m in group.members if m.member_epoch is not None and m.member_epoch < target_epoch]
    lines += [
        f"Waits for {_name(member)}: at epoch {member.member_epoch}, has not confirmed epoch {target_epoch}"
        f"{_partitions_to_revoke(member)}."
        for member in behind
    ]
    for member in group.members:
        missing = sorted(set(member.target_assignment or ()) - set(member.assignment))
        if missing and member not in behind:
            lines.append(f"{_name(member)} waits for {_named(missing)}{_owners(group, missing)}.")
    return lines


def _name(member: MemberDescription) -> str:
    instance = f", {member.group_instance_id}" if member.group_instance_id else ""
    return f"{member.member_id} ({member.client_id} at {member.host.removeprefix('/')}{instance})"


def _partitions_to_revoke(member: MemberDescription) -> str:
    surplus = sorted(set(member.assignment) - set(member.target_assignment or ()))
    return f"; must revoke {_named(surplus)}" if surplus else ""


def _owners(group: GroupDescription, partitions: list[TopicPartition]) -> str:
    owners = [m.member_id for m in group.members if set(m.assignment) & set(partitions)]
    return f", still owned by {', '.join(owners)}" if owners else ""


def _named(partitions: list[TopicPartition]) -> str:
    return ", ".join(str(partition) for partition in partitions)
