"""Questions to other brokers: one request for those of a share group and an API, and the outcome of each."""

from functools import partial
from typing import Any

import pytest

from odradek.broker.api import (
    delete_share_group_state,
    initialize_share_group_state,
    read_share_group_state,
    read_share_group_state_summary,
    write_share_group_state,
)
from odradek.broker.coordinator.request_queue import RequestQueue
from odradek.broker.dispatch.read_only import ReadOnlyMode
from odradek.broker.dispatch.request import RequestContext
from odradek.broker.share_state.operations import (
    DeleteOperation,
    InitializeOperation,
    Operation,
    ReadOperation,
    StateOutcome,
    SummarizeOperation,
    WriteOperation,
)
from odradek.broker.share_state.remote import StateDialect, StateQuestion
from odradek.protocol.apis.api_keys import ApiKey, api
from odradek.protocol.codec import decode, encode
from odradek.protocol.errors import ErrorCode
from odradek.protocol.internal_records.share_batches import StateBatch
from odradek.protocol.internal_records.share_partition_key import SharePartitionKey
from odradek.protocol.messages.structure import Message
from odradek.storage.files.files import Files
from support.brokers.parts import PartialBroker

from .harness import KEY, TOPIC, ShareHarness

HANDLERS: dict[int, Any] = {
    module.API_KEY: module.handle
    for module in (
        initialize_share_group_state,
        read_share_group_state,
        write_share_group_state,
        delete_share_group_state,
        read_share_group_state_summary,
    )
}
OPERATIONS: list[Operation] = [
    InitializeOperation(2, 7),
    WriteOperation(2, 0, 8, 1, (StateBatch(9, 9, 2, 1), StateBatch(10, 12, 0, 3))),
    ReadOperation(3),
    ReadOperation(2),
    SummarizeOperation(-1),
    WriteOperation(1, 3, 8, 1, ()),
    DeleteOperation(),
    ReadOperation(3),
]
KEYS = [KEY, KEY._replace(partition=3), KEY._replace(topic_id=b"u" * 16), KEY._replace(partition=-1)]


def served(harness: ShareHarness, request: Message) -> Any:
    """The answer of the handler, through the bytes of both messages."""
    key = ApiKey(request.API_KEY)
    version = request.VERSIONS[1]
    received, _ = decode(type(request), version, encode(request, version))
    context = RequestContext(key, version, "c", "127.0.0.1", "PLAINTEXT", 0, harness.timers.now_ms)
    answers: list[Message] = []
    broker = PartialBroker(share_coordinator=harness.coordinator)
    for _ in HANDLERS[key](broker, received, context, answers.append):
        pass
    [answer] = answers
    return decode(api(key).response_class(), version, encode(answer, version))[0]


@pytest.mark.parametrize("keys", [KEYS, KEYS[:1]])
def test_a_question_to_another_broker_has_the_outcome_of_one_here(keys: list[SharePartitionKey]) -> None:
    there, here = ShareHarness(), ShareHarness()
    dialect = StateDialect()
    for operation in OPERATIONS:
        outcomes: dict[SharePartitionKey, StateOutcome] = {}
        questions = [StateQuestion(key, operation, partial(outcomes.__setitem__, key)) for key in keys]
        for deliver in dialect.answers(questions, served(there, dialect.request(questions))):
            deliver()
        assert outcomes == {key: here.ask(operation, key) for key in keys}, operation
    assert there.records() == here.records()


def test_a_request_has_one_group_and_one_operation() -> None:
    dialect = StateDialect()
    queue: RequestQueue[StateQuestion] = RequestQueue(dialect.together)
    other = KEY._replace(group_id="h")
    asked: list[tuple[SharePartitionKey, Operation]] = [
        (KEY, ReadOperation(1)),
        (other, ReadOperation(2)),
        (KEY, DeleteOperation()),
        (KEY._replace(partition=1), ReadOperation(3)),
        (KEY, ReadOperation(4)),
    ]
    for key, operation in asked:
        queue.put(StateQuestion(key, operation, lambda _: None))
    taken = []
    while queue:
        taken.append([(one.share_partition, one.operation) for one in queue.take()])
    assert taken == [[asked[0], asked[3]], [asked[1]], [asked[2]], [asked[4]]]


def test_an_answer_that_lacks_the_share_partition() -> None:
    outcomes: list[StateOutcome] = []
    question = StateQuestion(KEY, ReadOperation(0), outcomes.append)
    [deliver] = StateDialect().answers([question], api(ApiKey.READ_SHARE_GROUP_STATE).response_class()())
    deliver()
    question.failed(ErrorCode.NETWORK_EXCEPTION)
    assert [outcome.error for outcome in outcomes] == [ErrorCode.UNKNOWN_SERVER_ERROR, ErrorCode.NETWORK_EXCEPTION]


def test_requests_without_partitions_or_group() -> None:
    harness = ShareHarness()
    request = api(ApiKey.DELETE_SHARE_GROUP_STATE).request_class()
    topic: Any = request.DeleteStateData
    partition: Any = request.PartitionData
    assert served(harness, request("g")).results == []
    assert served(harness, request("", [topic(TOPIC, [partition(0)])])).results == []
    answer = served(harness, request("g", [topic(TOPIC, []), topic(TOPIC, [partition(0)])]))
    assert [(result.topic_id, len(result.partitions)) for result in answer.results] == [(TOPIC, 1)]


def test_two_writes_of_a_partition_in_one_request_are_both_stored() -> None:
    harness = ShareHarness()
    harness.ask(InitializeOperation(0, -1))
    request: Any = api(ApiKey.WRITE_SHARE_GROUP_STATE).request_class()
    entries = [
        request.PartitionData(0, epoch, 0, -1, 0, [request.StateBatch(n, n, 2, 1)]) for n, epoch in ((1, 0), (5, 0))
    ]
    answer = served(harness, request("g", [request.WriteStateData(TOPIC, entries)]))
    assert [(one.partition, one.error_code) for one in answer.results[0].partitions] == [(0, 0)]
    state: Any = harness.ask(ReadOperation(0)).state
    assert state.batches == (StateBatch(1, 1, 2, 1), StateBatch(5, 5, 2, 1))
    entries[0].state_epoch = -1
    answer = served(harness, request("g", [request.WriteStateData(TOPIC, entries)]))
    assert answer.results[0].partitions[0].error_code == ErrorCode.INVALID_REQUEST, "an error is not hidden"


@pytest.mark.parametrize("operation", [InitializeOperation(0, 0), OPERATIONS[1], DeleteOperation()])
def test_a_read_only_broker_refuses_changes(operation: Operation) -> None:
    dialect = StateDialect()
    outcomes: list[StateOutcome] = []
    questions = [StateQuestion(KEY, operation, outcomes.append)]
    request = dialect.request(questions)
    key = ApiKey(request.API_KEY)
    context = RequestContext(key, request.VERSIONS[1], "c", "127.0.0.1", "PLAINTEXT", 0, 0)
    handler = ReadOnlyMode(lambda _: Files(), "read only").handlers()[key]
    answers: list[Any] = []
    handler(PartialBroker(), request, context, answers.append)
    [deliver] = dialect.answers(questions, answers[0])
    deliver()
    assert [outcome.error for outcome in outcomes] == [ErrorCode.POLICY_VIOLATION]
