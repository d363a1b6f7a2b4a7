"""Lets the group's assignor compute a new target assignment after the group's epoch has risen.

Owns: the call of an assignor, and the use of its result. Never does: assigning; waiting. Two assignments are at least
``group.consumer.assignment.interval.ms`` apart: a heartbeat after that time computes the next one (KIP-1263). Source:
``GroupMetadataManager.maybeUpdateTargetAssignment``, ``TargetAssignmentBuilder``.
"""

import logging
from collections.abc import Mapping

from odradek.protocol.common.steps import run_to_end
from odradek.protocol.errors import ErrorCode, KafkaError

from ..effects import GroupEffects
from ..modern.assignment import (
    NO_ASSIGNMENT,
    Assignment,
    GroupSpec,
    MemberSpec,
    PartitionAssignorError,
    TopicId,
)
from .assignment_input import SubscribedTopicIds, assignor_of, member_specs
from .group import ConsumerGroup
from .large_assignments import ask_for, is_large, is_under_way
from .member import ConsumerGroupMember
from .registry import GroupRegistry
from .settings import assignment_interval_ms
from .target_records import changed_targets

logger = logging.getLogger(__name__)

Target = tuple[int, Mapping[TopicId, frozenset[int]]]
"""The epoch of a target assignment, and the member's part of it."""


def update_target_assignment(
    groups: GroupRegistry,
    group: ConsumerGroup,
    group_epoch: int,
    member: ConsumerGroupMember,
    updated: ConsumerGroupMember,
    effects: GroupEffects,
) -> Target:
    """Returns the target assignment for ``updated``, computed now if that is due, with its epoch. Raises KafkaError.

    ``member`` is the same member before this request. The target assignment of a large group is computed in later turns
    of the event loop; until then the old one is returned.
    """
    now_ms = effects.now_ms
    present = group.assignment_epoch, group.target_of(updated.member_id, updated.instance_id)
    if group.assignment_epoch >= group_epoch or not _is_due(groups, group, now_ms):
        return present
    if is_under_way(groups, group.group_id, now_ms):
        return present
    if is_large(groups, group, updated):
        ask_for(groups, group.group_id, effects)
        return present
    name = group.preferred_assignor_with(member, updated) or groups.config.group_consumer_assignors[0]
    members = _specs_with(groups, group, updated)
    try:
        spec = GroupSpec(members, group.is_homogeneous_with(member, updated))
        assignment = run_to_end(assignor_of(groups, name)(spec, groups.topics))
    except PartitionAssignorError as error:
        message = f"Failed to compute a new target assignment for epoch {group_epoch}: {error}"
        logger.error("group %r: %r", group.group_id, message)
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, message) from error
    targets = {member_id: assignment.get(member_id, NO_ASSIGNMENT) for member_id in members}
    effects.records += changed_targets(group, targets, group_epoch, name, now_ms)
    return group_epoch, assignment.get(updated.member_id, NO_ASSIGNMENT)


def _is_due(groups: GroupRegistry, group: ConsumerGroup, now_ms: int) -> bool:
    """Whether the interval since the last target assignment is over. True if the time of the last one is unknown."""
    interval_ms = assignment_interval_ms(groups, group.group_id)
    return not group.assignment_timestamp_ms or not interval_ms or now_ms >= group.assignment_timestamp_ms + interval_ms


def _specs_with(groups: GroupRegistry, group: ConsumerGroup, updated: ConsumerGroupMember) -> dict[str, MemberSpec]:
    """Returns the input of the assignor for all members and ``updated``, which replaces the member with its id or its
    instance id."""
    replaced = group.static_members.get(updated.instance_id) if updated.instance_id is not None else None
    members = dict(group.members)
    targets: dict[str, Assignment] = group.target_assignment
    if replaced is not None and replaced != updated.member_id:
        members.pop(replaced, None)
        targets = {**targets}
        target = targets.pop(replaced, None)
        targets.pop(updated.member_id, None)
        if target is not None:
            targets[updated.member_id] = target
    members[updated.member_id] = updated
    return run_to_end(member_specs(members, targets, SubscribedTopicIds(group, groups.topics), groups.topics))
