"""Adding partitions: Kafka's rules, error codes and messages."""

import pytest

from odradek.broker.metadata.controller.topic_changes import create_partitions
from odradek.broker.metadata.image.image import MetadataImage
from odradek.protocol.common.steps import run_to_end
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.topics import (
    CreatePartitionsRequest,
)
from support.brokers.metadata_images import (
    Topic,
    carry_out,
    controller,
    create,
    two_brokers,
    with_topics,
)

More = CreatePartitionsRequest.CreatePartitionsTopic
MoreAssignment = CreatePartitionsRequest.CreatePartitionsAssignment


def add(image: MetadataImage, *topics: CreatePartitionsRequest.CreatePartitionsTopic) -> list[tuple[int, str | None]]:
    response = carry_out(image, create_partitions(image, CreatePartitionsRequest(list(topics)), controller()))
    return [(one.error_code, one.error_message) for one in response.results]


def test_partitions_are_added_behind_those_there_are() -> None:
    _, image = with_topics("a")
    assert add(image, More("a", 5, None)) == [(0, None)]
    assert sorted(image.topics_by_name["a"].partitions) == [0, 1, 2, 3, 4]
    assert image.topics_by_name["a"].partitions[4].leader == 1


def test_added_partitions_can_be_assigned() -> None:
    core, image = two_brokers()
    create(image, core, Topic("a", 1, 2))
    assert add(image, More("a", 2, [MoreAssignment([2, 1])])) == [(0, None)]
    assert image.topics_by_name["a"].partitions[1].replicas == (2, 1)


ADDITIONS = [
    (More("a", 2, None), ErrorCode.INVALID_PARTITIONS, "Topic already has 2 partition(s)."),
    (
        More("a", 1, None),
        ErrorCode.INVALID_PARTITIONS,
        "The topic a currently has 2 partition(s); 1 would not be an increase.",
    ),
    (More("nowhere", 3, None), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, None),
    (
        More("a", 4, [MoreAssignment([1])]),
        ErrorCode.INVALID_REPLICA_ASSIGNMENT,
        "Attempted to add 2 additional partition(s), but only 1 assignment(s) were specified.",
    ),
    (
        More("a", 3, [MoreAssignment([9])]),
        ErrorCode.INVALID_REPLICA_ASSIGNMENT,
        "The manual partition assignment includes broker 9, but no such broker is registered.",
    ),
]


@pytest.mark.parametrize(("topic", "code", "sentence"), ADDITIONS, ids=[str(case[2])[:50] for case in ADDITIONS])
def test_refused_additions(
    topic: CreatePartitionsRequest.CreatePartitionsTopic, code: ErrorCode, sentence: str | None
) -> None:
    _, image = with_topics("a")
    assert add(image, topic) == [(code, sentence)]
    assert len(image.topics_by_name["a"].partitions) == 2


def test_additions_named_twice_and_validate_only() -> None:
    _, image = with_topics("a", "b")
    assert add(image, More("a", 3, None), More("b", 3, None), More("a", 4, None)) == [
        (ErrorCode.INVALID_REQUEST, "Duplicate topic name."),
        (0, None),
    ]
    decision = run_to_end(
        create_partitions(image, CreatePartitionsRequest([More("a", 3, None)], validate_only=True), controller())
    )
    assert [one.error_code for one in decision.response.results] == [0]
    assert not decision.records
