"""Target assignments of large groups: computed in steps, between the requests of other clients.

Owns: the computations that are under way, one for each group at most. Never does: small groups, whose heartbeat
computes the target assignment itself (:mod:`.target_assignment`). Until a computation ends, heartbeats are answered
with the group's present epoch and target assignment. Invariant: its result is stored for the epoch for which it was
computed, even if the group's epoch has risen. Otherwise a group that members keep joining would never get one. Members
that have left by then are skipped, and members that came later wait for the next one. Source: KIP-1263.
"""

import logging
from collections.abc import Mapping

from odradek.protocol.common.steps import Steps

from ...coordinator.effects import SetTimer
from ..effects import GroupEffects, TargetAssignmentDue, target_assignment_key
from ..modern.assignment import NO_ASSIGNMENT, GroupAssignment, GroupSpec, MemberSpec, PartitionAssignorError, TopicId
from ..modern.topics import TopicsSnapshot
from ..records import CoordinatorRecord
from .assignment_input import SubscribedTopicIds, assignor_of, member_specs
from .group import ConsumerGroup, is_homogeneous
from .member import ConsumerGroupMember
from .registry import AssignmentComputation, GroupRegistry
from .target_records import changed_targets, encode_changed_targets

logger = logging.getLogger(__name__)

STEPS_A_TURN = 2
LOST_AFTER_MS = 10_000
"""A computation that has not begun after this time is requested again: the effects that requested it were dropped."""


def is_large(groups: GroupRegistry, group: ConsumerGroup, updated: ConsumerGroupMember) -> bool:
    """Whether the size of the group, with this member, is above ``inline_size``. The size is the number of members
    times the number of topics, plus the number of partitions."""
    names = group.subscribed_topics.keys() | updated.subscribed_topic_names
    size = (len(group.members) + 1) * len(names)
    for name in names:
        if size > groups.inline_size:
            return True
        topic_id = groups.topics.topic_id(name)
        size += 0 if topic_id is None else groups.topics.partition_count(topic_id)
    return size > groups.inline_size


def is_under_way(groups: GroupRegistry, group_id: str, now_ms: int) -> bool:
    """Whether a target assignment of the group is being computed, or is about to be."""
    computation = groups.assigning.get(group_id)
    if computation is None:
        return False
    return computation.steps is not None or now_ms < computation.asked_ms + LOST_AFTER_MS


def ask_for(groups: GroupRegistry, group_id: str, effects: GroupEffects) -> None:
    """Schedules a computation for the next turn of the event loop: the records of this event are replayed by then."""
    groups.assigning[group_id] = AssignmentComputation(effects.now_ms)
    effects.set_timer(SetTimer(target_assignment_key(group_id), 0, TargetAssignmentDue(group_id)))


def advance(groups: GroupRegistry, event: TargetAssignmentDue, effects: GroupEffects) -> None:
    """Takes the next steps of a computation. After the last step, adds the records of the new target assignment, which
    are stored in one batch."""
    computation = groups.assigning.get(event.group_id)
    if computation is None:
        return
    group = groups.consumer.get(event.group_id)
    if computation.steps is None and group is not None:
        computation.group = group
        computation.steps = _records_in_steps(groups, group, effects)
    if group is None or computation.steps is None or computation.group is not group:
        del groups.assigning[event.group_id]
        return
    try:
        for _ in range(STEPS_A_TURN):
            next(computation.steps)
    except StopIteration as end:
        del groups.assigning[event.group_id]
        effects.records += end.value
    except PartitionAssignorError as error:
        del groups.assigning[event.group_id]
        logger.error("group %r: could not compute its target assignment: %s", event.group_id, error)
    else:
        effects.set_timer(SetTimer(target_assignment_key(event.group_id), 0, event))


def _records_in_steps(
    groups: GroupRegistry, group: ConsumerGroup, effects: GroupEffects
) -> Steps[list[CoordinatorRecord]]:
    """Computes a target assignment from the state of the group at the first step, and returns its records. Raises
    PartitionAssignorError."""
    group_epoch = group.group_epoch
    if group.assignment_epoch >= group_epoch:
        return []
    name = group.preferred_assignor() or groups.config.group_consumer_assignors[0]
    homogeneous = is_homogeneous(group.subscribed_regexes, group.subscribed_topics, len(group.members))
    topics = TopicsSnapshot(groups.topics, group.subscribed_topics)
    members, targets = dict(group.members), dict(group.target_assignment)
    yield
    specs = yield from member_specs(members, targets, SubscribedTopicIds(group, topics), topics)
    assignment = yield from assignor_of(groups, name)(GroupSpec(specs, homogeneous), topics)
    encoded = yield from encode_changed_targets(
        group, {member_id: assignment.get(member_id, NO_ASSIGNMENT) for member_id in specs}
    )
    yield
    if group.assignment_epoch >= group_epoch:
        return []
    # The interval between assignments begins when the computation began, as for a small group.
    return changed_targets(
        group, _targets_of_present(group, specs, assignment), group_epoch, name, effects.now_ms, encoded
    )


def _targets_of_present(
    group: ConsumerGroup, specs: dict[str, MemberSpec], assignment: GroupAssignment
) -> dict[str, Mapping[TopicId, frozenset[int]]]:
    """Returns the targets of the members that are still in the group. A member that has replaced a static member since
    the first step gets the target of the replaced one."""
    targets = {}
    for computed_id, spec in specs.items():
        member_id = computed_id
        if member_id not in group.members and spec.instance_id is not None:
            member_id = group.static_members.get(spec.instance_id, "")
        if member_id in group.members:
            targets[member_id] = assignment.get(computed_id, NO_ASSIGNMENT)
    return targets
