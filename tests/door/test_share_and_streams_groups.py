"""Odradek serves the share and streams groups of a real Kafka's directory, and Kafka serves them again afterwards.

It refuses other requests with the id of such a group, as Kafka does. If it let a consumer join under that id, Kafka
would later fail to load the whole partition of __consumer_offsets.
"""

import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from odradek.protocol.messages.consumer_groups import ConsumerGroupDescribeRequest, ConsumerGroupHeartbeatRequest
from odradek.protocol.messages.groups import (
    DeleteGroupsRequest,
    DescribeGroupsRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    ListGroupsRequest,
    OffsetCommitRequest,
    OffsetDeleteRequest,
    OffsetFetchRequest,
    SyncGroupRequest,
)
from odradek.protocol.messages.share_groups import ShareGroupHeartbeatRequest
from odradek.protocol.messages.streams_groups import StreamsGroupHeartbeatRequest
from odradek.protocol.messages.structure import Message
from odradek.protocol.messages.transactions import TxnOffsetCommitRequest
from parity.side import DEADLINE_S, Side
from support.brokers.our_broker import OurBroker
from support.kafka.real_kafka import RealKafka
from support.kafka.wire import Wire

pytestmark = [pytest.mark.java, pytest.mark.ci]

TOPIC = "read-by-both"
KEYS = {"offsets.topic.num.partitions": "3", "group.initial.rebalance.delay.ms": "0", "node.id": "1"}
GROUPS = ("share-empty", "share-live", "streams-empty", "streams-live")
MEMBER = "AAAAAAAAAAAAAAAAAAAAAQ"
NOT_READY = {14, 15, 16}
MEMBER_ID_REQUIRED = 79


def share_heartbeat(group: str, epoch: int) -> Message:
    return ShareGroupHeartbeatRequest(group, MEMBER, epoch, None, [TOPIC] if epoch == 0 else None)


def streams_heartbeat(group: str, epoch: int) -> Message:
    request = StreamsGroupHeartbeatRequest(group, MEMBER, epoch)
    if epoch == 0:
        kind = StreamsGroupHeartbeatRequest
        request.rebalance_timeout_ms, request.process_id = 60_000, "process"
        request.topology = kind.Topology(0, [kind.Subtopology("0", [TOPIC])])
        request.active_tasks, request.standby_tasks, request.warmup_tasks = [], [], []
    return request


def commit(group: str) -> OffsetCommitRequest:
    committed = [OffsetCommitRequest.OffsetCommitRequestPartition(0, 7)]
    return OffsetCommitRequest(
        group, topics=[OffsetCommitRequest.OffsetCommitRequestTopic(TOPIC, partitions=committed)]
    )


def fill(side: Side) -> None:
    """Creates four groups. The empty groups had a member, and the empty streams group has a committed offset."""
    side.topic(TOPIC, 2)
    for group in GROUPS:
        side.group(group)
        heartbeat, version = (share_heartbeat, 1) if group.startswith("share") else (streams_heartbeat, 0)
        answer = side.ask(heartbeat(group, 0), version)
        assert answer["errorCode"] == 0, answer
        if group.endswith("empty"):
            assert side.ask(heartbeat(group, -1), version)["errorCode"] == 0
    answer = side.ask(commit("streams-empty"), 8)
    assert answer["topics"][0]["partitions"][0]["errorCode"] == 0, answer


def questions(group: str) -> Iterator[tuple[str, Message, int]]:
    """Requests of other clients with a group's id. The last ones change something in Kafka."""
    yield "DescribeGroups 5", DescribeGroupsRequest([group]), 5
    yield "DescribeGroups 6", DescribeGroupsRequest([group]), 6
    yield "ConsumerGroupDescribe", ConsumerGroupDescribeRequest([group]), 1
    for types in ([], ["share"], ["Streams"], ["classic", "consumer"]):
        yield f"ListGroups {types}", ListGroupsRequest(types_filter=types), 5
    yield "ListGroups Empty", ListGroupsRequest(["Empty"]), 5
    yield "ListGroups 3", ListGroupsRequest(), 3
    topics = [OffsetFetchRequest.OffsetFetchRequestTopics(TOPIC, bytes(16), [0])]
    for name, member, epoch, wanted in (
        ("some", None, -1, topics),
        ("all", None, -1, None),
        ("as a member", MEMBER, 1, topics),
    ):
        one = OffsetFetchRequest.OffsetFetchRequestGroup(group, member, epoch, wanted)
        yield f"OffsetFetch {name}", OffsetFetchRequest(groups=[one]), 9
    yield "Heartbeat", HeartbeatRequest(group, 1, MEMBER), 4
    yield "SyncGroup", SyncGroupRequest(group, 1, MEMBER), 4
    yield "LeaveGroup", LeaveGroupRequest(group, members=[LeaveGroupRequest.MemberIdentity(MEMBER)]), 5
    for version in (8, 9):
        stranger = commit(group)
        stranger.member_id, stranger.generation_id_or_member_epoch = "stranger", 1
        yield f"OffsetCommit {version} of a stranger", stranger, version
    beat = ConsumerGroupHeartbeatRequest(group, "AAAAAAAAAAAAAAAAAAAAAg", 0, rebalance_timeout_ms=1000)
    beat.subscribed_topic_names, beat.topic_partitions = [TOPIC], []
    yield "ConsumerGroupHeartbeat", beat, 1
    protocol = JoinGroupRequest.JoinGroupRequestProtocol("range", b"\0\0\0\0\0\0\xff\xff\xff\xff")
    for member_id in (MEMBER, ""):
        join = JoinGroupRequest(group, 10_000, 10_000, member_id, None, "consumer", [protocol])
        yield f"JoinGroup {member_id}", join, 5
    yield "OffsetCommit of an admin", commit(group), 8
    committed = [TxnOffsetCommitRequest.TxnOffsetCommitRequestPartition(0, 7)]
    pending = [TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic(TOPIC, partitions=committed)]
    yield "TxnOffsetCommit", TxnOffsetCommitRequest("x", group, 1000, 0, topics=pending), 3
    doomed = [OffsetDeleteRequest.OffsetDeleteRequestPartition(0)]
    yield "OffsetDelete", OffsetDeleteRequest(group, [OffsetDeleteRequest.OffsetDeleteRequestTopic(TOPIC, doomed)]), 0
    if group != "share-empty":
        yield "DeleteGroups", DeleteGroupsRequest([group]), 2


def wait_until_loaded(side: Side, kafka: RealKafka | None = None) -> None:
    """Waits until the coordinators of all groups answer."""
    for group in GROUPS:
        deadline = time.monotonic() + DEADLINE_S
        while side.ask(OffsetFetchRequest(group), 7)["errorCode"] in NOT_READY:
            assert time.monotonic() < deadline, f"{group} is not loaded: {complaints(kafka)}"


def complaints(kafka: RealKafka | None) -> list[str]:
    """The lines of Kafka's log about groups that could not be loaded."""
    return [line for line in (kafka.output if kafka else "").splitlines() if "Failed to load" in line]


def answers(side: Side) -> dict[tuple[str, str], Any]:
    """The answers of a broker to all requests, after its groups are loaded."""
    wait_until_loaded(side)
    found = {}
    for group in GROUPS:
        for name, request, version in questions(group):
            found[group, name] = comparable(side.ask(request, version))
    return found


def comparable(node: Any) -> Any:
    """An answer without error messages, with its groups sorted."""
    if isinstance(node, dict):
        node = {key: comparable(value) for key, value in node.items() if key not in ("errorMessage", "message")}
        if node.get("errorCode") == MEMBER_ID_REQUIRED:
            node["memberId"] = "of the broker's choice"
        return node
    if isinstance(node, list):
        return sorted(map(comparable, node), key=str)
    return node


def test_groups_go_through_the_door(tmp_path: Path) -> None:
    original, copied = tmp_path / "original", tmp_path / "copied"
    with Wire() as wire:
        kafka = RealKafka(original, KEYS)
        kafka.start()
        try:
            fill(Side(wire, kafka.port, False))
            kafka.kill()
            wire.close(kafka.port, "main")
            shutil.copytree(original, copied)
            kafka.start()
            expected = answers(Side(wire, kafka.port, False))
        finally:
            kafka.kill()
        with OurBroker(copied, KEYS) as ours:
            found = answers(Side(wire, ours.port, True))
            assert "Traceback" not in ours.log()
            deleted = Side(wire, ours.port, True).ask(DeleteGroupsRequest(["share-empty"]), 2)
            assert deleted["results"][0]["errorCode"] == 0
        wrong = {key: (found[key], expected[key]) for key in expected if found[key] != expected[key]}
        for key, (mine, theirs) in wrong.items():
            print(key, "\n   ours: ", mine, "\n   Kafka:", theirs)
        assert not wrong
        back = RealKafka(copied, KEYS)
        back.port, back.controller_port = kafka.port, kafka.controller_port
        logged = len(back.output)
        wire.close(back.port, "main")
        back.start()
        try:
            side = Side(wire, back.port, False)
            wait_until_loaded(side, back)
            listed = side.ask(ListGroupsRequest(), 5)["groups"]
        finally:
            back.kill()
        kinds = {one["groupId"]: one["groupType"] for one in listed}
        assert kinds == {"share-live": "share", "streams-live": "streams"}
        assert "Failed to load" not in back.output[logged:]
