"""While a newly elected coordinator loads its partition, every API answers an error, and none an empty result.

An empty answer would make a consumer begin anew, or an operator believe that a group is gone.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from odradek.broker.coordinator.shard import ShardState
from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages import consumer_groups, groups, transactions
from odradek.protocol.messages.structure import Message
from odradek.protocol.names.topics import OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC
from support.groups.harness import Harness
from support.transactions.harness import TransactionHarness

LOADING = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
Errors = Callable[[Any], list[int]]
"""The error codes of an answer. Asserts that nothing else is in it."""


class Question(NamedTuple):
    api: ApiKey
    version: int
    request: Message
    errors: Errors


def top(answer: Any) -> list[int]:
    return [answer.error_code]


def of_topics(answer: Any) -> list[int]:
    return [partition.error_code for topic in answer.topics for partition in topic.partitions]


def of_groups(answer: Any) -> list[int]:
    return [group.error_code for group in answer.groups]


def of_results(answer: Any) -> list[int]:
    return [result.error_code for result in answer.results]


def listed(answer: Any) -> list[int]:
    assert answer.groups == []
    return [answer.error_code]


COMMIT = groups.OffsetCommitRequest.OffsetCommitRequestPartition(0, 7)
COMMITS = [groups.OffsetCommitRequest.OffsetCommitRequestTopic("t", partitions=[COMMIT])]
OFFSET_COMMIT = Question(ApiKey.OFFSET_COMMIT, 8, groups.OffsetCommitRequest("g", topics=COMMITS), of_topics)
FETCHED = [groups.OffsetFetchRequest.OffsetFetchRequestTopic("t", [0])]
DELETED = groups.OffsetDeleteRequest.OffsetDeleteRequestPartition(0)
IN_TRANSACTION = transactions.TxnOffsetCommitRequest.TxnOffsetCommitRequestPartition(0, 7)
OF_TRANSACTION = [transactions.TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic("t", partitions=[IN_TRANSACTION])]
OF_GROUPS = [
    OFFSET_COMMIT,
    Question(ApiKey.OFFSET_FETCH, 1, groups.OffsetFetchRequest("g", FETCHED), of_topics),
    Question(ApiKey.OFFSET_FETCH, 7, groups.OffsetFetchRequest("g", None), top),
    Question(
        ApiKey.OFFSET_FETCH,
        9,
        groups.OffsetFetchRequest(groups=[groups.OffsetFetchRequest.OffsetFetchRequestGroup("g", topics=None)]),
        of_groups,
    ),
    Question(
        ApiKey.OFFSET_DELETE,
        0,
        groups.OffsetDeleteRequest("g", [groups.OffsetDeleteRequest.OffsetDeleteRequestTopic("t", [DELETED])]),
        top,
    ),
    Question(
        ApiKey.JOIN_GROUP,
        9,
        groups.JoinGroupRequest(
            "g",
            session_timeout_ms=10_000,
            protocol_type="consumer",
            protocols=[groups.JoinGroupRequest.JoinGroupRequestProtocol("range")],
        ),
        top,
    ),
    Question(ApiKey.SYNC_GROUP, 5, groups.SyncGroupRequest("g", 1, "m", None, "consumer", "range"), top),
    Question(
        ApiKey.LEAVE_GROUP,
        5,
        groups.LeaveGroupRequest("g", members=[groups.LeaveGroupRequest.MemberIdentity("m")]),
        top,
    ),
    Question(ApiKey.DESCRIBE_GROUPS, 6, groups.DescribeGroupsRequest(["g"]), of_groups),
    Question(ApiKey.LIST_GROUPS, 5, groups.ListGroupsRequest(), listed),
    Question(ApiKey.DELETE_GROUPS, 2, groups.DeleteGroupsRequest(["g"]), of_results),
    Question(ApiKey.CONSUMER_GROUP_DESCRIBE, 1, consumer_groups.ConsumerGroupDescribeRequest(["g"]), of_groups),
    Question(
        ApiKey.CONSUMER_GROUP_HEARTBEAT,
        1,
        consumer_groups.ConsumerGroupHeartbeatRequest(
            "g", "m", 0, rebalance_timeout_ms=10_000, subscribed_topic_names=["t"], topic_partitions=[]
        ),
        top,
    ),
]


@pytest.mark.parametrize("question", OF_GROUPS, ids=lambda one: f"{one.api.name} v{one.version}")
def test_group_coordinator(question: Question) -> None:
    harness = Harness()
    committed = harness.ask("a", OFFSET_COMMIT.api, OFFSET_COMMIT.version, OFFSET_COMMIT.request)
    assert of_topics(committed) == [ErrorCode.NONE]
    harness.start(in_turns=True)
    answer = harness.ask("a", question.api, question.version, question.request)
    assert harness.coordinator.shard_at(0).state is ShardState.LOADING
    assert question.errors(answer) == [LOADING]
    harness.timers.advance(0)
    fetched = harness.ask("a", ApiKey.OFFSET_FETCH, 1, groups.OffsetFetchRequest("g", FETCHED))
    assert fetched.topics[0].partitions[0].committed_offset == 7


def test_heartbeat_of_a_member_succeeds() -> None:
    """So that members keep their partitions, as in Kafka (``GroupCoordinatorService.heartbeat``)."""
    harness = Harness()
    harness.ask("a", OFFSET_COMMIT.api, OFFSET_COMMIT.version, OFFSET_COMMIT.request)
    harness.start(in_turns=True)
    answer = harness.ask("a", ApiKey.HEARTBEAT, 4, groups.HeartbeatRequest("g", 1, "m"))
    assert harness.coordinator.shard_at(0).state is ShardState.LOADING
    assert answer.error_code == ErrorCode.NONE


def test_offsets_of_a_transaction() -> None:
    harness = TransactionHarness(transaction_version=1)
    assert of_topics(harness.ask(OFFSET_COMMIT.api, OFFSET_COMMIT.version, OFFSET_COMMIT.request)) == [ErrorCode.NONE]
    client = harness.ask(ApiKey.INIT_PRODUCER_ID, 4, INIT)
    producer = client.producer_id, client.producer_epoch
    adding = transactions.AddOffsetsToTxnRequest("x", *producer, "g")
    assert top(harness.ask(ApiKey.ADD_OFFSETS_TO_TXN, 3, adding)) == [ErrorCode.NONE]
    coordinator = harness.broker.group_coordinator
    coordinator.resign(0)
    shard = coordinator.elect(0, harness.partitions[OFFSETS_TOPIC, 0], in_turns=True)
    request = transactions.TxnOffsetCommitRequest("x", "g", *producer, topics=OF_TRANSACTION)
    answer = harness.ask(ApiKey.TXN_OFFSET_COMMIT, 3, request)
    assert shard.state is ShardState.LOADING
    assert of_topics(answer) == [LOADING]
    harness.timers.advance(0)
    assert of_topics(harness.ask(ApiKey.TXN_OFFSET_COMMIT, 3, request)) == [ErrorCode.NONE]


def listed_transactions(answer: Any) -> list[int]:
    assert answer.transaction_states == []
    return [answer.error_code]


def described(answer: Any) -> list[int]:
    return [one.error_code for one in answer.transaction_states]


def added(answer: Any) -> list[int]:
    topics = answer.results_by_topic_v3_and_below
    return [partition.partition_error_code for topic in topics for partition in topic.results_by_partition]


def verified(answer: Any) -> list[int]:
    return [
        partition.partition_error_code
        for transaction in answer.results_by_transaction
        for topic in transaction.topic_results
        for partition in topic.results_by_partition
    ]


INIT = transactions.InitProducerIdRequest("x", 60_000)
ADDED = transactions.AddPartitionsToTxnRequest.AddPartitionsToTxnTopic("t", [0])
TO_VERIFY = transactions.AddPartitionsToTxnRequest.AddPartitionsToTxnTransaction("x", 1, 0, True, [ADDED])
OF_TRANSACTIONS = [
    Question(ApiKey.INIT_PRODUCER_ID, 4, INIT, top),
    Question(
        ApiKey.ADD_PARTITIONS_TO_TXN,
        3,
        transactions.AddPartitionsToTxnRequest([], "x", 1, 0, v3_and_below_topics=[ADDED]),
        added,
    ),
    Question(ApiKey.ADD_PARTITIONS_TO_TXN, 5, transactions.AddPartitionsToTxnRequest([TO_VERIFY]), verified),
    Question(ApiKey.ADD_OFFSETS_TO_TXN, 3, transactions.AddOffsetsToTxnRequest("x", 1, 0, "g"), top),
    Question(ApiKey.END_TXN, 3, transactions.EndTxnRequest("x", 1, 0, True), top),
    Question(ApiKey.DESCRIBE_TRANSACTIONS, 0, transactions.DescribeTransactionsRequest(["x"]), described),
    Question(ApiKey.LIST_TRANSACTIONS, 1, transactions.ListTransactionsRequest(), listed_transactions),
]


@pytest.mark.parametrize("question", OF_TRANSACTIONS, ids=lambda one: f"{one.api.name} v{one.version}")
def test_transaction_coordinator(question: Question) -> None:
    harness = TransactionHarness()
    assert top(harness.ask(ApiKey.INIT_PRODUCER_ID, 4, INIT)) == [ErrorCode.NONE]
    coordinator = harness.coordinator
    coordinator.resign(0)
    shard = coordinator.elect(0, harness.partitions[TRANSACTION_STATE_TOPIC, 0], in_turns=True)
    answer = harness.ask(question.api, question.version, question.request)
    assert shard.state is ShardState.LOADING
    assert question.errors(answer) == [LOADING]
    harness.timers.advance(0)
    states = harness.ask(ApiKey.LIST_TRANSACTIONS, 1, transactions.ListTransactionsRequest()).transaction_states
    assert [state.transactional_id for state in states] == ["x"]
