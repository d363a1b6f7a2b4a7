"""Computes a new target assignment after the group's epoch has risen.

Pure but for log lines. Owns: when it is computed, and its records. Never does: assigning. Two assignments are at least
``group.share.assignment.interval.ms`` apart: a heartbeat after that time computes the next one (KIP-1263). The steps of
a large group's computation run in later turns of the event loop; until they end, heartbeats are answered with the
group's present target. Source: ``GroupMetadataManager.maybeUpdateTargetAssignment``, ``ShareTargetAssignmentBuilder``.
"""

import logging
from collections.abc import Mapping

from odradek.protocol.common.steps import Steps, run_to_end

from ...coordinator.effects import SetTimer
from ..effects import GroupEffects, ShareTargetDue, share_target_key
from ..modern.assignment import NO_ASSIGNMENT, GroupSpec, MemberSpec, TopicId
from ..modern.topics import GroupTopics
from ..records import CoordinatorRecord
from .group import NO_STATE_TOPICS, ShareAssignmentComputation, ShareGroup, ShareGroups
from .member import ShareGroupMember
from .records import target_epoch_record, target_record
from .settings import assignment_interval_ms
from .simple_assignor import assign_in_steps

logger = logging.getLogger(__name__)

Target = tuple[int, Mapping[TopicId, frozenset[int]]]
"""The epoch of a target assignment, and the member's part of it."""
INLINE_SIZE = 2_000
"""Up to this number of members plus initialized partitions, a heartbeat computes the target assignment itself. That
takes 5 ms at most."""
STEPS_A_TURN = 2
LOST_AFTER_MS = 10_000
"""A computation that has not begun after this time is requested again: the effects that requested it were dropped."""


def update_target_assignment(
    groups: ShareGroups, group: ShareGroup, group_epoch: int, updated: ShareGroupMember, effects: GroupEffects
) -> Target:
    """Returns the target assignment for ``updated``, computed now if that is due, with its epoch."""
    present = group.assignment_epoch, group.target_assignment.get(updated.member_id, NO_ASSIGNMENT)
    if group.assignment_epoch >= group_epoch or not _is_due(groups, group, effects.now_ms):
        return present
    computation = groups.sharing.get(group.group_id)
    if computation is not None and (
        computation.steps is not None or effects.now_ms < computation.asked_ms + LOST_AFTER_MS
    ):
        return present
    members = {**group.members, updated.member_id: updated}
    if _size(group, len(members)) > INLINE_SIZE:
        groups.sharing[group.group_id] = ShareAssignmentComputation(effects.now_ms)
        effects.set_timer(SetTimer(share_target_key(group.group_id), 0, ShareTargetDue(group.group_id)))
        return present
    records, target = run_to_end(_compute(groups, group, members, group_epoch, updated.member_id, effects.now_ms))
    effects.records += records
    return group_epoch, target


def advance(groups: ShareGroups, event: ShareTargetDue, effects: GroupEffects) -> None:
    """Takes the next steps of a computation. After the last one, adds the records of the new target assignment."""
    computation = groups.sharing.get(event.group_id)
    if computation is None:
        return
    group = groups.share.get(event.group_id)
    if computation.steps is None and group is not None:
        computation.group = group
        computation.steps = _records_in_steps(groups, group, effects.now_ms)
    if group is None or computation.steps is None or computation.group is not group:
        del groups.sharing[event.group_id]
        return
    try:
        for _ in range(STEPS_A_TURN):
            next(computation.steps)
    except StopIteration as end:
        del groups.sharing[event.group_id]
        effects.records += end.value
    else:
        effects.set_timer(SetTimer(share_target_key(event.group_id), 0, event))


def _records_in_steps(groups: ShareGroups, group: ShareGroup, now_ms: int) -> Steps[list[CoordinatorRecord]]:
    """Computes from the state of the group at the first step. Members that have left since then get no record."""
    group_epoch = group.group_epoch
    if group.assignment_epoch >= group_epoch:
        return []
    members = dict(group.members)
    yield
    records, _ = yield from _compute(groups, group, members, group_epoch, "", now_ms)
    if group.assignment_epoch >= group_epoch:
        return []
    return [record for record in records if getattr(record.key, "member_id", None) in (None, *group.members)]


def _is_due(groups: ShareGroups, group: ShareGroup, now_ms: int) -> bool:
    """Whether the interval since the last target assignment is over. True if the time of the last one is unknown."""
    interval_ms = assignment_interval_ms(groups, group.group_id)
    return not group.assignment_timestamp_ms or not interval_ms or now_ms >= group.assignment_timestamp_ms + interval_ms


def _size(group: ShareGroup, members: int) -> int:
    topics = (group.state_topics or NO_STATE_TOPICS).initialized.values()
    return members + sum(len(topic.partitions) for topic in topics)


def _compute(
    groups: ShareGroups,
    group: ShareGroup,
    members: Mapping[str, ShareGroupMember],
    group_epoch: int,
    member_id: str,
    now_ms: int,
) -> Steps[tuple[list[CoordinatorRecord], Mapping[TopicId, frozenset[int]]]]:
    """Returns the records of a new target assignment, and the target of one member."""
    subscriptions: dict[frozenset[str], frozenset[TopicId]] = {}
    specs = {}
    for one in members.values():
        names = one.subscribed_topic_names
        if names not in subscriptions:
            subscriptions[names] = topic_ids(names, groups.topics)
            yield
        target = group.target_assignment.get(one.member_id, NO_ASSIGNMENT)
        specs[one.member_id] = MemberSpec(subscriptions[names], None, one.rack_id, target)
    assignment = yield from assign_in_steps(
        GroupSpec(specs, len(subscriptions) == 1), _assignable(groups.topics, group)
    )
    logger.info("group %r: target assignment of epoch %d", group.group_id, group_epoch)
    records = [
        target_record(group.group_id, one, target)
        for one, target in assignment.items()
        if group.target_assignment.get(one) != target
    ]
    records.append(target_epoch_record(group.group_id, group_epoch, now_ms))
    return records, assignment.get(member_id, NO_ASSIGNMENT)


def topic_ids(names: frozenset[str], topics: GroupTopics) -> frozenset[TopicId]:
    """Returns the ids of the topics that exist among the names."""
    ids = (topics.topic_id(name) for name in names)
    return frozenset(topic_id for topic_id in ids if topic_id is not None)


def _assignable(topics: GroupTopics, group: ShareGroup) -> dict[TopicId, frozenset[int]]:
    """The partitions that exist and whose state is initialized."""
    initialized = (group.state_topics or NO_STATE_TOPICS).initialized
    found = {topic_id: _existing(topics, topic_id, one.partitions) for topic_id, one in initialized.items()}
    return {topic_id: partitions for topic_id, partitions in found.items() if partitions}


def _existing(topics: GroupTopics, topic_id: TopicId, partitions: frozenset[int]) -> frozenset[int]:
    """The partitions that exist. A log may hold others: of a deleted topic, or forged."""
    count = topics.partition_count(topic_id)
    if partitions and min(partitions) >= 0 and max(partitions) < count:
        return partitions
    return frozenset(partition for partition in partitions if 0 <= partition < count)


def has_unassigned(topics: GroupTopics, group: ShareGroup) -> bool:
    """Whether the targets differ from the initialized partitions of a subscribed topic (initializedAssignmentPending).

    Then a heartbeat raises the group's epoch. Partitions that do not exist any more do not count.
    """
    if not group.members or group.state_topics is None:
        return False
    targets: dict[TopicId, set[int]] = {}
    for target in group.target_assignment.values():
        for topic_id, partitions in target.items():
            targets.setdefault(topic_id, set()).update(partitions)
    for topic_id, one in group.state_topics.initialized.items():
        if one.topic_name in group.subscribed_topics:
            existing = _existing(topics, topic_id, one.partitions)
            if existing and targets.get(topic_id, set()) != existing:
                return True
    return False
