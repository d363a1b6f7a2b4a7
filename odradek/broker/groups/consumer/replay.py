"""Replays records of consumer groups: the only code that changes their durable state, in loading and in serving.

Compaction may remove records on which later ones depend: a tombstone may remain whose record is gone, or the assignment
of a member that left. A record that has nothing to change has no effect. Source: the ``replay`` methods of
``GroupMetadataManager``.
"""

import logging
from typing import Any

from odradek.protocol.errors import ProtocolError
from odradek.protocol.messages.group_records import (
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupMetadataKey,
    ConsumerGroupPartitionMetadataKey,
    ConsumerGroupRegularExpressionKey,
    ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupTargetAssignmentMetadataKey,
)

from ..modern.epochs import LEAVE_GROUP_MEMBER_EPOCH, NO_EPOCH
from .group import ConsumerGroup, ResolvedRegularExpression
from .member import (
    NO_PARTITIONS,
    ClassicMemberMetadata,
    ConsumerGroupMember,
    MemberState,
    PartitionEpochs,
)
from .registry import GroupRegistry

logger = logging.getLogger(__name__)


def replay(groups: GroupRegistry, key: Any, value: Any) -> None:
    """Replays a record of a consumer group; ``value`` None is a tombstone.

    Raises ProtocolError if the id belongs to another kind of group (``getOrMaybeCreatePersistedConsumerGroup``).
    """
    group = groups.consumer.get(key.group_id)
    if group is None:
        if value is None:
            return
        if key.group_id in groups.stored or key.group_id in groups.streams or key.group_id in groups.share:
            raise ProtocolError(f"Group {key.group_id!r} is not a consumer group")
        group = ConsumerGroup(key.group_id, groups.memory)
        groups.consumer[key.group_id] = group
        # A simple group, which was created by a commit, becomes this group.
        groups.classic.pop(key.group_id, None)
    match key:
        case ConsumerGroupCurrentMemberAssignmentKey():
            _replay_current(group, key.member_id, value)
        case ConsumerGroupMemberMetadataKey():
            _replay_member(group, key.member_id, value)
        case ConsumerGroupTargetAssignmentMemberKey():
            if value is None:
                group.target_assignment.pop(key.member_id, None)
            else:
                group.target_assignment[key.member_id] = {
                    topic.topic_id: frozenset(topic.partitions) for topic in value.topic_partitions
                }
        case ConsumerGroupTargetAssignmentMetadataKey():
            group.assignment_epoch = NO_EPOCH if value is None else value.assignment_epoch
            group.assignment_timestamp_ms = 0 if value is None else value.assignment_timestamp
        case ConsumerGroupMetadataKey():
            if value is None:
                groups.consumer.pop(key.group_id, None)
            else:
                group.group_epoch = value.epoch
                group.metadata_hash = value.metadata_hash
        case ConsumerGroupRegularExpressionKey():
            resolved = None
            if value is not None:
                resolved = ResolvedRegularExpression(frozenset(value.topics), value.version, value.timestamp)
            group.put_resolved(key.regular_expression, resolved)
        case ConsumerGroupPartitionMetadataKey():
            group.has_subscription_metadata = value is not None


def _replay_member(group: ConsumerGroup, member_id: str, value: ConsumerGroupMemberMetadataValue | None) -> None:
    if value is None:
        group.remove_member(member_id)
        return
    classic = None
    if value.classic_member_metadata is not None:
        protocols = value.classic_member_metadata.supported_protocols
        classic = ClassicMemberMetadata(
            value.classic_member_metadata.session_timeout_ms,
            tuple((protocol.name, bytes(protocol.metadata)) for protocol in protocols),
        )
    member = group.members.get(member_id) or ConsumerGroupMember(member_id)
    group.put_member(
        member._replace(
            instance_id=value.instance_id,
            rack_id=value.rack_id,
            client_id=value.client_id,
            client_host=value.client_host,
            subscribed_topic_names=frozenset(value.subscribed_topic_names),
            subscribed_topic_regex=value.subscribed_topic_regex,
            rebalance_timeout_ms=value.rebalance_timeout_ms,
            server_assignor=value.server_assignor,
            classic=classic,
        )
    )


def _replay_current(
    group: ConsumerGroup, member_id: str, value: ConsumerGroupCurrentMemberAssignmentValue | None
) -> None:
    member = group.members.get(member_id)
    if value is None:
        if member is not None:
            group.put_member(
                member._replace(
                    member_epoch=LEAVE_GROUP_MEMBER_EPOCH,
                    previous_member_epoch=LEAVE_GROUP_MEMBER_EPOCH,
                    assigned=NO_PARTITIONS,
                    pending_revocation=NO_PARTITIONS,
                )
            )
        return
    group.put_member(
        (member or ConsumerGroupMember(member_id))._replace(
            member_epoch=value.member_epoch,
            previous_member_epoch=value.previous_member_epoch,
            state=MemberState.of(value.state),
            assigned=_partition_epochs(group, value.assigned_partitions, value.member_epoch),
            pending_revocation=_partition_epochs(group, value.partitions_pending_revocation, value.member_epoch),
        )
    )


def _partition_epochs(
    group: ConsumerGroup, topics: list[ConsumerGroupCurrentMemberAssignmentValue.TopicPartitions], member_epoch: int
) -> PartitionEpochs:
    """Returns the partitions of a record with their epochs. Kafka before 4.3 wrote no epochs of partitions: then all
    have the member's epoch."""
    default = max(member_epoch, 0)
    found = {}
    for topic in topics:
        partitions, epochs = topic.partitions, topic.assignment_epochs
        if epochs and len(epochs) == len(partitions):
            found[topic.topic_id] = dict(zip(partitions, epochs))  # noqa: B905, the lengths are equal
            continue
        if epochs:
            logger.error(
                "group %r: ignored the %d epochs of a record with %d partitions",
                group.group_id,
                len(epochs),
                len(partitions),
            )
        found[topic.topic_id] = dict.fromkeys(partitions, default)
    return found
