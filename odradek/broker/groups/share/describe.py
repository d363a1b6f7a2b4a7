"""ShareGroupDescribe: the present state of a share group and its members.

Pure. Source: ``ShareGroup.asDescribedGroup``.
"""

from collections.abc import Generator

from odradek.protocol.errors import KafkaError
from odradek.protocol.java.hash import in_hash_map_order
from odradek.protocol.messages.share_groups import ShareGroupDescribeResponse

from ..modern.hash_order import partition_order, topic_map_order
from ..modern.topics import GroupTopics
from .group import ShareGroups
from .leaving import existing_group
from .member import ShareGroupMember
from .settings import SIMPLE

DescribedGroup = ShareGroupDescribeResponse.DescribedGroup
Assignment = ShareGroupDescribeResponse.Assignment
TopicPartitions = ShareGroupDescribeResponse.TopicPartitions


def describe_share_group(groups: ShareGroups, group_id: str) -> Generator[None, None, DescribedGroup]:
    """Describes a group, one member in each step. GROUP_ID_NOT_FOUND if no share group has the id."""
    try:
        group = existing_group(groups, group_id)
    except KafkaError as error:
        return DescribedGroup(group_id=group_id, error_code=error.error_code, error_message=error.message)
    described = DescribedGroup(
        group_id=group_id,
        group_state=group.state,
        group_epoch=group.group_epoch,
        assignment_epoch=group.assignment_epoch,
        assignor_name=SIMPLE,
    )
    for member in list(group.members.values()):
        described.members.append(_member(member, groups.topics))
        yield
    return described


def _member(member: ShareGroupMember, topics: GroupTopics) -> ShareGroupDescribeResponse.Member:
    """Describes a member. Deleted topics are left out."""
    named = ((topic_id, topics.topic_name(topic_id)) for topic_id in topic_map_order(member.assigned))
    return ShareGroupDescribeResponse.Member(
        member_id=member.member_id,
        rack_id=member.rack_id,
        member_epoch=member.member_epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=in_hash_map_order(sorted(member.subscribed_topic_names)),
        assignment=Assignment(
            [
                TopicPartitions(topic_id, name, partition_order(member.assigned[topic_id]))
                for topic_id, name in named
                if name is not None
            ]
        ),
    )
