"""A directory with share groups goes from Kafka 4.4.0 to Odradek and back: members stay, and keep their partitions."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from door.two_brokers import WAYS_OF_GROUPS, Door, Way
from odradek.protocol.messages.groups import DeleteGroupsRequest
from parity.share_members import ShareMembers
from parity.side import Side
from support.eventually import eventually
from support.kafka.java import TABLE_VERSION
from support.kafka.wire import Wire

pytestmark = [pytest.mark.java, pytest.mark.ci]

TOPIC, PARTITIONS = "shared", 5
KEYS: Mapping[str, str] = {
    "offsets.topic.num.partitions": "3",
    "share.coordinator.state.topic.num.partitions": "3",
    "group.share.assignment.interval.ms": "0",
}
KAFKAS_KEYS = {"group.share.assignor.offload.enable": "false"}
GROUPS = ("several", "altered", "emptied")


def groups_at(side: Side) -> dict[str, ShareMembers]:
    """The groups, after their coordinators have loaded them."""
    side.learn_ids()
    return {name: ShareMembers(side, name) for name in GROUPS}


def fill(side: Side) -> None:
    groups = groups_at(side)
    eventually("the topic is known", lambda: not groups["altered"].alter({TOPIC: {2: 7}})["errorCode"])
    groups["altered"].until_initialized({TOPIC: 1})
    for name, member in (("several", "a"), ("emptied", "x")):
        groups[name].join(member, TOPIC)
        groups[name].until_initialized({TOPIC: PARTITIONS})
        groups[name].heartbeat(member)
    groups["emptied"].leave("x")


def seen(side: Side) -> dict[str, Any]:
    return {name: (group.describe(), group.offsets(None), group.listed()) for name, group in groups_at(side).items()}


def go_on(side: Side, newcomer: str) -> None:
    """The members of a group go on with their epochs, and another one joins."""
    group = groups_at(side)["several"]
    described = group.describe()["groups"][0]["members"]
    group.epochs = {one["memberId"]: one["memberEpoch"] for one in described}
    before = group.describe()
    for who in group.epochs:
        assert group.heartbeat(who)["assignment"] is None
    assert group.describe() == before, "nothing moves without a change"
    group.join(newcomer, TOPIC)
    members = list(group.epochs)
    for _ in range(2):
        for who in members:
            group.heartbeat(who)
    epochs, topics = zip(*group.sizes(*members), strict=True)
    assert len(set(epochs)) == 1
    sizes = [count for topic in topics for _, count in topic]
    wanted = -(-len(members) // PARTITIONS) * PARTITIONS
    assert sum(sizes) == wanted
    assert max(sizes) - min(sizes) <= 1


@pytest.mark.parametrize("way", WAYS_OF_GROUPS)
def test_share_groups_go_through_the_door(tmp_path: Path, way: Way) -> None:
    door = Door(tmp_path, way, KEYS, ours={}, theirs=KAFKAS_KEYS, version=TABLE_VERSION)
    try:
        with Wire() as wire:
            side = Side(wire, door.kafka.port, False)
            door.start_kafka()
            side.topic(TOPIC, PARTITIONS)
            fill(side)
            for turn in range(2):
                expected = seen(side)
                door.end_kafka()
                wire.close(door.kafka.port, "main")
                door.start_ours()
                assert seen(side) == expected, f"turn {turn}: ours"
                go_on(side, f"ours-{turn}")
                expected = seen(side)
                door.end_ours()
                wire.close(door.kafka.port, "main")
                door.start_kafka()
                assert seen(side) == expected, f"turn {turn}: Kafka"
                go_on(side, f"kafkas-{turn}")
            door.end_kafka()
            wire.close(door.kafka.port, "main")
            door.start_ours()
            groups_at(side)
            deleted = side.ask(DeleteGroupsRequest(["altered", "emptied"]), 2)
            assert [one["errorCode"] for one in deleted["results"]] == [0, 0]
            door.end_ours()
            wire.close(door.kafka.port, "main")
            door.start_kafka()
            assert [bool(group.listed()) for group in groups_at(side).values()] == [True, False, False]
    finally:
        door.end()
