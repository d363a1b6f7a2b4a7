"""The records of share groups in ``__consumer_offsets``, as Kafka 4.4.0 writes them.

Pure. Owns: the content of the records. Never does: keeping state. Topics and partitions are in the order of Java's hash
collections, from which Kafka writes them. Source: ``GroupCoordinatorRecordHelpers``.
"""

from collections.abc import Mapping

from odradek.protocol.messages.group_records import (
    ShareGroupCurrentMemberAssignmentKey,
    ShareGroupCurrentMemberAssignmentValue,
    ShareGroupMemberMetadataKey,
    ShareGroupMemberMetadataValue,
    ShareGroupMetadataKey,
    ShareGroupMetadataValue,
    ShareGroupStatePartitionMetadataKey,
    ShareGroupStatePartitionMetadataValue,
    ShareGroupTargetAssignmentMemberKey,
    ShareGroupTargetAssignmentMemberValue,
    ShareGroupTargetAssignmentMetadataKey,
    ShareGroupTargetAssignmentMetadataValue,
)

from ..modern.assignment import TopicId
from ..modern.hash_order import partition_order, topic_map_order
from ..records import CoordinatorRecord
from .group import ShareGroup, StatePartitions, StateTopics
from .member import ShareGroupMember

CurrentTopicPartitions = ShareGroupCurrentMemberAssignmentValue.TopicPartitions
TargetTopicPartition = ShareGroupTargetAssignmentMemberValue.TopicPartition
TopicPartitionsInfo = ShareGroupStatePartitionMetadataValue.TopicPartitionsInfo
TopicInfo = ShareGroupStatePartitionMetadataValue.TopicInfo


def member_record(group_id: str, member: ShareGroupMember) -> CoordinatorRecord:
    """Returns the record of a member's metadata."""
    value = ShareGroupMemberMetadataValue(
        rack_id=member.rack_id,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=sorted(member.subscribed_topic_names),
    )
    return CoordinatorRecord(ShareGroupMemberMetadataKey(group_id, member.member_id), value)


def epoch_record(group_id: str, group_epoch: int, metadata_hash: int) -> CoordinatorRecord:
    """Returns the record of the group's epoch and of the hash of its subscribed topics."""
    return CoordinatorRecord(ShareGroupMetadataKey(group_id), ShareGroupMetadataValue(group_epoch, metadata_hash))


def target_record(group_id: str, member_id: str, target: Mapping[TopicId, frozenset[int]]) -> CoordinatorRecord:
    """Returns the record of a member's target assignment."""
    topics = [TargetTopicPartition(topic_id, partition_order(target[topic_id])) for topic_id in topic_map_order(target)]
    key = ShareGroupTargetAssignmentMemberKey(group_id, member_id)
    return CoordinatorRecord(key, ShareGroupTargetAssignmentMemberValue(topics))


def target_epoch_record(group_id: str, assignment_epoch: int, timestamp_ms: int) -> CoordinatorRecord:
    """Returns the record of the group epoch for which the targets were computed, and of the time of that."""
    value = ShareGroupTargetAssignmentMetadataValue(assignment_epoch, timestamp_ms)
    return CoordinatorRecord(ShareGroupTargetAssignmentMetadataKey(group_id), value)


def current_record(group_id: str, member: ShareGroupMember) -> CoordinatorRecord:
    """Returns the record of a member's epoch and partitions."""
    value = ShareGroupCurrentMemberAssignmentValue(
        member_epoch=member.member_epoch,
        previous_member_epoch=member.previous_member_epoch,
        state=member.state,
        assigned_partitions=[
            CurrentTopicPartitions(topic_id, partition_order(member.assigned[topic_id]))
            for topic_id in topic_map_order(member.assigned)
        ],
    )
    return CoordinatorRecord(ShareGroupCurrentMemberAssignmentKey(group_id, member.member_id), value)


def state_topics_record(group_id: str, topics: StateTopics) -> CoordinatorRecord:
    """Returns the record of the topics whose state is being initialised, is initialised, or is being deleted."""
    value = ShareGroupStatePartitionMetadataValue(
        initializing_topics=_infos(topics.initializing),
        initialized_topics=_infos(topics.initialized),
        deleting_topics=[
            TopicInfo(topic_id, topics.deleting[topic_id]) for topic_id in topic_map_order(topics.deleting)
        ],
    )
    return CoordinatorRecord(ShareGroupStatePartitionMetadataKey(group_id), value)


def _infos(topics: Mapping[TopicId, StatePartitions]) -> list[TopicPartitionsInfo]:
    return [
        TopicPartitionsInfo(topic_id, topics[topic_id].topic_name, partition_order(topics[topic_id].partitions))
        for topic_id in topic_map_order(topics)
    ]


def member_tombstones(group_id: str, member_id: str) -> list[CoordinatorRecord]:
    """Returns the records that delete a member."""
    return [
        CoordinatorRecord(ShareGroupCurrentMemberAssignmentKey(group_id, member_id), None),
        CoordinatorRecord(ShareGroupTargetAssignmentMemberKey(group_id, member_id), None),
        CoordinatorRecord(ShareGroupMemberMetadataKey(group_id, member_id), None),
    ]


def group_tombstones(group: ShareGroup) -> list[CoordinatorRecord]:
    """Returns the records that delete a group without members."""
    assert not group.members, f"{group} has members"
    return [
        CoordinatorRecord(ShareGroupTargetAssignmentMetadataKey(group.group_id), None),
        CoordinatorRecord(ShareGroupStatePartitionMetadataKey(group.group_id), None),
        CoordinatorRecord(ShareGroupMetadataKey(group.group_id), None),
    ]
