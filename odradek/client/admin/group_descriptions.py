"""The admin client's descriptions of groups, of the classic and of the consumer protocol.

Owns: GroupDescription, MemberDescription, GroupListing, and making them from DescribeGroups (classic groups) and
ConsumerGroupDescribe (KIP-848). Never does: I/O. Source: ``clients.admin.internals.DescribeConsumerGroupsHandler``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from odradek.protocol.common.lazy_imports import lazy_imports

from ..types import TopicPartition

with lazy_imports:
    from ..group import classic_protocol

if TYPE_CHECKING:
    from odradek.protocol.messages.consumer_groups import ConsumerGroupDescribeResponse
    from odradek.protocol.messages.groups import DescribeGroupsResponse

CONSUMER_PROTOCOL_TYPE = "consumer"
CLASSIC_GROUP = "Classic"
CONSUMER_GROUP = "Consumer"
CONSUMER_MEMBER_TYPE = 1
UNKNOWN_MEMBER_TYPE = -1


class GroupListing(NamedTuple):
    """A group in a list. State and type are empty if the broker is too old to send them."""

    group_id: str
    protocol_type: str
    state: str
    group_type: str

    @property
    def is_consumer_group(self) -> bool:
        """Whether it is a consumer group: not a group of Connect workers, nor a share or streams group.

        A group that no member has joined has an empty protocol type and counts as one.
        """
        is_consumer_type = self.group_type.lower() in ("classic", "consumer", "")
        return is_consumer_type and self.protocol_type in (CONSUMER_PROTOCOL_TYPE, "")


class MemberDescription(NamedTuple):
    """A member of a group. The fields with default None exist in the consumer protocol only."""

    member_id: str
    group_instance_id: str | None
    client_id: str
    host: str
    assignment: tuple[TopicPartition, ...]
    target_assignment: tuple[TopicPartition, ...] | None = None
    """The partitions chosen by the assignor. During a rebalance they differ from ``assignment``, which it owns now."""
    member_epoch: int | None = None
    upgraded: bool | None = None
    """In a consumer group: True if the member uses the consumer protocol, False if it still uses the classic one."""


class GroupDescription(NamedTuple):
    """A group; ``state`` is Kafka's: Empty, PreparingRebalance, CompletingRebalance, Stable, Dead, Assigning …

    ``group_epoch`` rises when members or subscriptions change. ``target_assignment_epoch`` is the group epoch of the
    assignor's last run. Both are None in classic groups.
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
    """A classic group. Assignments are decoded for consumers only, and empty for other protocol types.

    Raises ProtocolError if an assignment is malformed.
    """
    is_consumer = group.protocol_type in (CONSUMER_PROTOCOL_TYPE, "")
    members = [
        MemberDescription(
            member.member_id,
            member.group_instance_id,
            member.client_id,
            member.client_host,
            tuple(classic_protocol.decode_assignment(member.member_assignment)) if is_consumer else (),
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
