"""Topologies: the partitions of internal topics and the number of tasks, compared with Kafka's own classes."""

import base64
import random
from collections import Counter

import pytest

from odradek.broker.groups.streams.configured_topology import StatusCode, configure
from odradek.broker.groups.streams.heartbeat_response import endpoint_partitions
from odradek.broker.groups.streams.member import StreamsEndpoint, StreamsGroupMember
from odradek.broker.groups.streams.tasks import MemberTasks, by_subtopology
from odradek.broker.groups.streams.topology import StreamsTopology
from odradek.protocol.codec import encode
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.streams_groups import (
    StreamsGroupDescribeResponse,
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
)

from .oracle import Json, ask_kafka, plain_member
from .topologies import RandomTopology, Topics

Subtopology = StreamsGroupHeartbeatRequest.Subtopology
TopicInfo = StreamsGroupHeartbeatRequest.TopicInfo
Group = StreamsGroupHeartbeatRequest.CopartitionGroup


def random_member(seed: int, world: RandomTopology) -> StreamsGroupMember:
    chance = random.Random(seed)
    tasks = [(each.subtopology_id, index) for each in world.request.subtopologies for index in range(4)]
    active = by_subtopology(chance.sample(tasks, chance.randint(0, min(6, len(tasks)))))
    standby, warmup = (by_subtopology(chance.sample(tasks, chance.randint(0, min(4, len(tasks))))) for _ in "12")
    assigned = MemberTasks({each: dict.fromkeys(indexes, 1) for each, indexes in active.items()}, standby, warmup)
    return StreamsGroupMember("m", process_id="p", user_endpoint=StreamsEndpoint("", 0), assigned=assigned)


def question(world: RandomTopology, member: StreamsGroupMember) -> Json:
    request = encode(StreamsGroupHeartbeatRequest(topology=world.request), 1)
    given = {"request": base64.b64encode(request).decode(), "topics": world.topics, "member": plain_member(member)}
    return {"ask": "configure", **given}


def our_answer(world: RandomTopology, member: StreamsGroupMember) -> Json:
    """Our answer, in the form of ``StreamsGroupOracle.java``."""
    try:
        topology = StreamsTopology.from_request(world.request)
        configured = configure(7, topology, world.topics.get)
    except KafkaError as error:
        return {"error": int(error.error_code), "message": error.message}
    answer: Json = {"ready": configured.is_ready}
    if configured.problem is not None:
        answer |= {"status": int(configured.problem.status), "detail": configured.problem.detail}
    answer["create"] = [
        [topic.name, topic.partitions, topic.replication_factor or -1, [list(config) for config in topic.configs]]
        for topic in configured.internal_topics_to_create.values()
    ]
    if configured.subtopologies is not None:
        tasks = {name: [each.number_of_tasks, each.is_stateful] for name, each in configured.subtopologies.items()}
        answer["tasks"] = tasks
    answer["required"] = list(topology.required_topics)
    groups = [
        StreamsGroupDescribeResponse.DescribedGroup(topology=described)
        for described in (topology.to_description(), configured.to_description())
    ]
    answer["described"] = base64.b64encode(encode(StreamsGroupDescribeResponse(groups=groups), 1)).decode()
    if configured.is_ready:
        endpoint = endpoint_partitions(member, configured, world.topics.get)
        assert endpoint is not None
        for name, found in (("active", endpoint.active_partitions), ("standby", endpoint.standby_partitions)):
            answer[name] = sorted([each.topic, *each.partitions] for each in found)
    return answer


def compare(seeds: range) -> Counter[str]:
    worlds = [RandomTopology(seed) for seed in seeds]
    members = [random_member(seed, world) for seed, world in zip(seeds, worlds, strict=True)]
    answers = ask_kafka(map(question, worlds, members))
    kinds: Counter[str] = Counter()
    for seed, world, member, answer in zip(seeds, worlds, members, answers, strict=True):
        for name in ("active", "standby"):
            if name in answer:
                answer[name] = sorted(answer[name])
        assert our_answer(world, member) == answer, f"seed {seed}"
        kinds[f"error {answer['error']}" if "error" in answer else f"status {answer.get('status')}"] += 1
    return kinds


@pytest.mark.java
def test_equal_to_kafkas_own_classes() -> None:
    kinds = compare(range(2_000))
    # Each outcome is among the topologies.
    assert kinds.keys() == {"status None", "status 1", "status 2", "status 3", "error 130", "error 17", "error -1"}
    assert kinds["status None"] > 400


@pytest.mark.nightly
@pytest.mark.java
def test_equal_to_kafkas_own_classes_for_many_topologies() -> None:
    compare(range(10_000, 40_000))


def topology_of(*subtopologies: Subtopology, epoch: int = 3) -> StreamsTopology:
    return StreamsTopology.from_request(StreamsGroupHeartbeatRequest.Topology(epoch, list(subtopologies)))


COUNTING = (
    Subtopology("0", source_topics=["words"], repartition_sink_topics=["app-by-word"]),
    Subtopology(
        "1",
        repartition_source_topics=[TopicInfo("app-by-word")],
        state_changelog_topics=[TopicInfo("app-counts", topic_configs=[])],
    ),
)


def test_internal_topics_get_the_partitions_of_the_source_topic() -> None:
    configured = configure(1, topology_of(*COUNTING), {"words": 5}.get)
    assert configured.problem == (
        StatusCode.MISSING_INTERNAL_TOPICS,
        "Internal topics are missing: app-counts, app-by-word",
    )
    assert {name: topic.partitions for name, topic in configured.internal_topics_to_create.items()} == {
        "app-by-word": 5,
        "app-counts": 5,
    }
    assert configured.subtopologies is not None
    assert [(each.number_of_tasks, each.is_stateful) for each in configured.subtopologies.values()] == [
        (5, False),
        (5, True),
    ]


def test_a_topology_is_ready_once_all_topics_exist() -> None:
    topics = {"words": 5, "app-by-word": 5, "app-counts": 5}
    assert configure(1, topology_of(*COUNTING), topics.get).is_ready
    wrong = configure(1, topology_of(*COUNTING), (topics | {"app-counts": 4}).get)
    assert wrong.problem == (
        StatusCode.INCORRECTLY_PARTITIONED_TOPICS,
        "Existing topic app-counts has different number of partitions: expected 5, found 4",
    )
    assert wrong.subtopologies is None
    missing = configure(1, topology_of(*COUNTING), Topics().get)
    assert missing.problem == (StatusCode.MISSING_SOURCE_TOPICS, "Source topics words are missing.")


def test_a_long_chain_of_repartition_topics_takes_one_visit_each() -> None:
    """Kafka passes over all subtopologies once for each link that comes before its writer."""
    length = 2_000
    links = [
        Subtopology(
            str(number),
            repartition_source_topics=[TopicInfo(f"t{number}")],
            repartition_sink_topics=[f"t{number + 1}"],
        )
        for number in range(length)
    ]
    looked_at: Counter[str] = Counter()

    def partition_count(name: str) -> int | None:
        looked_at[name] += 1
        return 3 if name == "in" else None

    first = Subtopology("first", source_topics=["in"], repartition_sink_topics=["t0"])
    configured = configure(1, topology_of(*links, first), partition_count)
    assert {topic.partitions for topic in configured.internal_topics_to_create.values()} == {3}
    assert max(looked_at.values()) < 10


def test_loops_are_refused() -> None:
    loop = Subtopology("0", repartition_source_topics=[TopicInfo("a")], repartition_sink_topics=["a"])
    with pytest.raises(KafkaError) as refused:
        configure(1, topology_of(loop), Topics().get)
    assert refused.value.error_code is ErrorCode.STREAMS_INVALID_TOPOLOGY


def test_topologies_are_equal_whatever_the_order_of_subtopologies() -> None:
    first = topology_of(*COUNTING)
    assert first == topology_of(*reversed(COUNTING))
    assert first != topology_of(*COUNTING, epoch=4)
    assert first != topology_of(COUNTING[0])
    assert StreamsTopology.from_record(first.to_record()) == first
    assert first.source_topics == {"words", "app-by-word"}


@pytest.mark.parametrize("seed", range(200))
def test_a_topology_is_the_same_after_its_record(seed: int) -> None:
    try:
        topology = StreamsTopology.from_request(RandomTopology(seed).request)
    except KafkaError:
        return
    again = StreamsTopology.from_record(topology.to_record())
    assert again == topology
    assert again.in_hash_order == topology.in_hash_order
    assert again.to_description() == topology.to_description()


def test_tasks_that_do_not_exist_are_refused() -> None:
    configured = configure(1, topology_of(*COUNTING), {"words": 2}.get)
    task_ids = StreamsGroupHeartbeatRequest.TaskIds
    configured.check_tasks(None)
    configured.check_tasks([task_ids("0", [0, 1]), task_ids("1", [])])
    with pytest.raises(KafkaError, match=r"Subtopology 2 does not exist in the topology\."):
        configured.check_tasks([task_ids("2", [])])
    for index in (2, -1):
        text = f"Task {index} for subtopology 1 is invalid. Number of tasks for this subtopology: 2"
        with pytest.raises(KafkaError, match=text):
            configured.check_tasks([task_ids("1", [0, index])])


def test_a_member_serves_the_partitions_of_its_tasks() -> None:
    join = Subtopology("0", source_topics=["wide", "narrow"])
    configured = configure(1, topology_of(join), {"wide": 4, "narrow": 2}.get)
    member = StreamsGroupMember("m", assigned=MemberTasks({"0": {3: 1, 0: 1}}, {"0": frozenset((1,))}, {}))
    assert endpoint_partitions(member, configured, {"wide": 4, "narrow": 2}.get) is None
    member = member._replace(user_endpoint=StreamsEndpoint("host", 9090))
    found = endpoint_partitions(member, configured, {"wide": 4, "narrow": 2}.get)
    partition = StreamsGroupHeartbeatResponse.TopicPartition
    assert found == StreamsGroupHeartbeatResponse.EndpointToPartitions(
        user_endpoint=StreamsGroupHeartbeatResponse.Endpoint("host", 9090),
        active_partitions=[partition("narrow", [0]), partition("wide", [0, 3])],
        standby_partitions=[partition("narrow", [1]), partition("wide", [1])],
    )
