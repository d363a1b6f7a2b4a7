"""The state of share partitions: equal answers to APIs 83 to 87, and equal records, on Odradek and Kafka 4.4.0."""

import random
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from odradek.broker.coordinator.partitioning import partition_for
from odradek.broker.share_state.config import ShareCoordinatorConfig
from odradek.broker.share_state.core import ShareStateCore
from odradek.protocol.internal_records.share_batches import StateBatch, is_valid
from odradek.protocol.internal_records.share_partition_key import SharePartitionKey
from odradek.protocol.messages.configs import DescribeConfigsRequest
from odradek.protocol.messages.groups import FindCoordinatorRequest
from odradek.protocol.messages.share_groups import InitializeShareGroupStateRequest
from odradek.protocol.messages.topics import DeleteTopicsRequest
from odradek.protocol.names.topics import SHARE_STATE_TOPIC
from parity.side import Side
from support.brokers.our_broker import OurBroker
from support.eventually import eventually
from support.kafka.java import TABLE_VERSION
from support.kafka.real_kafka import RealKafka
from support.kafka.share_states import States, stored, without_times
from support.kafka.wire import Wire

pytestmark = [pytest.mark.java, pytest.mark.ci]

TOPIC, OTHER = "shared", "shared-other"
PARTITIONS = 3
KEYS = {
    "share.coordinator.snapshot.update.records.per.snapshot": "4",
    "share.coordinator.state.topic.num.partitions": "7",
    "auto.create.topics.enable": "false",
}
KAFKAS_KEYS = {"share.coordinator.append.linger.ms": "0"}
UNKNOWN_TOPIC = b"no such topic id"
TOPIC_CONFIG = 2


class Pair(NamedTuple):
    """Both brokers, with the topics."""

    ours: Side
    kafka: Side
    our_broker: OurBroker
    kafka_broker: RealKafka

    def states(self, group_id: str, topic: str | bytes = TOPIC, partition: int = 0) -> tuple[States, States]:
        """A share partition at Odradek and at Kafka. ``topic``: a name, or an id."""
        first, second = (
            States(side.ask, group_id, topic if isinstance(topic, bytes) else side.topic_ids[topic], partition)
            for side in (self.ours, self.kafka)
        )
        return first, second

    def records(self, group_id: str, topic: str = TOPIC, partition: int = 0) -> list[Any]:
        """The stored records of a share partition, without times. Asserts that both brokers have the same."""
        found = []
        for side, log_dir in ((self.ours, self.our_broker.log_dir), (self.kafka, self.kafka_broker.log_dir)):
            key = SharePartitionKey(group_id, side.topic_ids[topic], partition)
            found.append(without_times(record for _, record in stored(log_dir) if record.key == key))
        assert found[0] == found[1]
        return found[0]


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    with (
        Wire() as wire,
        OurBroker(tmp_path_factory.mktemp("ours"), KEYS) as ours,
        RealKafka(tmp_path_factory.mktemp("kafka"), {**KEYS, **KAFKAS_KEYS}, version=TABLE_VERSION) as kafka,
    ):
        sides = Side(wire, ours.port, True), Side(wire, kafka.port, False)
        for side in sides:
            for topic in (TOPIC, OTHER):
                side.topic(topic, PARTITIONS)
            request = FindCoordinatorRequest("", 2, [SharePartitionKey("g", bytes(16), 0).coordinator_key])
            eventually(
                "a share coordinator",
                lambda: not side.ask(request, 6)["coordinators"][0]["errorCode"],  # noqa: B023
            )
        pair = Pair(*sides, ours, kafka)
        for topic in (TOPIC, OTHER):
            # Kafka's coordinator learns of topics shortly after its broker.
            eventually("known topics", lambda: _is_known(pair, topic))  # noqa: B023
        yield pair


def _is_known(pair: Pair, topic: str) -> bool:
    return not any(states.summarize()["errorCode"] for states in pair.states("known", topic))


def alike(results: tuple[Any, Any]) -> Any:
    """Asserts that both results are equal, and returns one."""
    ours, kafka = results
    assert ours == kafka, f"\nours:  {ours}\nKafka: {kafka}"
    return ours


def test_the_topic(pair: Pair) -> None:
    def configs(side: Side) -> dict[str, str]:
        resource = DescribeConfigsRequest.DescribeConfigsResource(TOPIC_CONFIG, SHARE_STATE_TOPIC)
        described = side.ask(DescribeConfigsRequest([resource]), 4)["results"][0]["configs"]
        return {one["name"]: one["value"] for one in described if one["configSource"] == 1}

    assert configs(pair.ours) == configs(pair.kafka)


def test_what_is_not_initialised(pair: Pair) -> None:
    ours, kafka = pair.states("nothing")
    assert alike((ours.summarize(), kafka.summarize()))["startOffset"] == -1
    assert alike((ours.summarize(-9, 0), kafka.summarize(-9, 0)))["errorCode"] == 0
    assert alike((ours.read(0), kafka.read(0)))["errorCode"] == 42
    assert alike((ours.write(0, 0, 0), kafka.write(0, 0, 0)))["errorCode"] == 42
    assert alike((ours.delete(), kafka.delete()))["errorCode"] == 0
    assert pair.records("nothing") == []


@pytest.mark.parametrize("partition", [-1, PARTITIONS, 0])
@pytest.mark.parametrize("topic", [TOPIC, UNKNOWN_TOPIC, bytes(16)])
@pytest.mark.parametrize("group_id", ["wrong", ""])
def test_wrong_names_and_numbers(pair: Pair, group_id: str, topic: str | bytes, partition: int) -> None:
    ours, kafka = pair.states(group_id, topic, partition)
    for number in (-2, -1, 0):
        alike((ours.read(number), kafka.read(number)))
        alike((ours.write(number, 0, 0), kafka.write(number, 0, 0)))
        alike((ours.write(0, number, number), kafka.write(0, number, number)))
        alike((ours.summarize(number), kafka.summarize(number)))
        alike((ours.delete(), kafka.delete()))
        if number < 0 or topic != TOPIC or partition:
            alike((ours.initialize(number, number), kafka.initialize(number, number)))


def test_epochs(pair: Pair) -> None:
    ours, kafka = pair.states("epochs")
    codes = [
        alike((ours.initialize(3, -1), kafka.initialize(3, -1))),
        alike((ours.initialize(2, 5), kafka.initialize(2, 5))),
        alike((ours.read(4), kafka.read(4))),
        alike((ours.read(3), kafka.read(3))),
        alike((ours.write(3, 3, 7), kafka.write(3, 3, 7))),
        alike((ours.write(2, 4, 7), kafka.write(2, 4, 7))),
        alike((ours.write(9, 9, 7), kafka.write(9, 9, 7))),
        alike((ours.write(3, 4, 7), kafka.write(3, 4, 7))),
        alike((ours.summarize(0), kafka.summarize(0))),
        alike((ours.initialize(4, 7), kafka.initialize(4, 7))),
        alike((ours.read(3), kafka.read(3))),
        alike((ours.write(3, 4, 7), kafka.write(3, 4, 7))),
    ]
    assert [one["errorCode"] for one in codes] == [0, 124, 0, 74, 74, 124, 0, 0, 0, 0, 74, 124]
    assert len(pair.records("epochs")) == 5


def test_batches_without_sense_fail(pair: Pair) -> None:
    """Kafka's answer is an unexpected exception. Here it is INVALID_REQUEST."""
    ours, kafka = pair.states("batches")
    for states in (ours, kafka):
        states.initialize(0, 0)
        states.write(0, 0, 0, 0, [StateBatch(1, 1, 2, 1)])
    for batch in (StateBatch(5, 4, 2, 1), StateBatch(5, 2**63 - 1, 2, 1)):
        assert not is_valid(batch)
        assert [states.write(0, 0, 0, 0, [batch, batch])["errorCode"] for states in (ours, kafka)] == [42, -1]
    pair.records("batches")


SHAPES: list[list[tuple[str, list[int]]]] = [
    [],
    [(TOPIC, [])],
    [(TOPIC, []), (OTHER, [1])],
    [(TOPIC, [2, 0, 2]), (OTHER, [1, 9, -1]), (TOPIC, [1])],
]
"""The topics of a request, with the partitions of each."""


@pytest.mark.parametrize("shape", SHAPES)
def test_an_answer_names_what_was_asked_for(pair: Pair, shape: list[tuple[str, list[int]]]) -> None:
    kind = InitializeShareGroupStateRequest

    def results(side: Side) -> Any:
        asked = [
            kind.InitializeStateData(side.topic_ids[name], [kind.PartitionData(index, 1, 1) for index in indexes])
            for name, indexes in shape
        ]
        names = {topic_id: name for name, topic_id in side.topic_ids.items()}
        answered: Any = side.raw(kind("named", asked), 0)
        return sorted(
            (names[topic.topic_id], sorted((one.partition, one.error_code) for one in topic.partitions))
            for topic in answered.results
        )

    assert results(pair.ours) == results(pair.kafka)


@pytest.mark.parametrize("seed", range(8))
def test_random_operations(pair: Pair, seed: int) -> None:
    rng = random.Random(seed)
    groups = [f"random-{seed}-{number}" for number in range(2)]
    for step in range(150):
        group = rng.choice(groups)
        ours, kafka = pair.states(group, TOPIC, rng.randrange(2))
        choice = rng.random()
        numbers = rng.randrange(5), rng.randrange(5), rng.choice((-1, 0, 10, 25))
        if choice < 0.1:
            answers = ours.initialize(numbers[0], numbers[2]), kafka.initialize(numbers[0], numbers[2])
        elif choice < 0.25:
            answers = ours.read(numbers[1]), kafka.read(numbers[1])
        elif choice < 0.35:
            answers = ours.summarize(numbers[1]), kafka.summarize(numbers[1])
        elif choice < 0.38:
            answers = ours.delete(), kafka.delete()
        else:
            batches = []
            for _ in range(rng.randrange(4)):
                first = rng.randrange(40)
                batches.append(
                    StateBatch(first, first + rng.choice((0, 2, 9)), rng.choice((0, 2, 3, 4, 9)), rng.randrange(4))
                )
            more = rng.randrange(-1, 5), batches, rng.randrange(2)
            answers = ours.write(*numbers, *more), kafka.write(*numbers, *more)
        assert answers[0] == answers[1], f"seed {seed}, step {step}:\nours:  {answers[0]}\nKafka: {answers[1]}"
    for group in groups:
        for partition in range(2):
            pair.records(group, TOPIC, partition)


def test_a_deleted_topic_leaves_tombstones(pair: Pair) -> None:
    for side in pair[:2]:
        side.topic("shared-deleted")
        states = States(side.ask, "of-deleted", side.topic_ids["shared-deleted"], 0)
        # Kafka's coordinator learns of topics shortly after its broker.
        eventually("the topic is known", lambda: not states.initialize(0, 0)["errorCode"])  # noqa: B023
        topic = DeleteTopicsRequest.DeleteTopicState("shared-deleted")
        assert side.ask(DeleteTopicsRequest([topic], timeout_ms=10_000), 6)["responses"][0]["errorCode"] == 0
    eventually("both tombstones", lambda: _last_of_both(pair) == [{}, {}])
    assert len(pair.records("of-deleted", "shared-deleted")) == 2


def _last_of_both(pair: Pair) -> list[Any]:
    found = []
    for side, log_dir in ((pair.ours, pair.our_broker.log_dir), (pair.kafka, pair.kafka_broker.log_dir)):
        key = SharePartitionKey("of-deleted", side.topic_ids["shared-deleted"], 0)
        found.append(without_times(record for _, record in stored(log_dir) if record.key == key)[-1])
    return found


def test_records_are_where_kafka_has_them_and_load_alike(pair: Pair) -> None:
    """Kafka places a share partition by the hash of its key. Our core loads Kafka's records as it loads ours."""
    for side, log_dir in ((pair.ours, pair.our_broker.log_dir), (pair.kafka, pair.kafka_broker.log_dir)):
        names = {topic_id: name for name, topic_id in side.topic_ids.items()}
        cores: dict[int, ShareStateCore] = {}
        count = 0
        for index, record in stored(log_dir):
            assert partition_for(record.key.coordinator_key, 7) == index
            core = cores.setdefault(index, ShareStateCore(ShareCoordinatorConfig(), lambda _: PARTITIONS))
            core.load(record.key_bytes(), record.value_bytes(), count, -1, 0)
            count += 1
        assert count > 100
        for core in cores.values():
            for key, state in core.states.items():
                answer = States(side.ask, *key).read(max(state.highest_leader_epoch, 0))
                assert answer["startOffset"] == state.start_offset, names[key.topic_id]
                assert [tuple(one.values()) for one in answer["stateBatches"]] == state.batches
