"""The target assignment: found anew by the group's assignor when the group's epoch has moved on.

Owns: what an assignor is given and what becomes of its answer. Never does: assigning; waiting: an assignment that came
too soon after the last is made with a later heartbeat (``group.consumer.assignment.interval.ms``, KIP-1263).
Source: ``GroupMetadataManager.maybeUpdateTargetAssignment``, ``TargetAssignmentBuilder``.
"""

import logging
from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING

from ....protocol.errors import ErrorCode, KafkaError
from ..records import CoordinatorRecord
from .assignors.interface import (
    Assignor,
    GroupAssignment,
    GroupSpec,
    MemberSpec,
    PartitionAssignorError,
    SubscribedTopics,
    TopicId,
)
from .group import NO_ASSIGNMENT, ConsumerGroup
from .member import ConsumerGroupMember
from .records import target_epoch_record, target_record
from .settings import assignment_interval_ms
from .topics import GroupTopics

if TYPE_CHECKING:
    from .needs import HasConsumerGroups

logger = logging.getLogger(__name__)

Target = tuple[int, Mapping[TopicId, frozenset[int]]]
"""An epoch, and what a member shall own in it."""


class SubscribedTopicIds:
    """Finds the ids of what members subscribe to, once for members that subscribe to the same."""

    def __init__(self, group: ConsumerGroup, topics: GroupTopics) -> None:
        self._group = group
        self._topics = topics
        self._known: dict[tuple[frozenset[str], str | None], SubscribedTopics] = {}

    def of(self, member: ConsumerGroupMember) -> SubscribedTopics:
        """Of all that it names and that its regular expression matches, what exists; nothing is matched unresolved."""
        subscription = member.subscribed_topic_names, member.subscribed_topic_regex
        known = self._known.get(subscription)
        if known is None:
            names, regex = subscription
            resolved = self._group.resolved.get(regex) if regex else None
            if resolved is not None:
                names |= resolved.topics
            ids = (self._topics.topic_id(name) for name in names)
            known = self._known[subscription] = frozenset(topic_id for topic_id in ids if topic_id is not None)
        return known


def update_target_assignment(
    core: "HasConsumerGroups",
    group: ConsumerGroup,
    group_epoch: int,
    member: ConsumerGroupMember,
    updated: ConsumerGroupMember,
    homogeneous: bool,
    now_ms: int,
    records: list[CoordinatorRecord],
) -> Target:
    """What ``updated`` (``member`` until now) shall own, and since which epoch. Raises KafkaError."""
    if group.assignment_epoch >= group_epoch or not _is_due(core, group, now_ms):
        return group.assignment_epoch, group.target_of(updated.member_id, updated.instance_id)
    name = group.preferred_assignor(member, updated) or core.config.group_consumer_assignors[0]
    members = _member_specs(group, updated, SubscribedTopicIds(group, core.topics), core.topics)
    try:
        assignment = _assignor(core, name)(GroupSpec(members, homogeneous), core.topics)
    except PartitionAssignorError as error:
        message = f"Failed to compute a new target assignment for epoch {group_epoch}: {error}"
        logger.error("group %r: %r", group.group_id, message)
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, message) from error
    logger.info("group %r: target assignment of epoch %d by %r", group.group_id, group_epoch, name)
    records += _changes(group, members, assignment)
    records.append(target_epoch_record(group.group_id, group_epoch, now_ms))
    return group_epoch, assignment.get(updated.member_id, NO_ASSIGNMENT)


def _is_due(core: "HasConsumerGroups", group: ConsumerGroup, now_ms: int) -> bool:
    """Whether the last target assignment has stood long enough; one of an unknown age always has."""
    interval_ms = assignment_interval_ms(core, group.group_id)
    return not group.assignment_timestamp_ms or not interval_ms or now_ms >= group.assignment_timestamp_ms + interval_ms


def _member_specs(
    group: ConsumerGroup, updated: ConsumerGroupMember, subscribed: SubscribedTopicIds, topics: GroupTopics
) -> dict[str, MemberSpec]:
    """All members as they will be: ``updated`` among them, in place of the one that had its instance id."""
    replaced = group.static_members.get(updated.instance_id) if updated.instance_id is not None else None
    members = dict(group.members)
    if replaced is not None and replaced != updated.member_id:
        members.pop(replaced, None)
    members[updated.member_id] = updated
    specs = {}
    taken: dict[TopicId, set[int]] = {}
    for member_id, member in members.items():
        target = group.target_assignment.get(member_id)
        if member is updated and replaced is not None and replaced != member_id:
            target = group.target_assignment.get(replaced)
        specs[member_id] = MemberSpec(
            subscribed.of(member),
            member.instance_id,
            member.rack_id,
            NO_ASSIGNMENT if target is None else _possible(target, taken, topics),
        )
    return specs


def _possible(
    target: Mapping[TopicId, frozenset[int]], taken: dict[TopicId, set[int]], topics: GroupTopics
) -> Mapping[TopicId, frozenset[int]]:
    """The target without partitions that do not exist or that another member has, which ``taken`` collects.

    A log may hold such a target, and the assignors rely on the opposite: they would leave partitions without an owner.
    """
    impossible: dict[TopicId, set[int]] = {}
    for topic_id, partitions in target.items():
        count = topics.partition_count(topic_id)
        others = taken.setdefault(topic_id, set())
        wrong = others & partitions
        if count >= 0 and partitions and (min(partitions) < 0 or max(partitions) >= count):
            wrong |= {partition for partition in partitions if not 0 <= partition < count}
        others |= partitions
        if wrong:
            impossible[topic_id] = wrong
    if not impossible:
        return target
    return {topic_id: partitions - impossible.get(topic_id, set()) for topic_id, partitions in target.items()}


def _changes(
    group: ConsumerGroup, members: Mapping[str, MemberSpec], assignment: GroupAssignment
) -> list[CoordinatorRecord]:
    return [
        target_record(group.group_id, member_id, assignment.get(member_id, NO_ASSIGNMENT))
        for member_id in members
        if group.target_assignment.get(member_id) != assignment.get(member_id, NO_ASSIGNMENT)
    ]


def _assignor(core: "HasConsumerGroups", name: str) -> Assignor:
    # A member of a stored group may name one that is not configured any more.
    if name not in core.config.group_consumer_assignors:
        name = core.config.group_consumer_assignors[0]
    assign: Assignor = import_module(f".assignors.{name}", __package__).assign
    return assign
