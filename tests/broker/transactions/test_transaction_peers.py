"""A coordinator sends markers and queries to other brokers. A broker that is away is a network error."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from odradek.broker.metadata.image.image import BrokerRegistration, Endpoint, MetadataImage
from odradek.broker.transactions.effects import MarkerOrder
from odradek.broker.transactions.peers import TransactionPeers
from odradek.broker.transactions.remote_markers import MarkerQuestion
from odradek.broker.transactions.remote_membership import MembershipQuestion
from odradek.protocol.apis.api_keys import ApiKey, api
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.structure import Message
from odradek.protocol.messages.topics import CreateTopicsRequest
from odradek.protocol.messages.transactions import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from odradek.protocol.names.topics import TRANSACTION_STATE_TOPIC
from support.brokers.fake_node import Answer, FakeNode
from support.brokers.metadata_images import controller, create, started

HERE, THERE = 1, 2
TIMEOUT_MS = 60_000
SERVED: Mapping[int, tuple[int, int]] = {
    key: api(key).request_class().VERSIONS
    for key in (ApiKey.API_VERSIONS, ApiKey.WRITE_TXN_MARKERS, ApiKey.ADD_PARTITIONS_TO_TXN)
}
Errors = dict[tuple[str, int], ErrorCode]


class Cluster:
    """The metadata of two brokers; broker 2 listens on ``port``. Partition 0 of ``t`` is led here, 1 there."""

    def __init__(self, port: int) -> None:
        self.core = controller()
        self.image: MetadataImage = started(self.core, THERE)
        topics = {"t": [[HERE], [THERE]], TRANSACTION_STATE_TOPIC: [[THERE]]}
        for name, replicas in topics.items():
            assigned = [
                CreateTopicsRequest.CreatableReplicaAssignment(index, one) for index, one in enumerate(replicas)
            ]
            [result] = create(self.image, self.core, CreateTopicsRequest.CreatableTopic(name, -1, -1, assigned))
            assert not result.error_code
        self.listens_on(port)

    def listens_on(self, port: int, *, fenced: bool = False) -> None:
        before: BrokerRegistration = self.image.brokers[THERE]
        endpoint = Endpoint("PLAINTEXT", "127.0.0.1", port)
        changed = before._replace(endpoints={"PLAINTEXT": endpoint}, fenced=fenced)
        self.image.brokers = {**self.image.brokers, THERE: changed}

    def peers(self, timeout_ms: int = TIMEOUT_MS) -> TransactionPeers:
        return TransactionPeers(HERE, "PLAINTEXT", timeout_ms, lambda: self.image)


def marker(producer_id: int, done: Callable[[Any], None], *partitions: tuple[str, int]) -> MarkerQuestion:
    order = MarkerOrder("tx", producer_id, 3, True, frozenset(partitions), 2)
    return MarkerQuestion(order, 4, frozenset(partitions), done)


def answered(request: Message) -> Answer:
    """A successful answer to every query."""
    if isinstance(request, AddPartitionsToTxnRequest):
        kind = AddPartitionsToTxnResponse
        return kind(
            results_by_transaction=[
                kind.AddPartitionsToTxnResult(
                    one.transactional_id,
                    [
                        kind.AddPartitionsToTxnTopicResult(
                            topic.name, [kind.AddPartitionsToTxnPartitionResult(index, 0) for index in topic.partitions]
                        )
                        for topic in one.topics
                    ],
                )
                for one in request.transactions
            ]
        )
    assert isinstance(request, WriteTxnMarkersRequest)
    return WriteTxnMarkersResponse(
        [
            WriteTxnMarkersResponse.WritableTxnMarkerResult(
                one.producer_id,
                [
                    WriteTxnMarkersResponse.WritableTxnMarkerTopicResult(
                        topic.name,
                        [
                            WriteTxnMarkersResponse.WritableTxnMarkerPartitionResult(index, 0)
                            for index in topic.partition_indexes
                        ],
                    )
                    for topic in one.topics
                ],
            )
            for one in request.markers
        ]
    )


class Answers(asyncio.Queue[Errors]):
    """The outcomes of queries, in the order of arrival."""

    async def next(self) -> Errors:
        async with asyncio.timeout(60):
            return await self.get()


def test_leaders_and_coordinators_are_those_of_the_metadata() -> None:
    cluster = Cluster(1)
    peers = cluster.peers()
    assert [peers.leader_of("t", index) for index in (0, 1, 2)] == [HERE, THERE, None]
    assert peers.leader_of("none", 0) is None
    assert peers.coordinator_of("any id") == THERE
    del cluster.image.topics_by_name[TRANSACTION_STATE_TOPIC]
    assert peers.coordinator_of("any id") == -1


async def test_markers_and_membership_have_a_connection_each() -> None:
    async with FakeNode(answered, SERVED) as node:
        peers = Cluster(node.port).peers()
        answers: Answers = Answers()
        for producer_id in (7, 8):
            peers.write_markers(THERE, marker(producer_id, answers.put_nowait, ("t", 1)))
        peers.ask_membership(
            THERE,
            MembershipQuestion("tx", 7, 3, False, frozenset({("t", 1)}), answers.put_nowait),  # type: ignore[arg-type]
        )
        assert [await answers.next() for _ in range(3)] == [{("t", 1): ErrorCode.NONE}] * 3
        assert node.connections == 2
        markers = [
            one for request in node.received if isinstance(request, WriteTxnMarkersRequest) for one in request.markers
        ]
        sent = [
            (one.producer_id, one.producer_epoch, one.coordinator_epoch, one.transaction_version) for one in markers
        ]
        assert sent == [(7, 3, 4, 2), (8, 3, 4, 2)]
        peers.close()


async def test_questions_that_come_during_a_request_share_the_next_one() -> None:
    """One request is in flight at a time. The next one is sent as soon as that is answered."""
    peers: TransactionPeers
    answers: Answers = Answers()

    def answer(request: Message) -> Answer:
        assert isinstance(request, WriteTxnMarkersRequest)
        if request.markers[0].producer_id == 1:
            for producer_id in (2, 3, 4):
                peers.write_markers(THERE, marker(producer_id, answers.put_nowait, ("t", 1)))
        return answered(request)

    async with FakeNode(answer, SERVED) as node:
        peers = Cluster(node.port).peers()
        peers.write_markers(THERE, marker(1, answers.put_nowait, ("t", 1)))
        for _ in range(4):
            assert await answers.next() == {("t", 1): ErrorCode.NONE}
        asked = [request for request in node.received if isinstance(request, WriteTxnMarkersRequest)]
        assert [[one.producer_id for one in request.markers] for request in asked] == [[1], [2, 3, 4]]
        peers.close()


async def test_broken_connection_and_fenced_broker_are_network_errors_and_the_next_question_gets_through() -> None:
    breaks = [True]
    async with FakeNode(lambda request: b"" if breaks and breaks.pop() else answered(request), SERVED) as node:
        cluster = Cluster(node.port)
        peers = cluster.peers()
        answers: Answers = Answers()
        question = marker(7, answers.put_nowait, ("t", 1))
        peers.write_markers(THERE, question)
        assert await answers.next() == {("t", 1): ErrorCode.NETWORK_EXCEPTION}
        cluster.listens_on(node.port, fenced=True)
        peers.write_markers(THERE, question)
        assert await answers.next() == {("t", 1): ErrorCode.NETWORK_EXCEPTION}
        assert len(node.received) == 1, "a fenced broker is asked nothing"
        cluster.listens_on(node.port)
        peers.write_markers(THERE, question)
        assert await answers.next() == {("t", 1): ErrorCode.NONE}
        peers.close()


async def test_broker_that_comes_back_at_another_port_is_asked_there() -> None:
    async with FakeNode(answered, SERVED) as before, FakeNode(answered, SERVED) as after:
        cluster = Cluster(before.port)
        peers = cluster.peers()
        answers: Answers = Answers()
        for port in (before.port, after.port):
            cluster.listens_on(port)
            peers.write_markers(THERE, marker(7, answers.put_nowait, ("t", 1)))
            assert await answers.next() == {("t", 1): ErrorCode.NONE}
        assert (len(before.received), len(after.received)) == (1, 1)
        peers.close()


async def test_broker_that_does_not_answer_in_time_is_a_network_error() -> None:
    async with FakeNode(lambda _: None, SERVED) as node:
        peers = Cluster(node.port).peers(timeout_ms=50)
        answers: Answers = Answers()
        peers.write_markers(THERE, marker(7, answers.put_nowait, ("t", 1)))
        assert await answers.next() == {("t", 1): ErrorCode.NETWORK_EXCEPTION}
        peers.close()


async def test_broker_without_the_api_is_a_network_error() -> None:
    """As in Kafka, nothing is sent to a broker that does not announce WriteTxnMarkers. The coordinator tries again."""
    async with FakeNode(answered, {ApiKey.API_VERSIONS: SERVED[ApiKey.API_VERSIONS]}) as node:
        peers = Cluster(node.port).peers()
        answers: Answers = Answers()
        peers.write_markers(THERE, marker(7, answers.put_nowait, ("t", 1)))
        assert await answers.next() == {("t", 1): ErrorCode.NETWORK_EXCEPTION}
        assert node.received == []
        peers.close()


async def test_error_of_a_newer_kafka_is_an_unknown_error() -> None:
    """The error code is not in Kafka 4.3. The query is answered, and the connection stays open."""
    codes = [0, 9_999]

    def answer(request: Message) -> Answer:
        response = answered(request)
        assert isinstance(response, WriteTxnMarkersResponse)
        response.markers[0].topics[0].partitions[0].error_code = codes.pop()
        return response

    async with FakeNode(answer, SERVED) as node:
        peers = Cluster(node.port).peers()
        answers: Answers = Answers()
        for expected in (ErrorCode.UNKNOWN_SERVER_ERROR, ErrorCode.NONE):
            peers.write_markers(THERE, marker(7, answers.put_nowait, ("t", 1)))
            assert await answers.next() == {("t", 1): expected}
        assert node.connections == 1
        peers.close()


async def test_bug_while_asking_is_an_unknown_error_and_the_next_question_gets_through(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """All queries of the request are answered with an error, so their markers are sent again."""
    bugs = [KeyError("a bug")]
    async with FakeNode(answered, SERVED) as node:
        cluster = Cluster(node.port)

        def image() -> MetadataImage:
            if bugs:
                raise bugs.pop()
            return cluster.image

        peers = TransactionPeers(HERE, "PLAINTEXT", TIMEOUT_MS, image)
        answers: Answers = Answers()
        for producer_id in (7, 8):
            peers.write_markers(THERE, marker(producer_id, answers.put_nowait, ("t", 1)))
        assert [await answers.next() for _ in range(2)] == [{("t", 1): ErrorCode.UNKNOWN_SERVER_ERROR}] * 2
        assert "coordinator-peers: 2 requests to another broker failed" in caplog.text
        peers.write_markers(THERE, marker(7, answers.put_nowait, ("t", 1)))
        assert await answers.next() == {("t", 1): ErrorCode.NONE}
        peers.close()


async def test_question_whose_answer_fails_here_keeps_no_other_from_its_answer(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fail(_: Errors) -> None:
        raise RuntimeError("a bug")

    async with FakeNode(answered, SERVED) as node:
        peers = Cluster(node.port).peers()
        answers: Answers = Answers()
        for producer_id, done in ((7, fail), (8, answers.put_nowait)):
            peers.write_markers(THERE, marker(producer_id, done, ("t", 1)))
        assert await answers.next() == {("t", 1): ErrorCode.NONE}
        assert "failed: RuntimeError('a bug')" in caplog.text
        peers.write_markers(THERE, marker(9, answers.put_nowait, ("t", 1)))
        assert await answers.next() == {("t", 1): ErrorCode.NONE}
        peers.close()


async def test_broker_whose_host_is_no_name_is_a_network_error() -> None:
    """Controllers register any text: an empty label is refused by IDNA, not by the resolver."""
    cluster = Cluster(1)
    endpoint = Endpoint("PLAINTEXT", "a..b", 9092)
    cluster.image.brokers[THERE] = cluster.image.brokers[THERE]._replace(endpoints={"PLAINTEXT": endpoint})
    peers = cluster.peers()
    answers: Answers = Answers()
    peers.write_markers(THERE, marker(7, answers.put_nowait, ("t", 1)))
    assert await answers.next() == {("t", 1): ErrorCode.NETWORK_EXCEPTION}
    peers.close()
