"""Edge cases of groups and committed offsets: the same fixed steps on Odradek and on a real Kafka."""

from collections.abc import Callable
from typing import Any

import pytest

from odradek.protocol.messages.groups import (
    DeleteGroupsRequest,
    DescribeGroupsRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    OffsetCommitRequest,
    OffsetDeleteRequest,
    OffsetFetchRequest,
    SyncGroupRequest,
)
from odradek.protocol.messages.topics import DeleteTopicsRequest
from parity.side import Side, same
from parity.two_brokers import TwoBrokers

pytestmark = pytest.mark.java

TOPIC = "trap-groups"
SESSION_MS = 60_000


@pytest.fixture(scope="module", autouse=True)
def topic(both: TwoBrokers) -> None:
    same(both, lambda side: side.topic(TOPIC, 2))


class Group:
    """A group on one broker, and the member ids that the broker gave."""

    def __init__(self, side: Side, name: str) -> None:
        self.side = side
        self.name = side.group(name)
        self.member_ids: dict[str, str] = {"": "", "ghost": "ghost"}
        self.generation = 0

    def request(self, who: str = "", **fields: Any) -> JoinGroupRequest:
        """A JoinGroup request."""
        wanted = {
            "session_timeout_ms": SESSION_MS,
            "rebalance_timeout_ms": SESSION_MS,
            "member_id": self.member_ids.get(who, ""),
            "protocol_type": "consumer",
            "protocols": [JoinGroupRequest.JoinGroupRequestProtocol("range", b"")],
        }
        return JoinGroupRequest(self.name, **{**wanted, **fields})

    def join(self, who: str, *, version: int = 5, **fields: Any) -> Any:
        """Joins and returns the answer. After MEMBER_ID_REQUIRED, joins again with the given id."""
        body = self.side.ask(self.request(who, **fields), version)
        if body["errorCode"] == 79:
            self.member_ids[who] = body["memberId"]
            body = self.side.ask(self.request(who, **fields), version)
        return self.learn(who, body)

    def learn(self, who: str, body: Any) -> Any:
        """Learns ids from a JoinGroup answer. Adds ``leads``, which both brokers share, unlike member ids."""
        if body["memberId"]:
            self.member_ids[who] = body["memberId"]
        self.generation = max(self.generation, body["generationId"])
        return {**body, "leads": body["leader"] == body["memberId"], "members": len(body["members"])}

    def sync(self, who: str, *, generation: int | None = None, version: int = 3, **fields: Any) -> Any:
        """Syncs. The request assigns its own name to every known member."""
        return self.side.ask(self.sync_request(who, generation=generation, **fields), version)

    def sync_request(self, who: str, *, generation: int | None = None, **fields: Any) -> SyncGroupRequest:
        assigned = [
            SyncGroupRequest.SyncGroupRequestAssignment(member_id, b"for " + name.encode())
            for name, member_id in self.member_ids.items()
            if name not in ("", "ghost")
        ]
        given = {"assignments": assigned, **fields}
        at = self.generation if generation is None else generation
        return SyncGroupRequest(self.name, at, self.member_ids[who], **given)

    def heartbeat(self, who: str, *, generation: int | None = None, instance: str | None = None) -> int:
        at = self.generation if generation is None else generation
        request = HeartbeatRequest(self.name, at, self.member_ids[who], instance)
        return int(self.side.ask(request, 4)["errorCode"])

    def commit(
        self, who: str, offset: int, *, generation: int | None = None, version: int = 8, instance: str | None = None
    ) -> Any:
        at = self.generation if generation is None else generation
        partition = OffsetCommitRequest.OffsetCommitRequestPartition(0, offset)
        topics = [OffsetCommitRequest.OffsetCommitRequestTopic(TOPIC, partitions=[partition])]
        request = OffsetCommitRequest(self.name, at, self.member_ids[who], instance, topics=topics)
        return self.side.ask(request, version)["topics"][0]["partitions"][0]["errorCode"]

    def leave(self, *members: tuple[str, str | None]) -> Any:
        """Removes members, each given as (member, instance id)."""
        identities = [LeaveGroupRequest.MemberIdentity(self.member_ids.get(who, who), at) for who, at in members]
        return self.side.ask(LeaveGroupRequest(self.name, members=identities), 5)

    def describe(self) -> Any:
        group = self.side.ask(DescribeGroupsRequest([self.name]), 5)["groups"][0]
        group["members"].sort(key=lambda member: str(member["memberAssignment"]))
        return group

    def fetched(self, version: int = 7) -> Any:
        return self.side.ask(OffsetFetchRequest(self.name, None), version)


Scene = Callable[[Group], Any]


def stable(group: Group) -> list[Any]:
    """One member in generation 1."""
    return [group.join("a"), group.sync("a")]


def two(group: Group) -> list[Any]:
    """Two members in generation 2, each with its own connection."""
    side = group.side
    seen = stable(group)
    given = side.ask(group.request(), 5, "b")
    group.member_ids["b"] = given["memberId"]
    side.send(group.request("b"), 5, "b")
    while group.heartbeat("a") == 0:
        pass  # repeated until the rebalance has begun
    side.send(group.request("a"), 5, "a")
    joined = [group.learn("a", side.receive("a")), group.learn("b", side.receive("b"))]
    leader, follower = ("a", "b") if joined[0]["leads"] else ("b", "a")
    side.send(group.sync_request(follower, assignments=[]), 3, follower)
    side.send(group.sync_request(leader), 3, leader)
    synced = [side.receive("a"), side.receive("b")]
    return [*seen, *joined, *synced, group.describe()]


def member_id_required(group: Group) -> Any:
    first = group.side.ask(group.request(), 5)
    group.member_ids["a"] = first["memberId"]
    pending = group.describe()
    return [first["errorCode"], first["memberId"] != "", pending, group.join("a"), group.describe()]


def member_id_not_required_below_4(group: Group) -> Any:
    return [group.join("a", version=3), group.sync("a"), group.describe()]


def static_member_rejoins(group: Group) -> Any:
    seen = [group.join("a", group_instance_id="i"), group.sync("a", group_instance_id="i")]
    group.member_ids["old"] = group.member_ids["a"]
    again = group.join("", group_instance_id="i")
    group.member_ids["a"] = group.member_ids.pop("")
    group.member_ids[""] = ""
    return [
        *seen, again, group.sync("a", group_instance_id="i"),
        group.heartbeat("old", instance="i"), group.heartbeat("a", instance="i"), group.heartbeat("a", instance="j"),
        group.commit("old", 5, instance="i"), group.commit("a", 6, instance="i"), group.fetched(),
        group.side.ask(group.request("old", group_instance_id="i"), 5), group.describe(),
    ]  # fmt: skip


def wrong_generations(group: Group) -> Any:
    return [
        *stable(group),
        [group.heartbeat("a", generation=at) for at in (0, 1, 2, -1)],
        [group.commit("a", at, generation=at) for at in (0, 1, 2, -1)],
        [group.sync("a", generation=at) for at in (0, 2, -1)],
        group.fetched(),
    ]


def unknown_members(group: Group) -> Any:
    return [
        *stable(group),
        group.heartbeat("ghost"), group.heartbeat(""), group.commit("ghost", 1), group.commit("", 1),
        group.commit("", 1, generation=-1), group.sync("ghost"), group.side.ask(group.request("ghost"), 5),
        group.leave(("ghost", None)), group.leave(("", None)), group.leave(("", "ghost")),
    ]  # fmt: skip


def nobody_there(group: Group) -> Any:
    return [
        group.heartbeat("ghost", generation=1), group.commit("ghost", 1, generation=1),
        group.sync("ghost", generation=1), group.leave(("ghost", None)), group.side.ask(group.request("ghost"), 5),
        group.describe(), group.fetched(),
    ]  # fmt: skip


def commit_without_a_group(group: Group) -> Any:
    seen = [group.commit("", 7, generation=-1), group.fetched(), group.describe()]
    return [*seen, group.commit("", 8, generation=0), group.commit("ghost", 9, generation=-1), group.fetched()]


def commit_during_a_rebalance(group: Group) -> Any:
    side = group.side
    seen = stable(group)
    given = side.ask(group.request(), 5, "b2")
    group.member_ids["b"] = given["memberId"]
    side.send(group.request("b"), 5, "b2")
    while group.heartbeat("a") == 0:
        pass
    committed = [group.commit("a", 3), group.commit("b", 4), group.sync("a"), group.heartbeat("a")]
    joined = [group.join("a"), group.learn("b", side.receive("b2"))]
    between = [group.commit("a", 5), group.heartbeat("a"), group.fetched()]
    return [*seen, *committed, *joined, *between]


def leave_by_instance_id(group: Group) -> Any:
    seen = [group.join("a", group_instance_id="i"), group.sync("a", group_instance_id="i")]
    left = group.leave(("ghost", "i"))
    return [*seen, left, group.leave(("", "i")), group.describe(), group.leave(("", "i"))]


def leave_twice(group: Group) -> Any:
    seen = stable(group)
    left = group.leave(("a", None), ("ghost", None), ("a", None))
    return [*seen, left, group.heartbeat("a"), group.describe()]


def rejoin_as_it_is(group: Group) -> Any:
    return [*stable(group), group.join("a"), group.heartbeat("a"), group.sync("a"), group.heartbeat("a")]


def other_protocols(group: Group) -> Any:
    none: list[Any] = []
    other = [JoinGroupRequest.JoinGroupRequestProtocol("sticky", b"")]
    return [
        group.side.ask(group.request(protocols=none), 5), group.side.ask(group.request(protocol_type=""), 5),
        *stable(group),
        group.side.ask(group.request(protocols=other), 5), group.side.ask(group.request(protocol_type="connect"), 5),
        group.sync("a", version=5, protocol_type="consumer", protocol_name="sticky"),
        group.sync("a", version=5, protocol_type="connect", protocol_name="range"),
        group.sync("a", version=5, protocol_type="consumer", protocol_name="range"),
    ]  # fmt: skip


def session_timeouts(group: Group) -> Any:
    return [group.side.ask(group.request(session_timeout_ms=ms), 5)["errorCode"] for ms in (0, 5999, 1_800_001, -1)]


def delete_and_commit_again(group: Group) -> Any:
    def delete() -> Any:
        return group.side.ask(DeleteGroupsRequest([group.name, group.name + "-none"]), 2)

    seen = [*stable(group), group.commit("a", 4), delete(), group.leave(("a", None)), group.describe(), delete()]
    return [*seen, group.fetched(), group.describe(), delete(), group.commit("", 1, generation=-1), group.fetched()]


def offsets_deleted(group: Group) -> Any:
    partitions = [OffsetDeleteRequest.OffsetDeleteRequestPartition(index) for index in (0, 1, 9)]
    request = OffsetDeleteRequest(group.name, [OffsetDeleteRequest.OffsetDeleteRequestTopic(TOPIC, partitions)])
    seen = [group.side.ask(request, 0), group.commit("", 4, generation=-1), group.side.ask(request, 0)]
    return [*seen, group.fetched()]


def offsets_of_a_deleted_topic(group: Group) -> Any:
    name = group.side.topic(f"{group.name}-topic")
    partition = OffsetCommitRequest.OffsetCommitRequestPartition(0, 5, 3, "note")
    topics = [OffsetCommitRequest.OffsetCommitRequestTopic(name, partitions=[partition])]
    committed = group.side.ask(OffsetCommitRequest(group.name, topics=topics), 8)
    seen = [committed, group.fetched()]
    group.side.ask(DeleteTopicsRequest(topic_names=[name], timeout_ms=10_000), 5)
    group.side.topic(name)
    return seen


def large_metadata(group: Group) -> Any:
    def commit(size: int) -> Any:
        partition = OffsetCommitRequest.OffsetCommitRequestPartition(0, 5, -1, "x" * size)
        topics = [OffsetCommitRequest.OffsetCommitRequestTopic(TOPIC, partitions=[partition])]
        return group.side.ask(OffsetCommitRequest(group.name, topics=topics), 8)

    return [commit(4096), commit(4097), group.fetched()]


SCENES: list[Scene] = [
    two, member_id_required, member_id_not_required_below_4, static_member_rejoins, wrong_generations, unknown_members,
    nobody_there, commit_without_a_group, commit_during_a_rebalance, leave_by_instance_id, leave_twice,
    rejoin_as_it_is, other_protocols, session_timeouts, delete_and_commit_again, offsets_deleted,
    offsets_of_a_deleted_topic, large_metadata,
]  # fmt: skip


@pytest.mark.parametrize("scene", SCENES, ids=[scene.__name__.replace("_", "-") for scene in SCENES])
def test_a_group(both: TwoBrokers, scene: Scene) -> None:
    name = "trap-" + scene.__name__.replace("_", "-")
    seen = same(both, lambda side: scene(Group(side, name)))
    assert seen


@pytest.mark.parametrize("is_first", [True, False])
def test_a_subscription_that_cannot_be_read_is_let_pass(both: TwoBrokers, is_first: bool) -> None:
    """Kafka before 4.4 answered UNKNOWN_SERVER_ERROR, or a first member never."""

    def scene(side: Side) -> int:
        group = Group(side, f"trap-unreadable-subscription-{is_first}")
        if not is_first:
            stable(group)
        unreadable = [JoinGroupRequest.JoinGroupRequestProtocol("range", b"changed")]
        return int(group.join("a", protocols=unreadable)["errorCode"])

    assert same(both, scene) == 0


@pytest.mark.parametrize("version", range(1, 9))
@pytest.mark.parametrize("what", ["unknown", "all", "none", "some"])
def test_offset_fetch_in_every_shape(both: TwoBrokers, version: int, what: str) -> None:
    def scene(side: Side) -> Any:
        group = Group(side, f"trap-fetch-{version}-{what}")
        if what != "unknown":
            group.commit("", 42, generation=-1)
        wanted: Any = None
        if version < 8:
            if what == "none":
                wanted = []
            elif what == "some" or version < 2:
                wanted = [OffsetFetchRequest.OffsetFetchRequestTopic(name, [0, 1, 7]) for name in (TOPIC, "nowhere")]
            return side.ask(OffsetFetchRequest(group.name, wanted), version)
        if what == "none":
            wanted = []
        elif what == "some":
            wanted = [
                OffsetFetchRequest.OffsetFetchRequestTopics(name, partition_indexes=[0, 1, 7])
                for name in (TOPIC, "nowhere")
            ]
        asked = [OffsetFetchRequest.OffsetFetchRequestGroup(name, topics=wanted) for name in (group.name, "none-such")]
        side.group("none-such")
        return side.ask(OffsetFetchRequest(groups=asked), version)

    same(both, scene)


@pytest.mark.parametrize("version", [9, 10])
@pytest.mark.parametrize(("member", "epoch"), [(None, -1), ("ghost", -1), ("ghost", 3), (None, 3)])
def test_offset_fetch_as_a_member(both: TwoBrokers, version: int, member: str | None, epoch: int) -> None:
    def scene(side: Side) -> Any:
        group = Group(side, f"trap-fetch-member-{version}")
        group.commit("", 42, generation=-1)
        asked = OffsetFetchRequest.OffsetFetchRequestGroup(group.name, member, epoch, None)
        return side.ask(OffsetFetchRequest(groups=[asked]), version)

    same(both, scene)
