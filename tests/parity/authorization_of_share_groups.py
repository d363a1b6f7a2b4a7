"""Requests about share groups that check authorization. They change nothing that another request could see."""

from odradek.protocol.messages.share_groups import (
    AlterShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequest,
    ShareAcknowledgeRequest,
    ShareFetchRequest,
    ShareGroupDescribeRequest,
    ShareGroupHeartbeatRequest,
)
from odradek.protocol.messages.structure import Message
from parity.authorization_names import GROUPS, TOPICS

SHARING = "sharing"
"""A share group with a member, which reads the first two topics."""
SPARE = "spare"
"""A share group without members, which has the offset of one partition of the first topic."""


def joining_member() -> ShareGroupHeartbeatRequest:
    """The member of SHARING joins."""
    return ShareGroupHeartbeatRequest(SHARING, "member-of-sharing", 0, None, list(TOPICS[:2]))


def spare_offset() -> AlterShareGroupOffsetsRequest:
    """Creates SPARE."""
    kind = AlterShareGroupOffsetsRequest
    partitions = [kind.AlterShareGroupOffsetsRequestPartition(0, 3)]
    return kind(SPARE, [kind.AlterShareGroupOffsetsRequestTopic(TOPICS[0], partitions)])


def heartbeat_of_sharer(_: dict[str, bytes]) -> Message:
    return ShareGroupHeartbeatRequest(SHARING, "nobody", 5, None, list(TOPICS[:2]))


def describe_share_groups(_: dict[str, bytes]) -> Message:
    return ShareGroupDescribeRequest([SHARING, GROUPS[0]], True)


def describe_share_offsets(_: dict[str, bytes]) -> Message:
    kind = DescribeShareGroupOffsetsRequest
    topics = [kind.DescribeShareGroupOffsetsRequestTopic(name, [0]) for name in TOPICS]
    everything = kind.DescribeShareGroupOffsetsRequestGroup(SPARE)
    everything.topics = None
    return kind([kind.DescribeShareGroupOffsetsRequestGroup(SHARING, topics), everything])


def alter_share_offsets(_: dict[str, bytes]) -> Message:
    """Only for topics that do not exist, so that nothing changes."""
    kind = AlterShareGroupOffsetsRequest
    partitions = [kind.AlterShareGroupOffsetsRequestPartition(0, 3)]
    return kind(SPARE, [kind.AlterShareGroupOffsetsRequestTopic(TOPICS[2], partitions)])


def delete_share_offsets(_: dict[str, bytes]) -> Message:
    """Only for topics whose offsets the group does not have."""
    kind = DeleteShareGroupOffsetsRequest
    return kind(SPARE, [kind.DeleteShareGroupOffsetsRequestTopic(name) for name in TOPICS[1:]])


def fetch_of_sharer(topic_ids: dict[str, bytes]) -> Message:
    """Opens a session, in which nothing is fetched."""
    kind = ShareFetchRequest
    topics = [kind.FetchTopic(topic_ids[name], [kind.FetchPartition(0)]) for name in TOPICS[:2]]
    return kind(SPARE, "nobody", 0, topics=topics)


def acknowledgement_of_sharer(topic_ids: dict[str, bytes]) -> Message:
    """Of the session of a member that has none."""
    kind = ShareAcknowledgeRequest
    topics = [kind.AcknowledgeTopic(topic_ids[name], [kind.AcknowledgePartition(0)]) for name in TOPICS[:2]]
    return kind(SPARE, "stranger", 1, topics=topics)


def alter_offsets_of_others(_: dict[str, bytes]) -> Message:
    """For a group with a member, which is refused after its topics were checked."""
    kind = AlterShareGroupOffsetsRequest
    partitions = [kind.AlterShareGroupOffsetsRequestPartition(0, 3)]
    return kind(SHARING, [kind.AlterShareGroupOffsetsRequestTopic(name, partitions) for name in TOPICS])
