"""Requests to other brokers: their order, their batching, and the assignment of answers to them."""

import random
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from odradek.broker.coordinator.request_queue import QUESTIONS_MAX, RequestQueue
from odradek.broker.transactions.effects import MarkerOrder
from odradek.broker.transactions.remote_markers import MarkerDialect, MarkerQuestion
from odradek.broker.transactions.remote_membership import MembershipDialect, MembershipQuestion
from odradek.protocol.codec import decode, encode
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.transactions import (
    AddPartitionsToTxnResponse,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)

MarkerResult = WriteTxnMarkersResponse.WritableTxnMarkerResult
MarkerTopic = WriteTxnMarkersResponse.WritableTxnMarkerTopicResult
MarkerPartition = WriteTxnMarkersResponse.WritableTxnMarkerPartitionResult
AddedResult = AddPartitionsToTxnResponse.AddPartitionsToTxnResult
AddedTopic = AddPartitionsToTxnResponse.AddPartitionsToTxnTopicResult
AddedPartition = AddPartitionsToTxnResponse.AddPartitionsToTxnPartitionResult


@pytest.mark.parametrize("seed", range(20))
def test_each_question_goes_out_once_and_those_of_a_key_in_order(seed: int) -> None:
    rng = random.Random(seed)
    queue: RequestQueue[MarkerQuestion] = RequestQueue()
    put: dict[int, list[int]] = {}
    sent: dict[int, list[int]] = {}
    epochs = iter(range(10_000))
    for _ in range(rng.randrange(1, 300)):
        for _ in range(rng.randrange(8)):
            producer_id, epoch = rng.randrange(5), next(epochs)
            put.setdefault(producer_id, []).append(epoch)
            order = MarkerOrder("tx", producer_id, 0, True, frozenset())
            queue.put(MarkerQuestion(order, epoch, frozenset(), lambda _: None))
        taken = queue.take()
        assert len({one.key for one in taken}) == len(taken)
        for one in taken:
            sent.setdefault(one.key, []).append(one.coordinator_epoch)
    while queue:
        for one in queue.take():
            sent.setdefault(one.key, []).append(one.coordinator_epoch)
    assert sent == put


def test_request_is_bounded() -> None:
    queue: RequestQueue[MarkerQuestion] = RequestQueue()
    for producer_id in range(QUESTIONS_MAX + 1):
        queue.put(MarkerQuestion(MarkerOrder("", producer_id, 0, True, frozenset()), 0, frozenset(), lambda _: None))
    assert len(queue.take()) == QUESTIONS_MAX
    assert [one.key for one in queue.take()] == [QUESTIONS_MAX]


def call_all(answers: list[Callable[[], None]]) -> None:
    for answer in answers:
        answer()


def test_markers_say_who_decided_what_and_each_order_gets_its_own_results() -> None:
    got: list[Any] = []
    commit = MarkerOrder("a", 1, 5, True, frozenset({("t", 0), ("t", 1)}), 2)
    abort = MarkerOrder("b", 2, 6, False, frozenset({("t", 0)}))
    questions = [MarkerQuestion(one, 9, one.partitions, got.append) for one in (commit, abort)]
    request = MarkerDialect().request(questions)
    again = decode(WriteTxnMarkersRequest, 2, encode(request, 2))[0]
    assert [
        (one.producer_id, one.producer_epoch, one.transaction_result, one.coordinator_epoch, one.transaction_version)
        for one in again.markers
    ] == [(1, 5, True, 9, 2), (2, 6, False, 9, 0)]
    assert [one.topics[0].partition_indexes for one in again.markers] == [[0, 1], [0]]
    fenced = MarkerTopic("t", [MarkerPartition(0, ErrorCode.TRANSACTION_COORDINATOR_FENCED)])
    written = MarkerTopic("t", [MarkerPartition(0, ErrorCode.NONE)])
    response = WriteTxnMarkersResponse([MarkerResult(2, [fenced]), MarkerResult(1, [written])])
    call_all(MarkerDialect().answers(questions, response))
    assert got == [
        {("t", 0): ErrorCode.NONE, ("t", 1): ErrorCode.UNKNOWN_SERVER_ERROR},
        {("t", 0): ErrorCode.TRANSACTION_COORDINATOR_FENCED},
    ]


def test_no_answer_fails_every_partition() -> None:
    got: list[Any] = []
    order = MarkerOrder("a", 1, 5, True, frozenset({("t", 0), ("u", 1)}))
    MarkerQuestion(order, 9, order.partitions, got.append).failed(ErrorCode.NETWORK_EXCEPTION)
    assert got == [{("t", 0): ErrorCode.NETWORK_EXCEPTION, ("u", 1): ErrorCode.NETWORK_EXCEPTION}]


def test_membership_is_asked_for_several_transactions_at_once() -> None:
    got: dict[str, Any] = {}
    partitions = frozenset({("t", 0), ("t", 3)})
    questions = [
        MembershipQuestion(name, number, 7, name == "b", partitions, partial(got.__setitem__, name))
        for number, name in enumerate("ab")
    ]
    request = MembershipDialect().request(questions)
    assert [(one.transactional_id, one.producer_id, one.verify_only) for one in request.transactions] == [
        ("a", 0, False),
        ("b", 1, True),
    ]
    abortable = AddedTopic("t", [AddedPartition(0, ErrorCode.TRANSACTION_ABORTABLE), AddedPartition(3, 0)])
    added = AddedTopic("t", [AddedPartition(0, 0), AddedPartition(3, 0)])
    answer = AddPartitionsToTxnResponse(
        results_by_transaction=[AddedResult("b", [abortable]), AddedResult("a", [added])]
    )
    call_all(MembershipDialect().answers(questions, answer))
    assert got == {
        "a": dict.fromkeys(partitions, ErrorCode.NONE),
        "b": {("t", 0): ErrorCode.TRANSACTION_ABORTABLE, ("t", 3): ErrorCode.NONE},
    }


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (ErrorCode.CLUSTER_AUTHORIZATION_FAILED, ErrorCode.INVALID_TXN_STATE),
        (ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.COORDINATOR_NOT_AVAILABLE),
    ],
)
def test_error_of_the_whole_answer_is_that_of_each_transaction(error: ErrorCode, expected: ErrorCode) -> None:
    got: list[Any] = []
    question = MembershipQuestion("a", 1, 0, True, frozenset({("t", 0)}), got.append)
    call_all(MembershipDialect().answers([question], AddPartitionsToTxnResponse(error_code=error)))
    assert got == [expected]
