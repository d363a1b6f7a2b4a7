"""Requests about streams groups that check authorization. They change nothing that another request could see."""

from odradek.protocol.messages.streams_groups import (
    StreamsGroupDescribeRequest,
    StreamsGroupHeartbeatRequest,
    StreamsGroupTopologyDescriptionUpdateRequest,
)
from odradek.protocol.messages.structure import Message
from parity.authorization_names import GROUPS, TOPICS
from parity.streams_members import subtopology, task_ids, topology

STREAMING = "streaming"
"""A streams group with a member, which reads the first two topics."""
LACKING = "lacking"
"""A streams group whose internal topic is missing."""
PARTS = topology(subtopology("0", *TOPICS[:2]))


def joining_streams_member() -> StreamsGroupHeartbeatRequest:
    """The member of STREAMING joins."""
    return StreamsGroupHeartbeatRequest(
        group_id=STREAMING,
        member_id="member-of-streaming",
        member_epoch=0,
        rebalance_timeout_ms=60_000,
        topology=PARTS,
        active_tasks=task_ids({}),
        standby_tasks=[],
        warmup_tasks=[],
        process_id="process-of-streaming",
        client_tags=[],
    )


def joining_with_missing_topic(_: dict[str, bytes]) -> Message:
    """A member whose topology has a changelog that does not exist, and whose creation fails: it has more replicas
    than there are brokers. So no request creates the topic."""
    request = joining_streams_member()
    request.group_id = LACKING
    missing = StreamsGroupHeartbeatRequest.TopicInfo(TOPICS[2], 0, 3, [])
    request.topology = topology(subtopology("0", TOPICS[0], changelogs=[missing]))
    return request


def heartbeat_of_streams_member(_: dict[str, bytes]) -> Message:
    """Of a member that does not exist: it is refused after the topics were checked."""
    request = joining_streams_member()
    request.member_id, request.member_epoch = "nobody", 5
    return request


def describe_streams_groups(_: dict[str, bytes]) -> Message:
    return StreamsGroupDescribeRequest([STREAMING, GROUPS[0]], True)


def describe_topology(_: dict[str, bytes]) -> Message:
    """Without a plugin for it, which a broker refuses."""
    return StreamsGroupTopologyDescriptionUpdateRequest(STREAMING, "member-of-streaming")
