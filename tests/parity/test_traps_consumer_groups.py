"""Consumer groups (KIP-848): the same fixed steps give equal answers and stored records on Odradek and a real Kafka."""

import time
from collections.abc import Callable
from itertools import zip_longest
from typing import Any

import pytest

from odradek.broker.groups.modern.metadata_hash import group_hash
from odradek.broker.groups.modern.topics import GroupTopics
from odradek.protocol.messages.configs import IncrementalAlterConfigsRequest
from odradek.protocol.messages.consumer_groups import ConsumerGroupDescribeRequest
from odradek.protocol.messages.group_records import ConsumerGroupMetadataKey, ConsumerGroupMetadataValue
from odradek.protocol.messages.groups import (
    DeleteGroupsRequest,
    DescribeGroupsRequest,
    JoinGroupRequest,
    OffsetDeleteRequest,
)
from odradek.protocol.messages.topics import CreatePartitionsRequest, DeleteTopicsRequest
from parity.consumer_members import Members, subscription
from parity.side import DEADLINE_S, Side
from parity.two_brokers import TwoBrokers
from support.groups.harness import image_with_topics

pytestmark = [pytest.mark.java, pytest.mark.ci]

TOPICS = {"cg-t": 4, "cg-u": 2}
T, U = TOPICS

GROUP_RESOURCE = 32

Scene = Callable[[Members], Any]


@pytest.fixture(scope="module", autouse=True)
def topics(both: TwoBrokers) -> None:
    for side in sides(both):
        for name, partitions in TOPICS.items():
            side.topic(name, partitions)
        # Kafka's coordinator learns of topics shortly after its broker.
        probe = Members(side, "cg-probe")
        probe.join("probe", T, U)
        probe.until_assigned(
            "probe", {T: [0, 1, 2, 3], U: [0, 1]}, rebalance_timeout_ms=60_000, subscribed_topic_names=[T, U], owned={}
        )
        probe.leave("probe")


def sides(both: TwoBrokers) -> list[Side]:
    found = [Side(both.wire, both.ours.port, True), Side(both.wire, both.kafka.port, False, both.recording)]
    for side in found:
        side.learn_ids()
    return found


def alike(both: TwoBrokers, name: str, scene: Scene) -> Any:
    """Plays a scene on both brokers. Asserts that all answers are equal, except ids, and returns them."""
    ours, kafka = (scene(Members(side, name)) for side in sides(both))
    differences = [
        f"step {number}\nours:  {one}\nKafka: {other}"
        for number, (one, other) in enumerate(zip_longest(ours, kafka))
        if one != other
    ]
    assert not differences, "\n".join(differences)
    return ours


def one_member(group: Members) -> list[Any]:
    whole = {T: [0, 1, 2, 3]}
    return [
        group.join("a", T),
        group.describe(),
        group.heartbeat("a"),
        group.heartbeat("a", owned=whole),
        group.heartbeat("a", owned=whole, rebalance_timeout_ms=60_000, subscribed_topic_names=[T]),
        group.heartbeat("a", subscribed_topic_names=[T, U]),
        group.heartbeat("a", subscribed_topic_names=[U], owned={**whole, U: [0, 1]}),
        group.describe(),
        group.heartbeat("a", owned={U: [0, 1]}),
        group.heartbeat("a", subscribed_topic_names=[], owned={U: [0, 1]}),
        group.heartbeat("a", owned={}),
        group.heartbeat("a", subscribed_topic_names=["nowhere"]),
        group.describe(include_authorized_operations=True),
        group.leave("a"),
        group.heartbeat("a", 1),
        group.describe(),
        group.listed("consumer"),
    ]


def two_members(group: Members) -> list[Any]:
    first = {T: [0, 1, 2, 3]}
    seen = [group.join("a", T), group.join("b", T), group.describe(), group.heartbeat("b")]
    seen += [group.heartbeat("a", owned=first), group.describe(), group.heartbeat("b", owned={}), group.describe(0)]
    kept = {T: [0, 1]}
    seen += [group.heartbeat("a", owned=kept), group.heartbeat("b", owned={}), group.heartbeat("b", owned={T: [2, 3]})]
    seen += [
        group.listed(states=("stable",)),
        group.listed(states=("Empty",)),
        group.listed("classic"),
        group.describe(),
    ]
    return [*seen, group.leave("a"), group.heartbeat("b", owned={T: [2, 3]}), group.describe(), group.leave("b")]


def three_members_by_range(group: Members) -> list[Any]:
    seen = [group.join(who, T, U, server_assignor="range") for who in "abc"]
    seen += [group.heartbeat(who, owned={}) for who in "abcabc"]
    return [*seen, group.describe(), group.leave("c"), *[group.heartbeat(who) for who in "ab"], group.describe()]


def assignors_by_vote(group: Members) -> list[Any]:
    seen = [group.join("a", T, server_assignor="range"), group.join("b", U, server_assignor="uniform")]
    seen += [group.join("c", T), group.describe(), group.heartbeat("b", server_assignor="range"), group.describe()]
    return [*seen, group.join("d", T, server_assignor="sticky"), group.heartbeat("a", server_assignor="")]


def requests_that_are_none(group: Members) -> list[Any]:
    seen = []
    for version in (0, 1):
        seen += [
            group.heartbeat("", 0, version, rebalance_timeout_ms=1, subscribed_topic_names=None, owned={}),
            group.heartbeat("", 1, version),
            group.heartbeat("", -1, version),
            group.heartbeat(" ", 1, version),
            group.heartbeat("a", 0, version),
            group.heartbeat("a", 0, version, rebalance_timeout_ms=1),
            group.heartbeat("a", 0, version, rebalance_timeout_ms=1, owned={T: [0]}),
            group.heartbeat("a", 0, version, rebalance_timeout_ms=1, owned={}),
            group.heartbeat("a", 0, version, rebalance_timeout_ms=1, owned={}, instance_id=""),
            group.heartbeat("a", 0, version, rebalance_timeout_ms=1, owned={}, rack_id=" "),
            group.heartbeat("a", -2, version),
            group.heartbeat("a", -3, version),
            group.heartbeat("a", 1, version, group_id=""),
            group.heartbeat("a", 1, version, server_assignor="nobody"),
            group.heartbeat("a", 1, version),
            group.heartbeat("a", -1, version),
            group.heartbeat("a", -2, version, instance_id="i"),
        ]
    return [*seen, group.describe(), group.listed()]


def ids_given_by_the_broker(group: Members) -> list[Any]:
    given = group.heartbeat("", 0, 0, rebalance_timeout_ms=60_000, subscribed_topic_names=[T], owned={})
    group.ids["a"] = next(iter(group.ids.values()))
    group.ids.pop("", None)
    return [given["memberEpoch"], given["assignment"], group.heartbeat("a", given["memberEpoch"], 0), group.leave("a")]


def epochs_of_others(group: Members) -> list[Any]:
    seen = [group.join("a", T), group.heartbeat("ghost", 3), group.heartbeat("a", 9), group.heartbeat("a", 1)]
    seen += [group.heartbeat("a", subscribed_topic_names=[T, U])]
    # The previous epoch is accepted from a member that owns only partitions of its assignment.
    seen += [group.heartbeat("a", 2, owned={T: [0, 1]}), group.heartbeat("a", 2), group.heartbeat("a", 2, owned={})]
    seen += [group.heartbeat("a", 2, owned={T: [7]}), group.heartbeat("a", 2, owned={U: []})]
    seen += [group.join("a", T), group.leave("ghost"), group.leave("a"), group.leave("a"), group.join("a", T)]
    return [*seen, group.describe()]


def static_members(group: Members) -> list[Any]:
    at: dict[str, Any] = {"instance_id": "i"}
    seen = [group.join("a", T, **at), group.join("b", T, **at), group.heartbeat("a", 2, **at)]
    seen += [group.heartbeat("b", 2, **at), group.heartbeat("a", 2, instance_id="j"), group.describe()]
    seen += [group.leave("b", -2, **at), group.leave("a", -2), group.leave("a", -2, **at), group.describe()]
    seen += [group.heartbeat("a", 2, **at), group.join("b", T, **at), group.describe(), group.heartbeat("a", 2, **at)]
    seen += [group.leave("a", -1, **at), group.leave("b", -2, **at), group.join("c", T, U, **at), group.describe()]
    seen += [group.leave("c", -1), group.describe()]
    return seen


def static_member_among_others(group: Members) -> list[Any]:
    seen = [group.join("a", T, instance_id="i"), group.join("b", T)]
    seen += [group.heartbeat("a", instance_id="i", owned={T: [0, 1]}), group.heartbeat("b", owned={})]
    seen += [group.leave("a", -2, instance_id="i"), group.heartbeat("b"), group.describe()]
    seen += [group.join("c", T, instance_id="i"), group.heartbeat("b"), group.describe()]
    return [*seen, group.classic_leave(("", "i"), ("", "j"), ("ghost", None)), group.describe(), group.heartbeat("b")]


def under_another_instance_id(group: Members) -> list[Any]:
    """A member changes its instance id and leaves. The old instance id is free."""
    seen = [group.join("a", T, instance_id="i"), group.join("a", T, instance_id="j"), group.describe()]
    seen += [group.join("b", T), group.leave("a", -1, instance_id="j"), group.describe()]
    seen += [group.heartbeat("a", 2, instance_id="i"), group.leave("a", -2, instance_id="i")]
    seen += [group.join("c", T, instance_id="i"), group.join("c", T, instance_id="j")]
    seen += [group.classic_leave(("", "i"), ("a", "i"), ("c", "i"))]
    return [*seen, group.describe(), group.heartbeat("b")]


def removed_by_an_administrator(group: Members) -> list[Any]:
    seen = [group.join("a", T, instance_id="i"), group.join("b", T), group.join("c", T, instance_id="k")]
    seen += [group.classic_leave(("b", "i"), ("b", None), ("", "i"), ("", None)), group.describe()]
    return [*seen, group.classic_leave(("c", "k")), group.describe(), group.classic_leave(("c", "k"))]


def other_types(group: Members) -> list[Any]:
    describe = DescribeGroupsRequest([group.name])
    seen = [group.join("a", T), group.named(group.side.ask(describe, 5)), group.named(group.side.ask(describe, 6))]
    seen += [group.classic_heartbeat("a", generation=2), group.classic_heartbeat("ghost", generation=2)]
    seen += [group.named(group.classic_sync("a")), group.named(group.classic_sync("ghost")), group.commit("", T, -1)]
    connect: dict[str, Any] = {
        "protocol_type": "connect",
        "protocols": [JoinGroupRequest.JoinGroupRequestProtocol("range", b"x")],
    }
    seen += [group.classic_join("z", T, **connect), group.named(group.side.ask(DeleteGroupsRequest([group.name]), 2))]
    seen += [
        group.leave("a"),
        group.commit("", T, -1),
        group.named(group.side.ask(DeleteGroupsRequest([group.name]), 2)),
    ]
    missing = ConsumerGroupDescribeRequest([group.name, "", "cg-nobody"])
    return [*seen, group.named(group.side.ask(missing, 1)), group.listed(), group.fetch(None, -1)]


def of_another_protocol_type(group: Members) -> list[Any]:
    connect: dict[str, Any] = {
        "protocol_type": "connect",
        "protocols": [JoinGroupRequest.JoinGroupRequestProtocol("range", b"x")],
    }
    seen = [group.classic_join("z", T, **connect), group.join("a", T), group.heartbeat("a", 3), group.describe()]
    return [*seen, group.leave("a"), group.classic_leave(("z", None)), group.join("a", T), group.listed()]


def offsets(group: Members) -> list[Any]:
    seen = [group.commit("a", T, 2), group.commit("", T, -1), group.fetch("a", 2), group.join("a", T)]
    seen += [group.commit("a", T, epoch) for epoch in (2, 1, 3, 0, -1)]
    seen += [group.commit("a", T, 2, version=8), group.commit("ghost", T, 2), group.commit("", T, -1)]
    seen += [group.heartbeat("a", subscribed_topic_names=[T, U])]
    # A commit with the previous epoch is accepted for partitions that were assigned in that epoch, and only for these.
    seen += [group.commit("a", T, 2), group.commit("a", U, 2), group.commit("a", U, 3), group.commit("a", T, 1)]
    seen += [group.fetch("a", 3), group.fetch("a", 2), group.fetch("ghost", 2), group.fetch(None, -1)]
    seen += [group.fetch(None, 3), group.fetch("", -1)]
    partitions = [OffsetDeleteRequest.OffsetDeleteRequestPartition(index) for index in (0, 1)]
    wanted = OffsetDeleteRequest(group.name, [OffsetDeleteRequest.OffsetDeleteRequestTopic(T, partitions)])
    seen += [group.side.ask(wanted, 0), group.heartbeat("a", subscribed_topic_names=[U])]
    return [*seen, group.side.ask(wanted, 0), group.fetch(None, -1), group.leave("a"), group.commit("", T, -1)]


def simple_group_first(group: Members) -> list[Any]:
    seen = [group.commit("", T, -1), group.listed(), group.join("a", T), group.listed(), group.fetch("a", 2)]
    return [*seen, group.leave("a"), group.listed(), group.fetch(None, -1)]


def upgraded_and_back(group: Members) -> list[Any]:
    seen = [group.classic_join("a", T), group.classic_sync("a", {"a": assignment(T, 0, 1, 2, 3)})]
    seen += [group.join("b", T), group.describe(), group.listed(), group.classic_heartbeat("a"), group.describe()]
    seen += [group.classic_join("a", T, owned={T: [0, 1, 2, 3]}), group.classic_sync("a"), group.classic_heartbeat("a")]
    seen += [group.heartbeat("b", owned={}), group.describe(), group.classic_join("a", T, owned={T: [0, 1]})]
    seen += [group.classic_sync("a"), group.heartbeat("b", owned={}), group.classic_heartbeat("a"), group.describe()]
    seen += [group.commit("a", T, group.generation), group.commit("a", T, 99), group.commit("b", T, 99)]
    seen += [group.leave("b"), group.listed(), group.classic_heartbeat("a")]
    seen += [group.classic_join("a", T), group.classic_sync("a", {"a": assignment(T, 0, 1, 2, 3)})]
    return [*seen, group.classic_heartbeat("a"), group.commit("a", T, group.generation), group.listed()]


def upgraded_while_static(group: Members) -> list[Any]:
    at: dict[str, Any] = {"group_instance_id": "i"}
    seen = [group.classic_join("a", T, **at), group.classic_sync("a", {"a": assignment(T, 0, 1, 2, 3)}, **at)]
    seen += [group.join("b", T, instance_id="i"), group.describe(), group.classic_heartbeat("a", **at)]
    group.ids["a before"] = group.ids.pop("a")
    # A classic member replaces the last member of the new protocol: the group becomes classic again.
    seen += [group.classic_join("a", T, **at), group.listed(), group.classic_sync("a", **at)]
    return [*seen, group.classic_heartbeat("a", **at)]


def classic_members_in_a_consumer_group(group: Members) -> list[Any]:
    other = [JoinGroupRequest.JoinGroupRequestProtocol("sticky", subscription(T))]
    seen = [group.join("b", T), group.classic_join("a", T), group.classic_sync("a"), group.describe()]
    seen += [group.classic_join("c", T, protocols=other), group.classic_sync("a", protocol_name="sticky")]
    seen += [group.classic_sync("a", protocol_type="connect"), group.classic_heartbeat("a", generation=1)]
    seen += [group.heartbeat("b", owned={T: [0, 1]}), group.classic_heartbeat("a")]
    seen += [group.classic_join("a", T), group.classic_sync("a"), group.describe(), group.commit("a", T, 1)]
    return [*seen, group.classic_leave(("a", None), ("ghost", None)), group.heartbeat("b"), group.describe()]


def malformed_subscription(group: Members) -> list[Any]:
    broken = [JoinGroupRequest.JoinGroupRequestProtocol("range", b"\x00")]
    seen = [group.classic_join("a", protocols=broken), group.classic_sync("a", {"a": b""}), group.join("b", T)]
    return [*seen, group.listed(), group.classic_heartbeat("a")]


def custom_assignor(group: Members) -> list[Any]:
    with_data = assignment(T, 0, 1, 2, 3)[:-4] + b"\x00\x00\x00\x01x"
    seen = [group.classic_join("a", T), group.classic_sync("a", {"a": with_data}), group.join("b", T)]
    return [*seen, group.listed(), group.classic_heartbeat("a")]


def empty_groups_change_type(group: Members) -> list[Any]:
    seen = [group.join("a", T), group.leave("a"), group.listed(), group.classic_join("z", T), group.listed()]
    seen += [group.classic_sync("z", {"z": b""}), group.classic_leave(("z", None)), group.listed()]
    return [*seen, group.join("a", T), group.listed(), group.describe()]


def deleted(group: Members) -> list[Any]:
    delete = DeleteGroupsRequest([group.name])
    seen = [group.join("a", T), group.commit("a", T, 2), group.side.ask(delete, 2), group.leave("a")]
    return [*seen, group.side.ask(delete, 2), group.listed(), group.fetch(None, -1), group.join("a", T)]


SCENES: list[Scene] = [
    one_member, two_members, three_members_by_range, assignors_by_vote, requests_that_are_none, ids_given_by_the_broker,
    epochs_of_others, static_members, static_member_among_others, under_another_instance_id,
    removed_by_an_administrator, other_types,
    of_another_protocol_type, offsets, simple_group_first, upgraded_and_back, upgraded_while_static,
    classic_members_in_a_consumer_group, malformed_subscription, custom_assignor, empty_groups_change_type, deleted,
]  # fmt: skip


def assignment(topic: str, *partitions: int) -> bytes:
    """An assignment of one topic, as the leader of a classic group writes it."""
    name = topic.encode()
    indexes = b"".join(index.to_bytes(4, "big") for index in partitions)
    head = b"\x00\x01\x00\x00\x00\x01" + len(name).to_bytes(2, "big") + name
    return head + len(partitions).to_bytes(4, "big") + indexes + b"\xff\xff\xff\xff"


@pytest.mark.parametrize("scene", SCENES, ids=[scene.__name__.replace("_", "-") for scene in SCENES])
def test_a_consumer_group(both: TwoBrokers, scene: Scene) -> None:
    def stored_too(group: Members) -> Any:
        return [*scene(group), *group.told_records()]

    assert alike(both, "cg-" + scene.__name__.replace("_", "-"), stored_too)


def with_a_regular_expression(group: Members) -> list[Any]:
    by_pattern = {"subscribed_topic_names": None, "subscribed_topic_regex": "cg-[t]"}
    seen = [group.join("a", **{**by_pattern, "subscribed_topic_regex": "cg-["}), group.join("a", **by_pattern)]
    seen += group.until_assigned("a", {T: [0, 1, 2, 3]}, owned={})
    seen += [group.describe(), group.join("b", **by_pattern), group.heartbeat("a", owned={T: [0, 1]})]
    seen += [group.heartbeat("b", owned={}), group.describe(), group.heartbeat("a", subscribed_topic_regex="")]
    seen += [group.heartbeat("a", owned={}), group.heartbeat("b", owned={}), group.describe(), group.leave("b")]
    return [*seen, group.describe(), group.leave("a")]


def partitions_and_topics_come_and_go(group: Members) -> list[Any]:
    topic = f"{group.name}-topic"
    seen = [group.join("a", topic)]
    group.side.topic(topic, 1)
    seen += group.until_assigned("a", {topic: [0]})
    request = CreatePartitionsRequest([CreatePartitionsRequest.CreatePartitionsTopic(topic, 3, None)], 10_000)
    seen += [group.named(group.side.ask(request, 3))]
    seen += group.until_assigned("a", {topic: [0, 1, 2]}, owned={topic: [0]})
    seen += [group.describe(), group.side.ask(DeleteTopicsRequest(topic_names=[topic], timeout_ms=10_000), 5)]
    return [*seen, *group.until_assigned("a", {}, owned={}), group.describe()]


def configs_of_a_group(group: Members) -> list[Any]:
    changes = IncrementalAlterConfigsRequest.AlterableConfig("consumer.heartbeat.interval.ms", 0, "6000")
    resource = IncrementalAlterConfigsRequest.AlterConfigsResource(GROUP_RESOURCE, group.name, [changes])
    seen = [group.join("a", T), group.named(group.side.ask(IncrementalAlterConfigsRequest([resource]), 1))]
    deadline = time.monotonic() + DEADLINE_S
    while (answer := group.heartbeat("a"))["heartbeatIntervalMs"] != 6_000:
        assert time.monotonic() < deadline, "the group's own interval is not told"
    return [*seen, answer]


@pytest.mark.parametrize("scene", [with_a_regular_expression, partitions_and_topics_come_and_go, configs_of_a_group])
def test_what_comes_of_itself(both: TwoBrokers, scene: Scene) -> None:
    assert alike(both, "cg-" + scene.__name__.replace("_", "-"), scene)


def test_the_hash_of_topics_is_kafkas(both: TwoBrokers) -> None:
    """Our hash of topics equals Kafka's stored hash, so a group keeps its assignment if its broker is replaced."""
    _, kafka = sides(both)
    group = Members(kafka, "cg-hash")
    group.join("a", T, U, "nowhere")
    hashes = [
        record.value.metadata_hash
        for record in group.records()
        if isinstance(record.key, ConsumerGroupMetadataKey) and isinstance(record.value, ConsumerGroupMetadataValue)
    ]
    image = image_with_topics({name: (kafka.topic_ids[name], count) for name, count in TOPICS.items()})
    assert hashes == [group_hash([T, U, "nowhere"], GroupTopics(lambda: image))]
