"""Reassigning partitions of a single broker: the same fixed steps for Odradek and a real Kafka."""

from typing import Any

import pytest

from odradek.protocol.messages.topics import AlterPartitionReassignmentsRequest, ListPartitionReassignmentsRequest
from parity.side import Side, same
from parity.two_brokers import TwoBrokers

pytestmark = pytest.mark.java

Topic = AlterPartitionReassignmentsRequest.ReassignableTopic
Partition = AlterPartitionReassignmentsRequest.ReassignablePartition
Listed = ListPartitionReassignmentsRequest.ListPartitionReassignmentsTopics

PLANS: dict[str, list[list[int] | None]] = {
    "to-where-it-is": [[1]],
    "to-nobody": [[]],
    "to-a-stranger": [[9]],
    "to-itself-and-a-stranger": [[1, 9]],
    "to-a-stranger-and-itself": [[9, 1]],
    "to-one-twice": [[1, 1]],
    "to-a-negative-one": [[-1]],
    "cancelled": [None],
    "one-good-one-bad": [[1], [9]],
}


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize(("version", "allow"), [(0, True), (1, True), (1, False)])
def test_plans(both: TwoBrokers, plan: str, version: int, allow: bool) -> None:
    def scene(side: Side) -> Any:
        topic = side.topic(f"{plan}-{version}-{allow}", 2)
        return alter(side, version, allow, Topic(topic, [Partition(i, to) for i, to in enumerate(PLANS[plan])]))

    same(both, scene)


@pytest.mark.parametrize("version", [0, 1])
def test_what_is_not_there_and_what_is_named_twice(both: TwoBrokers, version: int) -> None:
    def scene(side: Side) -> Any:
        name = side.topic(f"reassigned-{version}", 2)
        return [
            alter(side, version, True),
            alter(side, version, True, Topic("nobody", [Partition(0, [1])])),
            alter(side, version, True, Topic("", [Partition(0, [1])])),
            alter(side, version, True, Topic("nobody", [])),
            alter(side, version, True, Topic(name, [Partition(7, [1]), Partition(-1, None)])),
            alter(side, version, True, Topic(name, [Partition(0, [1]), Partition(0, [9])])),
            alter(side, version, True, Topic(name, [Partition(0, [1])]), Topic(name, [Partition(1, [1])])),
            alter(side, version, True, Topic("__cluster_metadata", [Partition(0, [1])])),
        ]

    same(both, scene)


def test_nothing_is_listed(both: TwoBrokers) -> None:
    def scene(side: Side) -> Any:
        name = side.topic("reassigned", 2)
        alter(side, 1, True, Topic(name, [Partition(0, [1])]))
        return [
            side.ask(ListPartitionReassignmentsRequest(5000, topics), 0)
            for topics in (None, [], [Listed(name, [0, 1, 7])], [Listed("nobody", [0])])
        ]

    same(both, scene)


def alter(side: Side, version: int, allow: bool, *topics: Topic) -> Any:
    """Sends AlterPartitionReassignments. Returns the answer, with the result of each partition."""
    body = side.ask(AlterPartitionReassignmentsRequest(5000, allow, list(topics)), version)
    said = [
        (topic["name"], one["partitionIndex"], one["errorCode"], one["errorMessage"])
        for topic in body["responses"]
        for one in topic["partitions"]
    ]
    return body, said
