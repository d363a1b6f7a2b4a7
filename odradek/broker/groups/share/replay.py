"""Replays records of share groups: the only code that changes their durable state, in loading and in serving.

Compaction may remove records on which later ones depend: a tombstone may remain whose record is gone. A record that has
nothing to change has no effect. Source: the ``replay`` methods of ``GroupMetadataManager``.
"""

from typing import Any

from odradek.protocol.errors import ProtocolError
from odradek.protocol.messages.group_records import (
    ShareGroupCurrentMemberAssignmentKey,
    ShareGroupCurrentMemberAssignmentValue,
    ShareGroupMemberMetadataKey,
    ShareGroupMemberMetadataValue,
    ShareGroupMetadataKey,
    ShareGroupStatePartitionMetadataKey,
    ShareGroupStatePartitionMetadataValue,
    ShareGroupTargetAssignmentMemberKey,
    ShareGroupTargetAssignmentMetadataKey,
)

from ..modern.assignment import NO_ASSIGNMENT
from ..modern.epochs import LEAVE_GROUP_MEMBER_EPOCH, NO_EPOCH
from .group import NO_STATE_TOPICS, ShareGroup, ShareGroups, StatePartitions, StateTopics
from .member import ShareGroupMember


def replay(groups: ShareGroups, key: Any, value: Any, now_ms: int) -> None:
    """Replays a record of a share group; ``value`` None is a tombstone. ``now_ms``: wall clock, ms since the epoch.

    Raises ProtocolError if the id belongs to another kind of group (``getOrMaybeCreatePersistedShareGroup``).
    """
    group = groups.share.get(key.group_id)
    if group is None:
        if value is None:
            return
        if groups.is_taken(key.group_id):
            raise ProtocolError(f"Group {key.group_id!r} is not a share group")
        group = groups.share[key.group_id] = ShareGroup(key.group_id, groups.memory)
    group.calm = False
    match key:
        case ShareGroupCurrentMemberAssignmentKey():
            _replay_current(group, key.member_id, value)
        case ShareGroupMemberMetadataKey():
            _replay_member(group, key.member_id, value)
        case ShareGroupTargetAssignmentMemberKey():
            if value is None:
                group.target_assignment.pop(key.member_id, None)
            else:
                group.target_assignment[key.member_id] = {
                    topic.topic_id: frozenset(topic.partitions) for topic in value.topic_partitions
                }
        case ShareGroupTargetAssignmentMetadataKey():
            group.assignment_epoch = NO_EPOCH if value is None else value.assignment_epoch
            group.assignment_timestamp_ms = 0 if value is None else value.assignment_timestamp
        case ShareGroupMetadataKey():
            if value is None:
                groups.share.pop(key.group_id, None)
            else:
                group.group_epoch = value.epoch
                group.metadata_hash = value.metadata_hash
        case ShareGroupStatePartitionMetadataKey():
            before = group.state_topics or NO_STATE_TOPICS
            group.state_topics = None if value is None else _state_topics(value, now_ms)
            if group.state_topics is not None and group.state_topics.deleting.keys() - before.deleting.keys():
                group.deletions += 1


def _replay_member(group: ShareGroup, member_id: str, value: ShareGroupMemberMetadataValue | None) -> None:
    if value is None:
        group.remove_member(member_id)
        return
    group.put_member(
        (group.members.get(member_id) or ShareGroupMember(member_id))._replace(
            rack_id=value.rack_id,
            client_id=value.client_id,
            client_host=value.client_host,
            subscribed_topic_names=frozenset(value.subscribed_topic_names),
        )
    )


def _replay_current(group: ShareGroup, member_id: str, value: ShareGroupCurrentMemberAssignmentValue | None) -> None:
    member = group.members.get(member_id)
    if value is not None:
        group.put_member(
            (member or ShareGroupMember(member_id))._replace(
                member_epoch=value.member_epoch,
                previous_member_epoch=value.previous_member_epoch,
                state=value.state,
                assigned={topic.topic_id: frozenset(topic.partitions) for topic in value.assigned_partitions},
            )
        )
    elif member is not None:
        gone = LEAVE_GROUP_MEMBER_EPOCH
        group.put_member(member._replace(member_epoch=gone, previous_member_epoch=gone, assigned=NO_ASSIGNMENT))


def _state_topics(value: ShareGroupStatePartitionMetadataValue, now_ms: int) -> StateTopics:
    def partitions(
        infos: list[ShareGroupStatePartitionMetadataValue.TopicPartitionsInfo],
    ) -> dict[bytes, StatePartitions]:
        return {one.topic_id: StatePartitions(one.topic_name, frozenset(one.partitions), now_ms) for one in infos}

    return StateTopics(
        partitions(value.initializing_topics),
        partitions(value.initialized_topics),
        {one.topic_id: one.topic_name for one in value.deleting_topics},
    )
