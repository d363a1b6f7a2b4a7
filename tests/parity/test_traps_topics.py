"""Edge cases of topics and their configuration: the same fixed steps on Odradek and on a real Kafka."""

import time
from typing import Any

import pytest

from odradek.protocol.messages.configs import (
    AlterConfigsRequest,
    DescribeConfigsRequest,
    IncrementalAlterConfigsRequest,
)
from odradek.protocol.messages.metadata import MetadataRequest
from odradek.protocol.messages.topics import CreatePartitionsRequest, CreateTopicsRequest, DeleteTopicsRequest
from parity.side import DEADLINE_S, Side, batch, same
from parity.two_brokers import TwoBrokers

pytestmark = pytest.mark.java

Topic = CreateTopicsRequest.CreatableTopic
Assignment = CreateTopicsRequest.CreatableReplicaAssignment
Config = CreateTopicsRequest.CreatableTopicConfig
EXISTING = "trap_existing"


@pytest.fixture(scope="module", autouse=True)
def topic(both: TwoBrokers) -> None:
    same(both, lambda side: side.topic(EXISTING, 2))


CREATE: list[tuple[str, list[Any], int]] = [
    ("that-exists", [Topic(EXISTING, 1, 1)], 36),
    ("of-no-partitions", [Topic("trap-none", 0, 1)], 37),
    ("of-negative-partitions", [Topic("trap-none", -2, 1)], 37),
    ("of-more-replicas-than-brokers", [Topic("trap-none", 1, 2)], 38),
    ("of-no-replicas", [Topic("trap-none", 1, 0)], 38),
    ("of-an-empty-name", [Topic("", 1, 1)], 17),
    ("named-dot", [Topic(".", 1, 1)], 17),
    ("named-dots", [Topic("..", 1, 1)], 17),
    ("with-a-slash", [Topic("a/b", 1, 1)], 17),
    ("with-a-space", [Topic("a b", 1, 1)], 17),
    ("with-an-umlaut", [Topic("ä", 1, 1)], 17),
    ("of-250-letters", [Topic("x" * 250, 1, 1)], 17),
    ("that-collides", [Topic("trap.existing", 1, 1)], 17),
    ("twice", [Topic("trap-twice", 1, 1), Topic("trap-twice", 2, 1)], 42),
    ("internal", [Topic("__consumer_offsets", 1, 1)], 36),
    ("of-an-unknown-config", [Topic("trap-none", 1, 1, [], [Config("no.such.key", "1")])], 40),
    ("of-a-bad-config", [Topic("trap-none", 1, 1, [], [Config("retention.ms", "soon")])], 40),
    ("of-a-null-config", [Topic("trap-none", 1, 1, [], [Config("retention.ms", None)])], 40),
    ("of-a-config-out-of-range", [Topic("trap-none", 1, 1, [], [Config("segment.bytes", "1")])], 40),
    ("assigned-and-counted", [Topic("trap-none", 1, 1, [Assignment(0, [1])])], 42),
    ("assigned-to-nobody", [Topic("trap-none", -1, -1, [Assignment(0, [])])], 39),
    ("assigned-to-a-stranger", [Topic("trap-none", -1, -1, [Assignment(0, [9])])], 39),
    ("assigned-twice-to-one", [Topic("trap-none", -1, -1, [Assignment(0, [1, 1])])], 39),
    ("assigned-with-a-gap", [Topic("trap-none", -1, -1, [Assignment(0, [1]), Assignment(2, [1])])], 39),
    ("assigned-from-1", [Topic("trap-none", -1, -1, [Assignment(1, [1])])], 39),
    ("assigned-rightly", [Topic("trap-assigned", -1, -1, [Assignment(1, [1]), Assignment(0, [1])])], 0),
    ("of-default-size", [Topic("trap-default", -1, -1)], 0),
    ("none-at-all", [], 0),
    ("good-and-bad", [Topic("trap-good", 1, 1), Topic("bad name", 1, 1)], 0),
]


@pytest.mark.parametrize(("topics", "error"), [case[1:] for case in CREATE], ids=[case[0] for case in CREATE])
@pytest.mark.parametrize("validate_only", [True, False], ids=["checked", "done"])
def test_create_a_topic(both: TwoBrokers, validate_only: bool, topics: list[Any], error: int) -> None:
    seen = same(both, lambda side: side.ask(CreateTopicsRequest(topics, 5000, validate_only), 7))
    codes = {one["errorCode"] for one in seen["topics"]}
    assert error in codes or (error == 0 and not codes)


def test_a_created_topic_says_its_configuration(both: TwoBrokers) -> None:
    topics = [Topic("trap-says", 2, 1, [], [Config("retention.ms", "5000"), Config("cleanup.policy", "compact")])]

    def scene(side: Side) -> Any:
        body = side.ask(CreateTopicsRequest(topics, 5000), 7)
        configs = {config["name"]: (config["value"], config["configSource"]) for config in body["topics"][0]["configs"]}
        return [configs["retention.ms"], configs["cleanup.policy"], configs["segment.bytes"], len(configs)]

    same(both, scene)


def test_a_topic_deleted_and_made_anew_at_once(both: TwoBrokers) -> None:
    """The new topic has another id and no records."""

    def scene(side: Side) -> Any:
        name = side.topic("trap-remade", 2)
        side.produce(name, batch(1, 2))
        before = side.topic_ids[name]
        deleted = side.ask(DeleteTopicsRequest(topic_names=[name], timeout_ms=10_000), 5)
        side.topic(name, 1)
        return [
            deleted,
            side.topic_ids[name] != before,
            side.fetch(name, 0),
            side.batches(name),
            side.produce(name, batch(3)),
        ]

    assert same(both, scene)[1]


DELETE: list[tuple[str, list[Any]]] = [
    ("that-is-not-there", [DeleteTopicsRequest.DeleteTopicState("nowhere")]),
    ("by-an-unknown-id", [DeleteTopicsRequest.DeleteTopicState(None, bytes(range(16)))]),
    ("by-the-zero-id", [DeleteTopicsRequest.DeleteTopicState(None, bytes(16))]),
    ("by-name-and-id", [DeleteTopicsRequest.DeleteTopicState("nowhere", bytes(range(16)))]),
    ("twice", [DeleteTopicsRequest.DeleteTopicState("nowhere"), DeleteTopicsRequest.DeleteTopicState("nowhere")]),
    ("of-an-empty-name", [DeleteTopicsRequest.DeleteTopicState("")]),
    ("none", []),
]


@pytest.mark.parametrize("topics", [case[1] for case in DELETE], ids=[case[0] for case in DELETE])
def test_delete_a_topic(both: TwoBrokers, topics: list[Any]) -> None:
    same(both, lambda side: side.ask(DeleteTopicsRequest(topics, timeout_ms=5000), 6))


Grow = CreatePartitionsRequest.CreatePartitionsTopic
GrowAssignment = CreatePartitionsRequest.CreatePartitionsAssignment
GROW: list[tuple[str, list[Any], int]] = [
    ("to-as-many", [Grow(EXISTING, 2, None)], 37),
    ("to-fewer", [Grow(EXISTING, 1, None)], 37),
    ("to-none", [Grow(EXISTING, 0, None)], 37),
    ("to-a-negative-number", [Grow(EXISTING, -1, None)], 37),
    ("of-an-unknown-topic", [Grow("nowhere", 3, None)], 3),
    ("twice", [Grow(EXISTING, 3, None), Grow(EXISTING, 4, None)], 42),
    ("assigned-to-a-stranger", [Grow(EXISTING, 3, [GrowAssignment([9])])], 39),
    ("assigned-to-nobody", [Grow(EXISTING, 3, [GrowAssignment([])])], 39),
    ("assigned-too-few", [Grow(EXISTING, 4, [GrowAssignment([1])])], 39),
    ("assigned-too-many", [Grow(EXISTING, 3, [GrowAssignment([1]), GrowAssignment([1])])], 39),
    ("assigned-more-replicas", [Grow(EXISTING, 3, [GrowAssignment([1, 1])])], 39),
    ("rightly", [Grow(EXISTING, 3, None)], 0),
]


@pytest.mark.parametrize(("topics", "error"), [case[1:] for case in GROW], ids=[case[0] for case in GROW])
def test_create_partitions(both: TwoBrokers, topics: list[Any], error: int) -> None:
    seen = same(both, lambda side: side.ask(CreatePartitionsRequest(topics, 5000, True), 3))
    assert [one["errorCode"] for one in seen["results"]] == [error]


def test_new_partitions_are_served(both: TwoBrokers) -> None:
    def scene(side: Side) -> Any:
        name = side.topic("trap-grown", 1)
        grown = side.ask(CreatePartitionsRequest([Grow(name, 3, None)], 10_000), 3)
        side.wait_for_leaders(name, 3)
        return [grown, side.produce(name, batch(1), partition=2), side.fetch(name, 0, partition={"partition": 2})]

    same(both, scene)


# Configurations. A step is (operation, value): 0 set, 1 delete, 2 append, 3 subtract.

CONFIGS: list[tuple[str, list[tuple[str, int, str | None]]]] = [
    ("append", [("cleanup.policy", 2, "compact")]),
    ("append-twice", [("cleanup.policy", 2, "compact"), ("cleanup.policy", 2, "delete")]),
    ("append-what-is-there", [("cleanup.policy", 2, "delete")]),
    ("append-several", [("cleanup.policy", 2, "compact,delete")]),
    ("append-what-is-wrong", [("cleanup.policy", 2, "burn")]),
    ("append-to-what-is-no-list", [("retention.ms", 2, "5")]),
    ("subtract", [("cleanup.policy", 0, "compact,delete")]),
    ("subtract-what-is-not-there", [("cleanup.policy", 3, "compact")]),
    ("subtract-the-last", [("cleanup.policy", 3, "delete")]),
    ("subtract-from-what-is-no-list", [("retention.ms", 3, "5")]),
    ("set-an-empty-list", [("cleanup.policy", 0, "")]),
    ("set-with-spaces", [("cleanup.policy", 0, " compact , delete ")]),
    ("set-a-number-with-spaces", [("retention.ms", 0, " 5 ")]),
    ("set-null", [("retention.ms", 0, None)]),
    ("delete", [("retention.ms", 1, None)]),
    ("delete-what-is-not-set", [("segment.bytes", 1, None)]),
    ("delete-with-a-value", [("retention.ms", 1, "5")]),
    ("of-an-unknown-key", [("no.such.key", 0, "1")]),
    ("delete-an-unknown-key", [("no.such.key", 1, None)]),
    ("one-good-one-bad", [("retention.bytes", 0, "5"), ("retention.ms", 0, "x")]),
    ("a-boolean-in-capitals", [("preallocate", 0, "TRUE")]),
    ("a-boolean-that-is-none", [("preallocate", 0, "yes")]),
    ("a-number-too-large", [("segment.bytes", 0, "99999999999")]),
    ("a-contradiction", [("min.compaction.lag.ms", 0, "10"), ("max.compaction.lag.ms", 0, "5")]),
]


def described(side: Side, name: str) -> Any:
    resource = DescribeConfigsRequest.DescribeConfigsResource(2, name, None)
    body = side.ask(DescribeConfigsRequest([resource]), 4)
    return [
        (config["name"], config["value"])
        for config in sorted(body["results"][0]["configs"], key=lambda config: str(config["name"]))
        if config["configSource"] == 1
    ]


@pytest.mark.parametrize("steps", [case[1] for case in CONFIGS], ids=[case[0] for case in CONFIGS])
def test_incremental_alter_configs(
    both: TwoBrokers, request: pytest.FixtureRequest, steps: list[tuple[str, int, str | None]]
) -> None:
    name = f"trap-alter-{request.node.callspec.id}"

    def scene(side: Side) -> Any:
        side.topic(name)
        answers = []
        for key, operation, value in steps:
            config = IncrementalAlterConfigsRequest.AlterableConfig(key, operation, value)
            resource = IncrementalAlterConfigsRequest.AlterConfigsResource(2, name, [config])
            answers.append(side.ask(IncrementalAlterConfigsRequest([resource]), 1))
        marker = IncrementalAlterConfigsRequest.AlterableConfig("delete.retention.ms", 0, "77")
        last = IncrementalAlterConfigsRequest.AlterConfigsResource(2, name, [marker])
        side.ask(IncrementalAlterConfigsRequest([last]), 1)
        deadline = time.monotonic() + DEADLINE_S
        while ("delete.retention.ms", "77") not in described(side, name):
            assert time.monotonic() < deadline, f"{name} never had its last change"
        return [answers, described(side, name)]

    same(both, scene)


RESOURCES = [("topic-unknown", 2, "nowhere"), ("topic-empty", 2, "")]
RESOURCES += [("broker-unknown", 4, "99"), ("broker-no-id", 4, "x")]
RESOURCES += [("no-kind", 0, "x"), ("unknown-kind", 77, "x"), ("group", 32, "trap-some-group"), ("logger", 8, "99")]


@pytest.mark.parametrize(("kind", "name"), [case[1:] for case in RESOURCES], ids=[case[0] for case in RESOURCES])
def test_configs_of_what_is_not_there(both: TwoBrokers, kind: int, name: str) -> None:
    def scene(side: Side) -> Any:
        describe = DescribeConfigsRequest.DescribeConfigsResource(kind, name, ["retention.ms"])
        change = IncrementalAlterConfigsRequest.AlterableConfig("retention.ms", 0, "5")
        incremental = IncrementalAlterConfigsRequest.AlterConfigsResource(kind, name, [change])
        alter = AlterConfigsRequest.AlterConfigsResource(
            kind, name, [AlterConfigsRequest.AlterableConfig("retention.ms", "5")]
        )
        return [
            side.ask(DescribeConfigsRequest([describe]), 4),
            side.ask(IncrementalAlterConfigsRequest([incremental], validate_only=True), 1),
            side.ask(AlterConfigsRequest([alter], validate_only=True), 2),
        ]

    same(both, scene)


@pytest.mark.parametrize("version", [0, 1, 4, 9, 10, 13])
def test_metadata_of_what_is_not_there(both: TwoBrokers, version: int) -> None:
    def scene(side: Side) -> Any:
        names = ["trap-nowhere", "", "a b", EXISTING] if version >= 4 else [EXISTING]
        topics = [MetadataRequest.MetadataRequestTopic(name=name) for name in names]
        return side.ask(MetadataRequest(topics, version < 4), version)

    same(both, scene)
