"""The records of consumer groups in ``__consumer_offsets``, as Kafka 4.4.0 writes them.

Owns: the content of the records. Never does: keeping state. Source: ``GroupCoordinatorRecordHelpers``.
"""

from collections.abc import Mapping

from odradek.protocol.messages.group_records import (
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue,
    ConsumerGroupPartitionMetadataKey,
    ConsumerGroupRegularExpressionKey,
    ConsumerGroupRegularExpressionValue,
    ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupTargetAssignmentMemberValue,
    ConsumerGroupTargetAssignmentMetadataKey,
    ConsumerGroupTargetAssignmentMetadataValue,
)

from ..modern.assignment import TopicId
from ..records import CoordinatorRecord
from .group import ConsumerGroup, ResolvedRegularExpression
from .member import ConsumerGroupMember, PartitionEpochs

CurrentTopicPartitions = ConsumerGroupCurrentMemberAssignmentValue.TopicPartitions
TargetTopicPartition = ConsumerGroupTargetAssignmentMemberValue.TopicPartition
ClassicMetadata = ConsumerGroupMemberMetadataValue.ClassicMemberMetadata
ClassicProtocol = ConsumerGroupMemberMetadataValue.ClassicProtocol


def member_record(group_id: str, member: ConsumerGroupMember) -> CoordinatorRecord:
    """Returns the record of a member's metadata."""
    classic = None
    if member.classic is not None:
        protocols = [ClassicProtocol(name, metadata) for name, metadata in member.classic.protocols]
        classic = ClassicMetadata(member.classic.session_timeout_ms, protocols)
    value = ConsumerGroupMemberMetadataValue(
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=sorted(member.subscribed_topic_names),
        subscribed_topic_regex=member.subscribed_topic_regex,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        server_assignor=member.server_assignor,
        classic_member_metadata=classic,
    )
    return CoordinatorRecord(ConsumerGroupMemberMetadataKey(group_id, member.member_id), value)


def epoch_record(group_id: str, group_epoch: int, metadata_hash: int) -> CoordinatorRecord:
    """Returns the record of the group's epoch and of the hash of its subscribed topics."""
    return CoordinatorRecord(ConsumerGroupMetadataKey(group_id), ConsumerGroupMetadataValue(group_epoch, metadata_hash))


def target_record(group_id: str, member_id: str, target: Mapping[TopicId, frozenset[int]]) -> CoordinatorRecord:
    """Returns the record of a member's target assignment."""
    topics = [TargetTopicPartition(topic_id, sorted(partitions)) for topic_id, partitions in target.items()]
    value = ConsumerGroupTargetAssignmentMemberValue(topics)
    return CoordinatorRecord(ConsumerGroupTargetAssignmentMemberKey(group_id, member_id), value)


def target_epoch_record(group_id: str, assignment_epoch: int, timestamp_ms: int) -> CoordinatorRecord:
    """Returns the record of the group epoch for which the targets were computed, and of the time of that."""
    value = ConsumerGroupTargetAssignmentMetadataValue(assignment_epoch, timestamp_ms)
    return CoordinatorRecord(ConsumerGroupTargetAssignmentMetadataKey(group_id), value)


def current_record(group_id: str, member: ConsumerGroupMember) -> CoordinatorRecord:
    """Returns the record of a member's epoch, state and partitions."""
    value = ConsumerGroupCurrentMemberAssignmentValue(
        member_epoch=member.member_epoch,
        previous_member_epoch=member.previous_member_epoch,
        state=member.state,
        assigned_partitions=_topic_partitions(member.assigned),
        partitions_pending_revocation=_topic_partitions(member.pending_revocation),
    )
    return CoordinatorRecord(ConsumerGroupCurrentMemberAssignmentKey(group_id, member.member_id), value)


def regex_record(group_id: str, regex: str, resolved: ResolvedRegularExpression) -> CoordinatorRecord:
    """Returns the record of the topics that a regular expression matches."""
    value = ConsumerGroupRegularExpressionValue(sorted(resolved.topics), resolved.version, resolved.timestamp_ms)
    return CoordinatorRecord(ConsumerGroupRegularExpressionKey(group_id, regex), value)


def regex_tombstone(group_id: str, regex: str) -> CoordinatorRecord:
    """Returns the record that deletes a regular expression."""
    return CoordinatorRecord(ConsumerGroupRegularExpressionKey(group_id, regex), None)


def partition_metadata_tombstone(group_id: str) -> CoordinatorRecord:
    """Returns the record that deletes a record of subscribed topics, which Kafka wrote before 4.1. The hash of the
    group's epoch record replaces it."""
    return CoordinatorRecord(ConsumerGroupPartitionMetadataKey(group_id), None)


def member_tombstones(group_id: str, member_id: str) -> list[CoordinatorRecord]:
    """Returns the records that delete a member."""
    return [
        CoordinatorRecord(ConsumerGroupCurrentMemberAssignmentKey(group_id, member_id), None),
        CoordinatorRecord(ConsumerGroupTargetAssignmentMemberKey(group_id, member_id), None),
        CoordinatorRecord(ConsumerGroupMemberMetadataKey(group_id, member_id), None),
    ]


def group_tombstones(
    group: ConsumerGroup, replaced_member_id: str = "", joining_member_id: str = ""
) -> list[CoordinatorRecord]:
    """Returns the records that delete a group. If ``joining_member_id`` replaces ``replaced_member_id``, the tombstones
    name the former."""
    group_id = group.group_id
    member_ids = [joining_member_id if member == replaced_member_id else member for member in group.members]
    current = [
        CoordinatorRecord(ConsumerGroupCurrentMemberAssignmentKey(group_id, member_id), None)
        for member_id in member_ids
    ]
    targets = [
        CoordinatorRecord(ConsumerGroupTargetAssignmentMemberKey(group_id, member_id), None) for member_id in member_ids
    ]
    members = [CoordinatorRecord(ConsumerGroupMemberMetadataKey(group_id, member_id), None) for member_id in member_ids]
    return [
        *current,
        *targets,
        CoordinatorRecord(ConsumerGroupTargetAssignmentMetadataKey(group_id), None),
        *members,
        *(regex_tombstone(group_id, regex) for regex in group.resolved),
        partition_metadata_tombstone(group_id),
        CoordinatorRecord(ConsumerGroupMetadataKey(group_id), None),
    ]


def _topic_partitions(assigned: PartitionEpochs) -> list[CurrentTopicPartitions]:
    topics = []
    for topic_id, epochs in assigned.items():
        partitions = sorted(epochs)
        topics.append(CurrentTopicPartitions(topic_id, partitions, list(map(epochs.__getitem__, partitions))))
    return topics
