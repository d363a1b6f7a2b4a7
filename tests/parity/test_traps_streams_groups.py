"""Streams groups (KIP-1071): the same fixed steps give equal answers and stored records on Odradek and a real Kafka."""

from collections.abc import Callable, Iterator
from itertools import zip_longest
from typing import Any

import pytest

from odradek.protocol.messages.groups import DeleteGroupsRequest, DescribeGroupsRequest
from odradek.protocol.messages.streams_groups import (
    StreamsGroupDescribeRequest,
    StreamsGroupHeartbeatRequest,
    StreamsGroupTopologyDescriptionUpdateRequest,
)
from odradek.protocol.messages.topics import CreatePartitionsRequest, DeleteTopicsRequest
from parity.consumer_members import Members
from parity.side import Side
from parity.streams_members import StreamsMembers, info, statuses, subtopology, topology
from parity.two_brokers import KAFKA_KEYS, SAME_KEYS, TwoBrokers
from parity.world import Names
from support.brokers.our_broker import OurBroker
from support.kafka.java import TABLE_VERSION
from support.kafka.real_kafka import RealKafka
from support.kafka.wire import Wire

pytestmark = [pytest.mark.java, pytest.mark.ci]

TOPICS = {"st-t": 4, "st-u": 2}
T, U = TOPICS
KEYS = {
    "group.streams.assignment.interval.ms": "0",  # else answers depend on the time between requests
    "group.streams.initial.rebalance.delay.ms": "0",
    "group.streams.max.size": "3",
}
Scene = Callable[[StreamsMembers], Any]
Heartbeat = StreamsGroupHeartbeatRequest
ONE = topology(subtopology("0", T))


@pytest.fixture(scope="module")
def streaming(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TwoBrokers]:
    """Odradek and a Kafka with streams groups that wait for nothing."""
    with (
        Wire() as wire,
        OurBroker(tmp_path_factory.mktemp("ours"), {**SAME_KEYS, **KEYS}) as ours,
        RealKafka(tmp_path_factory.mktemp("kafka"), {**KAFKA_KEYS, **KEYS}, version=TABLE_VERSION) as kafka,
    ):
        brokers = TwoBrokers(wire, Names(ours.port), Names(kafka.port), ours.log_dir, kafka.log_dir)
        for side in sides(brokers):
            for name, partitions in TOPICS.items():
                side.topic(name, partitions)
            # Kafka's coordinator learns of topics shortly after its broker.
            probe = StreamsMembers(side, "st-probe")
            probe.join("probe", topology(subtopology("0", T, U)))
            probe.until_ready("probe")
            probe.leave("probe")
        yield brokers


def sides(brokers: TwoBrokers) -> list[Side]:
    found = [Side(brokers.wire, brokers.ours.port, True), Side(brokers.wire, brokers.kafka.port, False)]
    for side in found:
        side.learn_ids()
    return found


def alike(brokers: TwoBrokers, name: str, scene: Scene) -> Any:
    """Plays a scene on both brokers. Asserts that all answers are equal, except ids, and returns them."""
    ours, kafka = (scene(StreamsMembers(side, name)) for side in sides(brokers))
    differences = [
        f"step {number}\nours:  {one}\nKafka: {other}"
        for number, (one, other) in enumerate(zip_longest(ours, kafka))
        if one != other
    ]
    assert not differences, "\n".join(differences)
    return ours


def one_member(group: StreamsMembers) -> list[Any]:
    seen = [group.join("a", ONE), group.describe(), group.heartbeat("a"), group.heartbeat("a", owned={"0": [0, 1]})]
    seen += [group.heartbeat("a", owned={"0": [0, 1, 2, 3]}), group.heartbeat("a", version=0), group.describe(0)]
    seen += [group.heartbeat("a", rack_id="r"), group.heartbeat("a", process_id="p"), group.heartbeat("a", 9)]
    seen += [
        group.heartbeat("a", client_tags=[Heartbeat.KeyValue("k", "v")]),
        group.heartbeat("a", 1),
        group.describe(),
    ]
    seen += [group.describe(include_authorized_operations=True), group.listed("streams"), group.listed("share")]
    seen += [group.join("a", ONE), group.heartbeat("a", shutdown_application=True), group.heartbeat("a")]
    return [*seen, group.leave("a"), group.heartbeat("a", 1), group.describe(), group.listed(states=("empty",))]


def several_members(group: StreamsMembers) -> list[Any]:
    all_tasks = {"0": [0, 1, 2, 3]}
    seen = [group.join("a", ONE), group.heartbeat("a", owned=all_tasks), group.join("b", ONE)]
    seen += [group.heartbeat("a"), group.heartbeat("b"), group.describe()]
    # The first one gives up half of its tasks.
    seen += [group.heartbeat("a", owned=all_tasks), group.heartbeat("a", owned={"0": [0, 1]})]
    seen += [group.heartbeat("a", owned={"0": [2, 3]}), group.heartbeat("b"), group.join("c", ONE)]
    for who in "abcabc":
        seen += [group.heartbeat(who, owned={})]
    seen += [group.describe(), group.leave("c")]
    for who in "abab":
        seen += [group.heartbeat(who, owned={})]
    return [*seen, group.describe(), group.leave("b"), group.heartbeat("a"), group.leave("a")]


def internal_topics(group: StreamsMembers) -> list[Any]:
    """A word count: two subtopologies with a repartition topic between them, and a changelog."""
    repartition, changelog = f"{group.name}-repartition", f"{group.name}-changelog"
    parts = topology(
        subtopology("0", T, sinks=[repartition]),
        subtopology(
            "1",
            repartitions=[info(repartition, cleanup_policy="delete", segment_bytes="52428800")],
            changelogs=[info(changelog, 0, 1, cleanup_policy="compact")],
        ),
    )
    seen = [group.join("a", parts), group.until_topics(repartition, changelog), group.until_ready("a")]
    return [*seen, group.heartbeat("a"), group.describe(), group.describe(0), group.leave("a"), group.describe()]


def standbys(group: StreamsMembers) -> list[Any]:
    changelog = f"{group.name}-changelog"
    parts = topology(subtopology("0", U, changelogs=[info(changelog)]))
    seen = [group.change("streams.num.standby.replicas", "1"), group.change("streams.num.standby.replicas", "9")]
    seen += [group.join("a", parts), group.until_topics(changelog), group.until_ready("a")]
    group.until("a", lambda _: group.describe()["groups"][0]["groupEpoch"] > 1)
    seen += [group.join("b", parts), group.join("c", parts, process_id="process-b")]
    for who in "abcabc":
        seen += [group.heartbeat(who, owned={}, standbys={})]
    seen += [group.describe(), group.leave("a")]
    for who in "bcbc":
        seen += [group.heartbeat(who, owned={})]
    return [*seen, group.describe(), group.leave("b"), group.leave("c")]


def partition_counts(group: StreamsMembers) -> list[Any]:
    """Copartitioned topics that do not fit, missing sources, repartition topics whose partitions are not known."""
    together = Heartbeat.CopartitionGroup([0, 1], [], [])
    seen = [group.join("a", topology(subtopology("0", T, U, copartitions=[together]))), group.describe()]
    seen += [group.heartbeat("a"), group.leave("a"), group.heartbeat("a", 1)]
    other = StreamsMembers(group.side, f"{group.name}-missing")
    seen += [other.join("b", topology(subtopology("0", "st-nowhere"), subtopology("1", "st-not-there", T)))]
    seen += [other.heartbeat("b"), other.describe(), other.leave("b")]
    unknown = StreamsMembers(group.side, f"{group.name}-unknown")
    looped = [info("st-loop")]
    seen += [unknown.join("c", topology(subtopology("0", sinks=["st-loop"], repartitions=looped)))]
    seen += [unknown.describe(), unknown.listed()]
    fixed = StreamsMembers(group.side, f"{group.name}-fixed")
    name = f"{group.name}-by-u"
    also = Heartbeat.CopartitionGroup([0], [], [0])
    parts = topology(
        subtopology("0", T, sinks=[name]), subtopology("1", U, repartitions=[info(name)], copartitions=[also])
    )
    return [*seen, fixed.join("d", parts), fixed.until_topics(name), fixed.until_ready("d"), fixed.describe()]


def topologies_that_are_none(group: StreamsMembers) -> list[Any]:
    seen = [group.join("a", topology(subtopology("0", "__consumer_offsets"))), group.describe()]
    seen += [group.join("a", topology(subtopology("0", "st b", sinks=["..", "x y"])))]
    seen += [group.join("a", topology(subtopology("0", T, regexes=["st-.*"])))]
    seen += [group.join("a", topology(subtopology("0", T, changelogs=[info("st-c", 3)])))]
    seen += [group.join("a", topology()), group.describe(), group.leave("a")]
    return [*seen, group.listed()]


def other_topologies(group: StreamsMembers) -> list[Any]:
    seen = [group.join("a", topology(subtopology("0", T), epoch=1)), group.join("b", topology(subtopology("0", U)))]
    seen += [group.heartbeat("b"), group.join("b", topology(subtopology("0", U), epoch=1))]
    seen += [
        group.join("b", topology(subtopology("0", T), epoch=2)),
        group.join("b", topology(subtopology("0", T), epoch=1)),
    ]
    return [*seen, group.heartbeat("a", topology=ONE), group.describe(), group.leave("a"), group.leave("b")]


def requests_that_are_none(group: StreamsMembers) -> list[Any]:
    seen = [
        group.join("", ONE),
        group.join(" ", ONE),
        group.join("a", ONE, group_id=""),
        group.join("a", ONE, rack_id=""),
    ]
    seen += [
        group.join("a", ONE, instance_id=""),
        group.join("a", ONE, rebalance_timeout_ms=-1),
        group.heartbeat("a", 0),
    ]
    seen += [
        group.join("a", ONE, owned={"0": [1]}),
        group.join("a", ONE, standbys={"0": [1]}),
        group.heartbeat("a", -3),
    ]
    seen += [group.join("a", ONE, topology=None), group.heartbeat("a", -2), group.heartbeat("a", 1)]
    seen += [group.join("a", ONE), group.heartbeat("a", active_tasks=[]), group.heartbeat("a", owned={"9": [1]})]
    seen += [group.heartbeat("a", owned={"0": [4]}), group.heartbeat("a", owned={"0": [-1]})]
    seen += [group.heartbeat("a", owned={"0": [0]}, standbys={"1": [0]}), group.leave("a")]
    return [*seen, group.side.ask(StreamsGroupDescribeRequest(["", "st-nobody"]), 1), group.listed()]


def epochs_of_others(group: StreamsMembers) -> list[Any]:
    seen = [
        group.join("a", ONE),
        group.heartbeat("ghost", 3),
        group.heartbeat("a", 9),
        group.heartbeat("a", 1, owned={}),
    ]
    seen += [group.join("b", ONE), group.heartbeat("a", owned={"0": [0, 1]}), group.heartbeat("a", owned={"0": [0, 1]})]
    seen += [
        group.heartbeat("a", 2, owned={"0": [0]}),
        group.heartbeat("a", 2, owned={"0": [3]}),
        group.heartbeat("a", 2),
    ]
    return [*seen, group.leave("ghost"), group.leave("a"), group.leave("a"), group.join("a", ONE), group.leave("a")]


def static_members(group: StreamsMembers) -> list[Any]:
    seen = [group.join("a", ONE, instance_id="i"), group.heartbeat("a", instance_id="i", owned={"0": [0, 1, 2, 3]})]
    seen += [group.join("b", ONE, instance_id="i"), group.heartbeat("b", 1, instance_id="i"), group.heartbeat("a")]
    seen += [group.heartbeat("a", instance_id="j"), group.leave("a", -2, instance_id="i"), group.describe()]
    seen += [group.heartbeat("a", 2, instance_id="i"), group.join("b", ONE, instance_id="i", process_id="process-a")]
    seen += [group.heartbeat("b", instance_id="i"), group.heartbeat("a", 2, instance_id="i"), group.describe()]
    seen += [group.leave("b", -2, instance_id="i"), group.join("c", ONE, instance_id="i", rack_id="elsewhere")]
    seen += [group.heartbeat("c", instance_id="i"), group.join("d", ONE), group.join("e", ONE, instance_id="k")]
    seen += [group.join("f", ONE, instance_id="l"), group.describe()]
    return [
        *seen,
        group.leave("c", instance_id="x"),
        group.leave("c", instance_id="i"),
        group.leave("d"),
        group.describe(),
    ]


def task_offsets(group: StreamsMembers) -> list[Any]:
    def offsets(*found: tuple[str, int, int]) -> list[Heartbeat.TaskOffset]:
        return [Heartbeat.TaskOffset(*one) for one in found]

    seen = [group.join("a", ONE, task_offsets=offsets(("0", 1, 5))), group.describe()]
    seen += [group.heartbeat("a", task_offsets=offsets(("0", 1, 5), ("7", 2, 6))), group.describe()]
    seen += [group.heartbeat("a", task_end_offsets=offsets(("0", 1, 9), ("0", 2, 2**63 - 1))), group.describe()]
    seen += [group.heartbeat("a", task_offsets=offsets(("0", 1, 5), ("0", 1, 6))), group.describe()]
    return [*seen, group.heartbeat("a", task_offsets=[], task_end_offsets=[]), group.describe(), group.leave("a")]


def endpoints(group: StreamsMembers) -> list[Any]:
    at = Heartbeat.Endpoint
    seen = [
        group.join("a", ONE, user_endpoint=at("ha", 1)),
        group.heartbeat("a"),
        group.heartbeat("a", owned={"0": [0]}),
    ]
    seen += [group.heartbeat("a", endpoint_information_epoch=0), group.heartbeat("a", endpoint_information_epoch=1)]
    seen += [group.join("b", ONE, user_endpoint=at("hb", 2)), group.heartbeat("a", owned={"0": [0, 1]})]
    seen += [group.heartbeat("a"), group.heartbeat("b"), group.heartbeat("a", user_endpoint=at("hc", 3))]
    seen += [group.heartbeat("b"), group.describe(), group.join("a", ONE), group.heartbeat("a"), group.heartbeat("b")]
    return [*seen, group.leave("a"), group.heartbeat("b"), group.leave("b")]


def rack_tags(group: StreamsMembers) -> list[Any]:
    tag = Heartbeat.KeyValue
    seen = [group.change("streams.rack.aware.assignment.tags", "zone,rack"), group.join("a", ONE)]
    group.until("a", lambda answer: 6 in statuses(answer))
    seen += [
        group.heartbeat("a"),
        group.heartbeat("a", version=0),
        group.heartbeat("a", client_tags=[tag("rack", "1")]),
    ]
    seen += [group.heartbeat("a", client_tags=[tag("zone", "1"), tag("rack", "1")]), group.describe()]
    return [*seen, group.change("streams.rack.aware.assignment.tags", "a,a"), group.leave("a")]


def other_types(group: StreamsMembers) -> list[Any]:
    describe = DescribeGroupsRequest([group.name])
    seen = [group.join("a", ONE), group.named(group.side.ask(describe, 5)), group.named(group.side.ask(describe, 6))]
    seen += [group.classic_join("z", T), group.commit("", T, -1), group.commit("a", T, 2), group.commit("a", U, 2)]
    seen += [
        group.commit("a", T, 1),
        group.commit("a", T, 3),
        group.commit("ghost", T, 2),
        group.commit("a", T, 2, version=8),
    ]
    seen += [group.fetch(None, -1), group.fetch("a", 2), group.fetch("a", 1), group.fetch("ghost", 2)]
    seen += [group.classic_heartbeat("a", generation=2), group.named(group.classic_sync("a")), group.fetch("", -1)]
    seen += [group.leave("a"), group.commit("", T, -1), group.commit("", T, 0), group.classic_join("z", T)]
    return [*seen, group.fetch("", -1), group.fetch(None, -1)]


def older_commits(group: StreamsMembers) -> list[Any]:
    """Commits with the epoch in which the member got the task, after the group's epoch has risen."""
    seen = [group.join("a", ONE), group.join("b", ONE), group.heartbeat("a", owned={"0": [0, 1, 2, 3]})]
    seen += [group.heartbeat("a", owned={"0": [0, 1]}), group.heartbeat("b")]
    seen += [group.commit("a", T, epoch, partition=index) for epoch in (1, 2, 3) for index in (0, 3)]
    seen += [group.commit("b", T, epoch, partition=index) for epoch in (1, 2, 3) for index in (0, 3)]
    return [*seen, group.commit("a", U, 2), group.leave("a"), group.leave("b")]


def a_simple_group_first(group: StreamsMembers) -> list[Any]:
    seen = [group.commit("", T, -1), group.join("a", ONE), group.fetch(None, -1), group.leave("a"), group.describe()]
    return [*seen, group.commit("", T, -1), group.join("b", ONE), group.leave("b")]


def an_empty_classic_group_first(group: StreamsMembers) -> list[Any]:
    seen = [group.classic_join("z", T), group.classic_sync("z"), group.join("a", ONE), group.classic_leave(("z", None))]
    return [*seen, group.join("a", ONE), group.heartbeat("a"), group.leave("a"), group.classic_join("z", T)]


def deleted(group: StreamsMembers) -> list[Any]:
    delete = DeleteGroupsRequest([group.name, "st-nobody"])

    def results(version: int) -> Any:
        # Kafka answers in the order of a hash map.
        return group.named(group.side.ask(delete, version))

    seen = [group.join("a", ONE), group.commit("a", T, 2), results(2), group.leave("a"), results(3), group.listed()]
    return [*seen, group.join("a", ONE), group.heartbeat("a"), group.leave("a"), results(2)]


def a_full_group(group: StreamsMembers) -> list[Any]:
    seen = [group.join(who, ONE) for who in "abcd"]
    return [*seen, group.join("a", ONE), group.leave("a"), group.join("d", ONE), *[group.leave(who) for who in "bcd"]]


def beside_a_consumer_group(group: StreamsMembers) -> list[Any]:
    consumers = Members(group.side, group.name + "-consumers")
    seen = [consumers.join("c", T), group.join("a", ONE, group_id=consumers.name)]
    seen += [group.heartbeat("a", 1, group_id=consumers.name), group.leave("a", group_id=consumers.name)]
    seen += [group.side.ask(StreamsGroupDescribeRequest([consumers.name]), 1), consumers.leave("c")]
    seen += [group.join("a", ONE, group_id=consumers.name), group.join("a", ONE)]
    other = Members(group.side, group.name)
    return [*seen, other.join("c", T), other.heartbeat("c", 1), other.describe(), other.leave("c"), group.leave("a")]


def configs_of_a_group(group: StreamsMembers) -> list[Any]:
    seen = [group.join("a", ONE), group.change("streams.heartbeat.interval.ms", "6000")]
    group.until("a", lambda answer: answer["heartbeatIntervalMs"] == 6_000)
    seen += [
        group.change("streams.task.offset.interval.ms", "70000"),
        group.change("streams.acceptable.recovery.lag", "7"),
    ]
    seen += [group.until("a", lambda answer: answer["acceptableRecoveryLag"] == 7)]
    seen += [group.change("streams.heartbeat.interval.ms", "4999"), group.change("streams.session.timeout.ms", "60001")]
    seen += [group.change("streams.assignment.interval.ms", "15001"), group.change("streams.session.timeout.ms", "x")]
    return [*seen, group.leave("a")]


def delays(group: StreamsMembers) -> list[Any]:
    seen = [group.change("streams.initial.rebalance.delay.ms", "1500")]
    probe = StreamsMembers(group.side, group.name)
    probe.until_topics(T)
    seen += [group.join("a", ONE), group.heartbeat("a"), group.join("b", ONE), group.describe()]
    seen += [group.until("a", lambda answer: 5 not in statuses(answer)), group.heartbeat("b"), group.describe()]
    seen += [group.change("streams.initial.rebalance.delay.ms", "0"), group.leave("a"), group.leave("b")]
    return seen


def descriptions_of_topologies(group: StreamsMembers) -> list[Any]:
    kind = StreamsGroupTopologyDescriptionUpdateRequest
    seen = [group.join("a", ONE), group.side.ask(kind(group.name, "a", 0, kind.TopologyDescription()), 0)]
    return [*seen, group.describe(include_topology_description=True), group.leave("a")]


SCENES: list[Scene] = [
    one_member, several_members, internal_topics, standbys, partition_counts, topologies_that_are_none,
    other_topologies, requests_that_are_none, epochs_of_others, static_members, task_offsets, endpoints, rack_tags,
    other_types, older_commits, a_simple_group_first, an_empty_classic_group_first, deleted, a_full_group,
    beside_a_consumer_group, configs_of_a_group, delays, descriptions_of_topologies,
]  # fmt: skip


@pytest.mark.parametrize("scene", SCENES, ids=[scene.__name__.replace("_", "-") for scene in SCENES])
def test_a_streams_group(streaming: TwoBrokers, scene: Scene) -> None:
    def stored_too(group: StreamsMembers) -> Any:
        return [*scene(group), *group.told_records()]

    assert alike(streaming, "st-" + scene.__name__.replace("_", "-"), stored_too)


def partitions_and_topics_come_and_go(group: StreamsMembers) -> list[Any]:
    topic, changelog = f"{group.name}-topic", f"{group.name}-changelog"
    parts = topology(subtopology("0", topic, changelogs=[info(changelog)]))
    seen = [group.join("a", parts)]
    group.side.topic(topic, 1)
    seen += [group.until_topics(changelog) if group.until("a", lambda answer: 1 not in statuses(answer)) else None]
    seen += [group.until_ready("a"), group.describe()]
    request = CreatePartitionsRequest([CreatePartitionsRequest.CreatePartitionsTopic(topic, 3, None)], 10_000)
    seen += [group.named(group.side.ask(request, 3)), group.until("a", lambda answer: 2 in statuses(answer))]
    seen += [group.describe(), group.side.ask(DeleteTopicsRequest(topic_names=[topic], timeout_ms=10_000), 5)]
    return [*seen, group.until("a", lambda answer: 1 in statuses(answer)), group.describe(), group.leave("a")]


def test_what_comes_of_itself(streaming: TwoBrokers) -> None:
    assert alike(streaming, "st-come-and-go", partitions_and_topics_come_and_go)
