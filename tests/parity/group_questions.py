"""Random requests about groups of the classic protocol and their offsets."""

from typing import Any

from odradek.protocol.messages.groups import (
    DeleteGroupsRequest,
    DescribeGroupsRequest,
    FindCoordinatorRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    ListGroupsRequest,
    OffsetCommitRequest,
    OffsetDeleteRequest,
    OffsetFetchRequest,
    SyncGroupRequest,
)
from odradek.protocol.messages.structure import Message
from parity.question_draws import Draws, Question
from parity.world import Names


class GroupQuestions:
    """Draws requests of group members, and requests that describe and delete groups."""

    def __init__(self, draws: Draws) -> None:
        self._draw = draws

    def find_coordinator(self) -> Question:
        version = self._draw.version(FindCoordinatorRequest)
        group = self._draw.group()
        return (
            version,
            lambda names: (
                FindCoordinatorRequest(key_type=0, coordinator_keys=[group, "other"])
                if version >= 4
                else FindCoordinatorRequest(key=group)
            ),
        )

    def join_group(self) -> Question:
        version = self._draw.version(JoinGroupRequest)
        rng = self._draw.rng
        group = self._draw.group()
        new = rng.random() < 0.3
        session = rng.choice((10_000, 10_000, 10_000, 100, 10_000_000))
        protocols = rng.choice((["range"], ["range"], ["range", "roundrobin"], []))
        kind = rng.choice(("consumer", "consumer", "consumer", "connect", ""))

        def make(names: Names) -> Message:
            offered: Any = [JoinGroupRequest.JoinGroupRequestProtocol(name, b"\x00\x01") for name in protocols]
            member = "" if new and group not in names.members else names.member(group)
            return JoinGroupRequest(group, session, 60_000 if version >= 1 else -1, member, None, kind, offered)

        return version, make

    def sync_group(self) -> Question:
        version = self._draw.version(SyncGroupRequest)
        group, off = self._draw.group(), self._draw.rng.choice((0, 0, 0, 1))
        protocol = self._draw.rng.choice(("range", "range", "other")) if version >= 5 else None

        def make(names: Names) -> Message:
            member = names.member(group)
            assignment = SyncGroupRequest.SyncGroupRequestAssignment(member, b"mine")
            kind = "consumer" if version >= 5 else None
            return SyncGroupRequest(
                group, names.generations.get(group, 0) + off, member, None, kind, protocol, [assignment]
            )

        return version, make

    def heartbeat(self) -> Question:
        version = self._draw.version(HeartbeatRequest)
        group, off = self._draw.group(), self._draw.rng.choice((0, 0, 0, 1, -1))
        return version, lambda names: HeartbeatRequest(
            group, names.generations.get(group, 0) + off, names.member(group)
        )

    def leave_group(self) -> Question:
        version = self._draw.version(LeaveGroupRequest)
        group = self._draw.group()

        def make(names: Names) -> Message:
            member = names.member(group)
            if version < 3:
                return LeaveGroupRequest(group, member)
            return LeaveGroupRequest(
                group, members=[LeaveGroupRequest.MemberIdentity(member), LeaveGroupRequest.MemberIdentity("ghost")]
            )

        return version, make

    def offset_commit(self) -> Question:
        version = self._draw.version(OffsetCommitRequest)
        rng = self._draw.rng
        group = self._draw.group()
        simple = rng.random() < 0.4
        topic, index, offset = self._draw.topic(), self._draw.partition(), rng.randrange(100)
        # A commit without a member has no oversized metadata. If it were refused, Kafka would create a group that
        # stays invisible to requests until the next commit.
        metadata = rng.choice(("", "note", None, "" if simple else "x" * 5000))

        def make(names: Names) -> Message:
            partition = OffsetCommitRequest.OffsetCommitRequestPartition(
                partition_index=index, committed_offset=offset, committed_metadata=metadata
            )
            topics = [OffsetCommitRequest.OffsetCommitRequestTopic(topic, names.topic_id(topic), [partition])]
            if simple or version < 1:
                return OffsetCommitRequest(group, topics=topics)
            return OffsetCommitRequest(group, names.generations.get(group, 0), names.member(group), topics=topics)

        return version, make

    def offset_fetch(self) -> Question:
        version = self._draw.version(OffsetFetchRequest)
        rng = self._draw.rng
        group, topic, index = self._draw.group(), self._draw.topic(), self._draw.partition()
        everything = rng.random() < 0.3 and version >= 2

        def make(names: Names) -> Message:
            if version < 8:
                old = None if everything else [OffsetFetchRequest.OffsetFetchRequestTopic(topic, [index])]
                return OffsetFetchRequest(group, old)
            new = (
                None
                if everything
                else [OffsetFetchRequest.OffsetFetchRequestTopics(topic, names.topic_id(topic), [index])]
            )
            return OffsetFetchRequest(groups=[OffsetFetchRequest.OffsetFetchRequestGroup(group_id=group, topics=new)])

        return version, make

    def offset_delete(self) -> Question:
        version = self._draw.version(OffsetDeleteRequest)
        group, topic, index = self._draw.group(), self._draw.topic(), self._draw.partition()

        def make(names: Names) -> Message:
            partition = OffsetDeleteRequest.OffsetDeleteRequestPartition(index)
            return OffsetDeleteRequest(group, [OffsetDeleteRequest.OffsetDeleteRequestTopic(topic, [partition])])

        return version, make

    def describe_groups(self) -> Question:
        version = self._draw.version(DescribeGroupsRequest)
        group = self._draw.group()
        return version, lambda names: DescribeGroupsRequest([group])

    def list_groups(self) -> Question:
        version = self._draw.version(ListGroupsRequest)
        states = self._draw.rng.choice(([], ["Stable"], ["Empty"], ["nonsense"])) if version >= 4 else []
        types = self._draw.rng.choice(([], ["classic"], ["consumer"])) if version >= 5 else []
        return version, lambda names: ListGroupsRequest(list(states), list(types))

    def delete_groups(self) -> Question:
        version = self._draw.version(DeleteGroupsRequest)
        group = self._draw.group()
        return version, lambda names: DeleteGroupsRequest([group])
