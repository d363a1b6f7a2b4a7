"""Requests are divided into the items that a fault selects and the others, and their answers are joined."""

from typing import Any

import pytest

from odradek.broker.dispatch.error_responses import error_response
from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.configs import DescribeConfigsRequest
from odradek.protocol.messages.groups import FindCoordinatorRequest, HeartbeatRequest, OffsetCommitRequest
from odradek.protocol.messages.metadata import MetadataRequest, MetadataResponse
from odradek.protocol.messages.produce import ProduceRequest
from odradek.testing.faults.selection import Divider, Selection, join

ORDERS = bytes(15) + b"\x01"


def divider(api_key: int, **where: Any) -> Divider:
    return Divider(Selection(**where), api_key, {ORDERS: "orders"}.get)


def produce_of(*partitions: tuple[str, int]) -> ProduceRequest:
    topics: dict[str, list[int]] = {}
    for topic, partition in partitions:
        topics.setdefault(topic, []).append(partition)
    return ProduceRequest(
        acks=1,
        topic_data=[
            ProduceRequest.TopicProduceData(
                name, partition_data=[ProduceRequest.PartitionProduceData(index, b"") for index in indexes]
            )
            for name, indexes in topics.items()
        ],
    )


def partitions_of(request: Any) -> list[tuple[str, int]]:
    if request is None:
        return []
    return [(topic.name, data.index) for topic in request.topic_data for data in topic.partition_data]


def test_a_partition_is_taken_out_of_a_request() -> None:
    request = produce_of(("orders", 0), ("orders", 1), ("clicks", 1))
    meant, others = divider(ApiKey.PRODUCE, topic="orders", partition=1).divide(request)
    assert partitions_of(meant) == [("orders", 1)]
    assert partitions_of(others) == [("orders", 0), ("clicks", 1)]
    assert partitions_of(request) == [("orders", 0), ("orders", 1), ("clicks", 1)], "the request itself has changed"


def test_a_partition_of_any_topic() -> None:
    meant, others = divider(ApiKey.PRODUCE, partition=1).divide(produce_of(("orders", 1), ("clicks", 0), ("clicks", 1)))
    assert partitions_of(meant) == [("orders", 1), ("clicks", 1)]
    assert partitions_of(others) == [("clicks", 0)]


def test_a_topic_that_is_named_by_its_id() -> None:
    topic = ProduceRequest.TopicProduceData(
        topic_id=ORDERS, partition_data=[ProduceRequest.PartitionProduceData(0, b"")]
    )
    meant, others = divider(ApiKey.PRODUCE, topic="orders").divide(ProduceRequest(topic_data=[topic]))
    assert meant is not None
    assert others is None


def test_nothing_is_meant() -> None:
    request = produce_of(("clicks", 0))
    assert divider(ApiKey.PRODUCE, topic="orders").divide(request) == (None, request)


def test_a_group_is_named_by_the_whole_request() -> None:
    request = HeartbeatRequest("readers", 1, "one")
    assert divider(ApiKey.HEARTBEAT, group="readers").divide(request) == (request, None)
    assert divider(ApiKey.HEARTBEAT, group="others").divide(request) == (None, request)


def test_a_topic_of_a_groups_commit() -> None:
    topics = [OffsetCommitRequest.OffsetCommitRequestTopic(name=name) for name in ("orders", "clicks")]
    for topic in topics:
        topic.partitions = [OffsetCommitRequest.OffsetCommitRequestPartition(0, 5)]
    request = OffsetCommitRequest("readers", topics=topics)
    meant, others = divider(ApiKey.OFFSET_COMMIT, group="readers", topic="orders").divide(request)
    assert [topic.name for topic in meant.topics] == ["orders"]
    assert [topic.name for topic in others.topics] == ["clicks"]
    assert divider(ApiKey.OFFSET_COMMIT, group="others", topic="orders").divide(request) == (None, request)


@pytest.mark.parametrize("in_a_list", [False, True])
def test_a_key_of_find_coordinator(in_a_list: bool) -> None:
    request = FindCoordinatorRequest(key="" if in_a_list else "readers", key_type=0)
    request.coordinator_keys = ["readers"] if in_a_list else []
    found = divider(ApiKey.FIND_COORDINATOR, group="readers").divide(request)
    assert found[0] is not None
    assert found[1] is None
    assert divider(ApiKey.FIND_COORDINATOR, transactional_id="readers").divide(request)[0] is None


def test_a_config_resource() -> None:
    resources = [DescribeConfigsRequest.DescribeConfigsResource(kind, "orders") for kind in (2, 32)]
    request = DescribeConfigsRequest(resources=resources)
    meant, others = divider(ApiKey.DESCRIBE_CONFIGS, topic="orders").divide(request)
    assert [one.resource_type for one in meant.resources] == [2]
    assert [one.resource_type for one in others.resources] == [32]


def test_answers_are_joined_by_topic() -> None:
    request = produce_of(("orders", 0), ("orders", 1), ("clicks", 1))
    meant, others = divider(ApiKey.PRODUCE, partition=1).divide(request)
    served: Any = error_response(ApiKey.PRODUCE, 12, others, ErrorCode.NONE)
    failed = error_response(ApiKey.PRODUCE, 12, meant, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    joined = join(ApiKey.PRODUCE, served, failed)
    found = {(topic.name, one.index): one.error_code for topic in joined.responses for one in topic.partition_responses}
    assert found == {("orders", 0): 0, ("orders", 1): 6, ("clicks", 1): 6}
    assert [topic.name for topic in joined.responses] == ["orders", "clicks"]


def test_an_answer_about_all_topics_is_overridden() -> None:
    divide = divider(ApiKey.METADATA, topic="orders")
    assert divide.is_known_by_the_answer(MetadataRequest(topics=None))
    topics = [MetadataResponse.MetadataResponseTopic(name=name) for name in ("orders", "clicks")]
    response = MetadataResponse(topics=topics)
    assert divide.override(response, ErrorCode.LEADER_NOT_AVAILABLE)
    assert [topic.error_code for topic in response.topics] == [ErrorCode.LEADER_NOT_AVAILABLE, 0]
    assert not divider(ApiKey.METADATA, topic="payments").override(response, ErrorCode.LEADER_NOT_AVAILABLE)


@pytest.mark.parametrize(
    ("api_key", "where", "missing"),
    [
        (ApiKey.HEARTBEAT, {"topic": "orders"}, ["topic"]),
        (ApiKey.PRODUCE, {"group": "readers"}, ["group"]),
        (ApiKey.LIST_GROUPS, {"group": "readers", "partition": 1}, ["group", "partition"]),
        (ApiKey.TXN_OFFSET_COMMIT, {"group": "readers", "topic": "orders", "transactional_id": "t"}, []),
        (ApiKey.FETCH, {"topic": "orders", "partition": 0, "client_id": "any"}, []),
    ],
)
def test_a_fault_that_could_never_happen_is_known(api_key: int, where: dict[str, Any], missing: list[str]) -> None:
    assert Selection(**where).missing_in(api_key) == missing
