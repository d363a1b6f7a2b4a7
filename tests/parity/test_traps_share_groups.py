"""Share groups (KIP-932): the same fixed steps give equal answers and stored records on Odradek and a real Kafka."""

import time
from collections.abc import Callable, Iterator
from itertools import zip_longest
from typing import Any

import pytest

from odradek.protocol.messages.configs import IncrementalAlterConfigsRequest
from odradek.protocol.messages.groups import DeleteGroupsRequest, DescribeGroupsRequest
from odradek.protocol.messages.quorum import UpdateFeaturesRequest
from odradek.protocol.messages.share_groups import ShareGroupDescribeRequest
from odradek.protocol.messages.topics import CreatePartitionsRequest, DeleteTopicsRequest
from parity.consumer_members import Members
from parity.share_members import ShareMembers
from parity.side import DEADLINE_S, Side
from parity.two_brokers import KAFKA_KEYS, SAME_KEYS, TwoBrokers
from parity.world import Names
from support.brokers.our_broker import OurBroker
from support.kafka.java import TABLE_VERSION
from support.kafka.real_kafka import RealKafka
from support.kafka.wire import Wire

pytestmark = [pytest.mark.java, pytest.mark.ci]

TOPICS = {"sg-t": 4, "sg-u": 2}
T, U = TOPICS
KEYS = {
    "group.share.assignment.interval.ms": "0",  # else answers depend on the time between requests
    "group.share.max.size": "3",
    "share.coordinator.state.topic.num.partitions": "3",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
}
GROUP_RESOURCE = 32
Scene = Callable[[ShareMembers], Any]


@pytest.fixture(scope="module")
def sharing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TwoBrokers]:
    """Odradek and a Kafka with share groups."""
    kafka_keys = {**KAFKA_KEYS, **KEYS, "group.share.assignor.offload.enable": "false"}
    with (
        Wire() as wire,
        OurBroker(tmp_path_factory.mktemp("ours"), {**SAME_KEYS, **KEYS}) as ours,
        RealKafka(tmp_path_factory.mktemp("kafka"), kafka_keys, version=TABLE_VERSION) as kafka,
    ):
        feature = UpdateFeaturesRequest.FeatureUpdateKey("share.version", 1, upgrade_type=1)
        wire.ask(ours.port, UpdateFeaturesRequest(60_000, [feature]), 1)
        brokers = TwoBrokers(wire, Names(ours.port), Names(kafka.port), ours.log_dir, kafka.log_dir)
        for side in sides(brokers):
            for name, partitions in TOPICS.items():
                side.topic(name, partitions)
            # Kafka's coordinator learns of topics shortly after its broker.
            probe = ShareMembers(side, "sg-probe")
            probe.join("probe", T, U)
            probe.until_initialized(TOPICS)
            probe.leave("probe")
        yield brokers


def sides(brokers: TwoBrokers) -> list[Side]:
    found = [Side(brokers.wire, brokers.ours.port, True), Side(brokers.wire, brokers.kafka.port, False)]
    for side in found:
        side.learn_ids()
    return found


def alike(brokers: TwoBrokers, name: str, scene: Scene) -> Any:
    """Plays a scene on both brokers. Asserts that all answers are equal, except ids, and returns them."""
    ours, kafka = (scene(ShareMembers(side, name)) for side in sides(brokers))
    differences = [
        f"step {number}\nours:  {one}\nKafka: {other}"
        for number, (one, other) in enumerate(zip_longest(ours, kafka))
        if one != other
    ]
    assert not differences, "\n".join(differences)
    return ours


def one_member(group: ShareMembers) -> list[Any]:
    seen = [group.join("a", T), group.describe()]
    group.until_initialized({T: 4})
    seen += [group.heartbeat("a"), group.heartbeat("a"), group.heartbeat("a", 2), group.describe(), group.offsets(None)]
    seen += [group.heartbeat("a", subscribed_topic_names=[T, U])]
    group.until_initialized(TOPICS)
    seen += [group.heartbeat("a"), group.heartbeat("a", rack_id="r"), group.describe(), group.join("a", T, U)]
    seen += [group.heartbeat("a", subscribed_topic_names=[U]), group.heartbeat("a", subscribed_topic_names=[])]
    seen += [group.heartbeat("a"), group.heartbeat("a", subscribed_topic_names=["nowhere"]), group.heartbeat("a")]
    seen += [group.describe(include_authorized_operations=True), group.listed("share"), group.listed("consumer")]
    return [*seen, group.leave("a"), group.heartbeat("a", 1), group.describe(), group.listed(states=("empty",))]


def several_members(group: ShareMembers) -> list[Any]:
    seen = [group.join("a", U)]
    group.until_initialized({U: 2})
    seen += [group.heartbeat("a"), group.join("b", U)["memberEpoch"], group.join("c", U)["memberEpoch"]]
    for _ in range(2):
        for who in "abc":
            group.heartbeat(who)
    seen += [group.sizes(*"abc"), group.leave("c")]
    for _ in range(2):
        for who in "ab":
            group.heartbeat(who)
    return [*seen, group.sizes(*"ab"), group.leave("b"), group.heartbeat("a"), group.leave("a")]


def again_with_state(group: ShareMembers) -> list[Any]:
    """A group that has been there gives the first member its partitions at once."""
    seen = [group.join("a", T)]
    group.until_initialized({T: 4})
    return [*seen, group.heartbeat("a"), group.leave("a"), group.join("b", T), group.heartbeat("b"), group.leave("b")]


def requests_that_are_none(group: ShareMembers) -> list[Any]:
    seen = [group.heartbeat("", 0), group.heartbeat("x" * 37, 0), group.heartbeat("x" * 36, 1), group.heartbeat(" ", 0)]
    seen += [group.heartbeat("a", 0), group.heartbeat("a", 0, subscribed_topic_names=[]), group.heartbeat("a", -2)]
    seen += [group.heartbeat("a", 0, group_id=""), group.heartbeat("a", 0, group_id=" ", subscribed_topic_names=[T])]
    seen += [group.heartbeat("a", 0, rack_id="", subscribed_topic_names=[T]), group.heartbeat("a", 1)]
    seen += [group.leave("a"), group.describe(), group.side.ask(ShareGroupDescribeRequest(["", "sg-nobody"]), 1)]
    return [*seen, group.listed()]


def epochs_of_others(group: ShareMembers) -> list[Any]:
    seen = [group.join("a", T), group.heartbeat("ghost", 3), group.heartbeat("a", 9), group.heartbeat("a", 1)]
    group.until_initialized({T: 4})
    seen += [group.heartbeat("a"), group.heartbeat("a", 2), group.heartbeat("a", 1), group.leave("ghost")]
    return [*seen, group.leave("a"), group.leave("a"), group.join("a", T), group.leave("a")]


def other_types(group: ShareMembers) -> list[Any]:
    describe = DescribeGroupsRequest([group.name])
    seen = [group.join("a", T)]
    group.until_initialized({T: 4})
    seen += [group.named(group.side.ask(describe, 5)), group.named(group.side.ask(describe, 6))]
    seen += [group.classic_join("z", T), group.commit("", T, -1), group.commit("a", T, 2), group.fetch(None, -1)]
    seen += [group.classic_heartbeat("a", generation=2), group.named(group.classic_sync("a"))]
    return [*seen, group.fetch("a", 2), group.leave("a"), group.classic_join("z", T), group.commit("", T, -1)]


def a_simple_group_first(group: ShareMembers) -> list[Any]:
    seen = [group.commit("", T, -1), group.join("a", T), group.alter({T: {0: 1}}), group.delete_offsets(T)]
    return [*seen, group.leave("a"), group.heartbeat("a", 1), group.describe(), group.offsets({T: [0]})]


def altered_offsets(group: ShareMembers) -> list[Any]:
    seen = [group.alter({T: {0: 300, 9: 1}, "nowhere": {0: 1}}), group.describe(), group.listed()]
    group.until_initialized({T: 1})
    seen += [group.offsets(None), group.offsets({T: [0, 1], "nowhere": [2]}), group.offsets({}), group.offsets({}, 0)]
    seen += [group.alter({}), group.alter({T: {0: 1}}, group_id=""), group.alter({T: {}}), group.alter({U: {7: 1}})]
    seen += [group.join("a", T), group.alter({T: {0: 1}}), group.delete_offsets(T)]
    group.until_initialized({T: 4})
    return [*seen, group.offsets(None), group.leave("a"), group.alter({T: {1: 5}}), group.offsets({T: [0, 1]})]


def deleted_offsets(group: ShareMembers) -> list[Any]:
    seen = [group.delete_offsets(T), group.delete_offsets(T, group_id=""), group.alter({T: {0: 1, 1: 2}})]
    group.until_initialized({T: 2})
    seen += [group.delete_offsets(), group.delete_offsets(U, "nowhere"), group.delete_offsets(T, U)]
    return [*seen, group.offsets(None), group.delete_offsets(T), group.offsets({T: [0]}), group.describe()]


def deleted(group: ShareMembers) -> list[Any]:
    delete = DeleteGroupsRequest([group.name, "sg-nobody"])

    def results(version: int) -> Any:
        # Kafka answers in the order of a hash map.
        return group.named(group.side.ask(delete, version))

    seen = [group.join("a", T, U)]
    group.until_initialized(TOPICS)
    seen += [results(2), group.leave("a"), results(3), group.listed()]
    seen += [group.offsets({T: [0]}), group.join("a", T)]
    group.until_initialized({T: 4})
    return [*seen, group.heartbeat("a"), group.leave("a"), results(2)]


def a_full_group(group: ShareMembers) -> list[Any]:
    seen = [group.join(who, "nowhere") for who in "abcd"]
    seen += [group.heartbeat("d", 3), group.join("a", "nowhere"), group.describe(), group.leave("a")]
    return [*seen, group.join("d", "nowhere"), *[group.leave(who) for who in "bcd"]]


def beside_a_consumer_group(group: ShareMembers) -> list[Any]:
    consumers = Members(group.side, group.name + "-consumers")
    seen = [consumers.join("c", T), group.join("a", T, group_id=consumers.name)]
    seen += [group.heartbeat("a", 1, group_id=consumers.name), group.leave("a", group_id=consumers.name)]
    seen += [group.alter({T: {0: 1}}, group_id=consumers.name), group.delete_offsets(T, group_id=consumers.name)]
    seen += [group.side.ask(ShareGroupDescribeRequest([consumers.name]), 1), consumers.leave("c")]
    seen += [group.join("a", T, group_id=consumers.name), group.join("a", "nowhere")]
    other = Members(group.side, group.name)
    return [*seen, other.join("c", T), other.heartbeat("c", 1), other.describe(), other.leave("c"), group.leave("a")]


def configs_of_a_group(group: ShareMembers) -> list[Any]:
    def change(key: str, value: str) -> Any:
        changes = [IncrementalAlterConfigsRequest.AlterableConfig(key, 0, value)]
        resource = IncrementalAlterConfigsRequest.AlterConfigsResource(GROUP_RESOURCE, group.name, changes)
        return group.side.ask(IncrementalAlterConfigsRequest([resource]), 1)["responses"][0]["errorCode"]

    seen = [group.join("a", "nowhere"), change("share.heartbeat.interval.ms", "6000")]
    deadline = time.monotonic() + DEADLINE_S
    while (answer := group.heartbeat("a"))["heartbeatIntervalMs"] != 6_000:
        assert time.monotonic() < deadline, "the group's own interval is not told"
    seen += [answer, change("share.heartbeat.interval.ms", "4999"), change("share.session.timeout.ms", "60001")]
    seen += [change("share.assignment.interval.ms", "15001"), change("share.session.timeout.ms", "x")]
    return [*seen, group.leave("a")]


SCENES: list[Scene] = [
    one_member, several_members, again_with_state, requests_that_are_none, epochs_of_others, other_types,
    a_simple_group_first, altered_offsets, deleted_offsets, deleted, a_full_group, beside_a_consumer_group,
    configs_of_a_group,
]  # fmt: skip
ASSIGNED_BY_CHANCE = (several_members,)
"""Which member gets which partition differs, but not how many."""


@pytest.mark.parametrize("scene", SCENES, ids=[scene.__name__.replace("_", "-") for scene in SCENES])
def test_a_share_group(sharing: TwoBrokers, scene: Scene) -> None:
    def stored_too(group: ShareMembers) -> Any:
        seen = scene(group)
        return seen if scene in ASSIGNED_BY_CHANCE else [*seen, *group.told_records()]

    assert alike(sharing, "sg-" + scene.__name__.replace("_", "-"), stored_too)


def partitions_and_topics_come_and_go(group: ShareMembers) -> list[Any]:
    topic = f"{group.name}-topic"
    seen = [group.join("a", topic)]
    group.side.topic(topic, 1)
    seen += group.until_assigned("a", {topic: [0]})
    request = CreatePartitionsRequest([CreatePartitionsRequest.CreatePartitionsTopic(topic, 3, None)], 10_000)
    seen += [group.named(group.side.ask(request, 3))]
    seen += group.until_assigned("a", {topic: [0, 1, 2]})
    seen += [group.offsets(None), group.side.ask(DeleteTopicsRequest(topic_names=[topic], timeout_ms=10_000), 5)]
    return [*seen, *group.until_assigned("a", {}), group.offsets(None), group.leave("a")]


def test_what_comes_of_itself(sharing: TwoBrokers) -> None:
    assert alike(sharing, "sg-come-and-go", partitions_and_topics_come_and_go)
