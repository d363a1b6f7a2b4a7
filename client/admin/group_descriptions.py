"""Groups as the admin client describes them, whichever protocol they follow.

Owns: GroupDescription, MemberDescription, GroupListing, and making them from DescribeGroups (classic groups) and
ConsumerGroupDescribe (KIP-848). Never does: I/O. Source: ``clients.admin.internals.DescribeConsumerGroupsHandler``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ..types import TopicPartition

if TYPE_CHECKING:
    from ...protocol.messages.consumer_groups import ConsumerGroupDescribeResponse
    from ...protocol.messages.groups import DescribeGroupsResponse

CONSUMER_PROTOCOL_TYPE = "consumer"
CLASSIC_GROUP = "Classic"
CONSUMER_GROUP = "Consumer"
CONSUMER_MEMBER_TYPE = 1
UNKNOWN_MEMBER_TYPE = -1


class GroupListing(NamedTuple):
    """A group in a list; state and type are empty where the broker is too old to say."""

    group_id: str
    protocol_type: str
    state: str
    group_type: str

    @property
    def is_consumer_group(self) -> bool:
        """Whether it is a group of consumers, or empty and unused; not of Connect workers or share consumers."""
        is_consumer_type = self.group_type.lower() in ("classic", "consumer", "")
        return is_consumer_type and self.protocol_type in (CONSUMER_PROTOCOL_TYPE, "")


class MemberDescription(NamedTuple):
    """A member of a group. What only the consumer protocol has is None in classic groups."""

    member_id: str
    group_instance_id: str | None
    client_id: str
    host: str
    assignment: tuple[TopicPartition, ...]
    target_assignment: tuple[TopicPartition, ...] | None = None
    """What the assignor gave it; it owns ``assignment`` while it still gives up or waits for partitions."""
    member_epoch: int | None = None
    upgraded: bool | None = None
    """Whether it speaks the consumer protocol (True) or still the classic one (False) in a consumer group."""


class GroupDescription(NamedTuple):
    """A group; ``state`` is Kafka's: Empty, PreparingRebalance, CompletingRebalance, Stable, Dead, Assigning …

    ``group_epoch`` rises when members or subscriptions change, ``target_assignment_epoch`` follows when the assignor
    has run; both are None in classic groups.
    """

    group_id: str
    state: str
    group_type: str
    protocol_type: str
    assignor: str
    coordinator: int
    coordinator_address: str
    members: list[MemberDescription]
    group_epoch: int | None = None
    target_assignment_epoch: int | None = None


def classic_description(
    group: DescribeGroupsResponse.DescribedGroup, coordinator: int, coordinator_address: str
) -> GroupDescription:
    """A classic group; what its members own can be read only in groups of consumers. Raises ProtocolError."""
    from ..group.classic_protocol import decode_assignment  # here, because it would cost every list of groups 15 ms

    is_consumer = group.protocol_type in (CONSUMER_PROTOCOL_TYPE, "")
    members = [
        MemberDescription(
            member.member_id,
            member.group_instance_id,
            member.client_id,
            member.client_host,
            tuple(decode_assignment(member.member_assignment)) if is_consumer else (),
        )
        for member in group.members
    ]
    return GroupDescription(
        group.group_id,
        group.group_state,
        CLASSIC_GROUP,
        group.protocol_type,
        group.protocol_data,
        coordinator,
        coordinator_address,
        members,
    )


def consumer_description(
    group: ConsumerGroupDescribeResponse.DescribedGroup, coordinator: int, coordinator_address: str
) -> GroupDescription:
    """A group of the consumer protocol."""
    members = [
        MemberDescription(
            member.member_id,
            member.instance_id,
            member.client_id,
            member.client_host,
            _partitions(member.assignment),
            _partitions(member.target_assignment),
            member.member_epoch,
            None if member.member_type == UNKNOWN_MEMBER_TYPE else member.member_type == CONSUMER_MEMBER_TYPE,
        )
        for member in group.members
    ]
    return GroupDescription(
        group.group_id,
        group.group_state,
        CONSUMER_GROUP,
        CONSUMER_PROTOCOL_TYPE,
        group.assignor_name,
        coordinator,
        coordinator_address,
        members,
        group.group_epoch,
        group.assignment_epoch,
    )


def _partitions(assignment: ConsumerGroupDescribeResponse.Assignment) -> tuple[TopicPartition, ...]:
    return tuple(
        TopicPartition(topic.topic_name, number) for topic in assignment.topic_partitions for number in topic.partitions
    )
