"""Encodes and decodes the subscriptions and assignments that JoinGroup and SyncGroup carry as opaque bytes.

Pure. Encoded topics are sorted. Source: ``org.apache.kafka.clients.consumer.internals.ConsumerProtocol``.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from odradek.protocol.common.lazy_imports import lazy_imports
from odradek.protocol.errors import ErrorCode
from odradek.protocol.internal_records.consumer_protocol import decode_embedded, encode_embedded
from odradek.protocol.messages.group_records import ConsumerProtocolAssignment, ConsumerProtocolSubscription
from odradek.protocol.messages.groups import JoinGroupRequest, JoinGroupResponse, SyncGroupRequest

from ..errors import broker_error
from ..types import TopicPartition, partitions_by_topic

with lazy_imports:
    from .assignors import by_name, subscriptions

if TYPE_CHECKING:
    from .assignors.subscriptions import MemberSubscription, TopicPartitions

PROTOCOL_TYPE = "consumer"


def encode_subscription(
    topics: Iterable[str],
    owned: Iterable[TopicPartition] = (),
    generation_id: int = -1,
    rack_id: str | None = None,
    user_data: bytes | None = None,
) -> bytes:
    """Encodes a member's subscription, the metadata of a protocol in JoinGroup."""
    version = ConsumerProtocolSubscription.VERSIONS[1]
    subscription = ConsumerProtocolSubscription(
        topics=sorted(topics),
        owned_partitions=[
            ConsumerProtocolSubscription.TopicPartition(topic=topic, partitions=numbers)
            for topic, numbers in partitions_by_topic(sorted(owned)).items()
        ],
        generation_id=generation_id,
        rack_id=rack_id,
        user_data=user_data,
    )
    return encode_embedded(subscription, version)


def decode_subscription(data: bytes, group_instance_id: str | None = None) -> "MemberSubscription":
    """Decodes a member's subscription. Raises ProtocolError."""
    subscription = decode_embedded(ConsumerProtocolSubscription, data)
    return subscriptions.MemberSubscription(
        topics=subscription.topics,
        owned_partitions=[
            TopicPartition(owned.topic, number)
            for owned in subscription.owned_partitions
            for number in owned.partitions
        ],
        group_instance_id=group_instance_id,
        generation_id=subscription.generation_id,
        rack_id=subscription.rack_id,
        user_data=None if subscription.user_data is None else bytes(subscription.user_data),
    )


def encode_assignment(partitions: Iterable[TopicPartition]) -> bytes:
    """Encodes the assignment of a member, for SyncGroup."""
    version = ConsumerProtocolAssignment.VERSIONS[1]
    assignment = ConsumerProtocolAssignment(
        assigned_partitions=[
            ConsumerProtocolAssignment.TopicPartition(topic=topic, partitions=numbers)
            for topic, numbers in partitions_by_topic(partitions).items()
        ]
    )
    return encode_embedded(assignment, version)


def decode_assignment(data: bytes) -> list[TopicPartition]:
    """Decodes an assignment; empty bytes are an assignment without partitions. Raises ProtocolError."""
    if not data:
        return []
    assignment = decode_embedded(ConsumerProtocolAssignment, data)
    return [
        TopicPartition(assigned.topic, number)
        for assigned in assignment.assigned_partitions
        for number in assigned.partitions
    ]


def join_protocols(
    strategies: Sequence[str],
    topics: Iterable[str],
    owned: Iterable[TopicPartition],
    generation_id: int,
    *,
    rack_id: str | None = None,
    user_data: Mapping[str, bytes] | None = None,
) -> list[JoinGroupRequest.JoinGroupRequestProtocol]:
    """The protocols of a JoinGroup: one for each assignor, in order of preference. ``user_data`` is by assignor."""
    topics, owned = list(topics), list(owned)
    own_data = user_data or {}
    return [
        JoinGroupRequest.JoinGroupRequestProtocol(
            name=strategy,
            metadata=encode_subscription(topics, owned, generation_id, rack_id, own_data.get(strategy)),
        )
        for strategy in strategies
    ]


def members_of(response: JoinGroupResponse) -> "dict[str, MemberSubscription]":
    """The members' subscriptions from the leader's JoinGroup response, by member id. Raises ProtocolError."""
    return {
        member.member_id: decode_subscription(member.metadata, member.group_instance_id) for member in response.members
    }


def assign(
    strategy: str, members: "Mapping[str, MemberSubscription]", topics: "TopicPartitions"
) -> list[SyncGroupRequest.SyncGroupRequestAssignment]:
    """Runs the assignor on the leader, for SyncGroup. Raises KafkaError INCONSISTENT_GROUP_PROTOCOL if unknown."""
    assignor = by_name.ASSIGNORS.get(strategy)
    if assignor is None:
        raise broker_error(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, f"the group chose assignor '{strategy}'")
    return [
        SyncGroupRequest.SyncGroupRequestAssignment(member_id=member_id, assignment=encode_assignment(partitions))
        for member_id, partitions in assignor(members, topics).items()
    ]
