"""ConsumerGroupDescribe: the present state of a group and its members. Source: ``ConsumerGroup.asDescribedGroup``."""

from collections.abc import Generator, Iterable

from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.java.hash import in_hash_map_order
from odradek.protocol.messages.consumer_groups import ConsumerGroupDescribeResponse

from ..modern.assignment import NO_ASSIGNMENT, TopicId
from ..modern.hash_order import partition_order
from ..modern.topics import GroupTopics
from .fencing import existing_group
from .group import ConsumerGroup
from .member import ConsumerGroupMember
from .registry import GroupRegistry

DescribedGroup = ConsumerGroupDescribeResponse.DescribedGroup
Assignment = ConsumerGroupDescribeResponse.Assignment
TopicPartitions = ConsumerGroupDescribeResponse.TopicPartitions

CLASSIC_MEMBER = 0
CONSUMER_MEMBER = 1


def describe_consumer_group(groups: GroupRegistry, group_id: str) -> Generator[None, None, DescribedGroup]:
    """Describes a group, one member in each step. GROUP_ID_NOT_FOUND if no consumer group has the id."""
    try:
        group = existing_group(groups, group_id)
    except KafkaError as error:
        return DescribedGroup(group_id=group_id, error_code=ErrorCode.GROUP_ID_NOT_FOUND, error_message=error.message)
    assignor = max(group.assignors_in_order(), key=group.server_assignors.__getitem__, default=None)
    described = DescribedGroup(
        group_id=group_id,
        group_state=group.state,
        group_epoch=group.group_epoch,
        assignment_epoch=group.assignment_epoch,
        assignor_name=assignor or groups.config.group_consumer_assignors[0],
    )
    for member in list(group.members.values()):
        described.members.append(_member(group, member, groups.topics))
        yield
    return described


def _member(
    group: ConsumerGroup, member: ConsumerGroupMember, topics: GroupTopics
) -> ConsumerGroupDescribeResponse.Member:
    # Partitions that the member must give up count as its own until it has given them up.
    owned: dict[TopicId, list[int]] = {}
    for partitions in (member.assigned, member.pending_revocation):
        for topic_id, epochs in partitions.items():
            owned.setdefault(topic_id, []).extend(partition_order(epochs))
    target = group.target_assignment.get(member.member_id, NO_ASSIGNMENT)
    return ConsumerGroupDescribeResponse.Member(
        member_id=member.member_id,
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        member_epoch=member.member_epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=in_hash_map_order(sorted(member.subscribed_topic_names)),
        subscribed_topic_regex=member.subscribed_topic_regex,
        assignment=_assignment(owned.items(), topics),
        target_assignment=_assignment(
            ((topic_id, partition_order(partitions)) for topic_id, partitions in target.items()), topics
        ),
        member_type=CONSUMER_MEMBER if member.classic is None else CLASSIC_MEMBER,
    )


def _assignment(partitions: Iterable[tuple[TopicId, list[int]]], topics: GroupTopics) -> Assignment:
    """Returns an assignment for the response, without deleted topics."""
    named = ((topic_id, topics.topic_name(topic_id), indexes) for topic_id, indexes in partitions)
    return Assignment(
        [TopicPartitions(topic_id, name, indexes) for topic_id, name, indexes in named if name is not None]
    )
