"""Questions to share coordinators on other brokers, over real connections."""

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from odradek.broker.metadata.image.image import BrokerRegistration, Endpoint, MetadataImage
from odradek.broker.network.node_client import PLAINTEXT
from odradek.broker.share_state.operations import InitializeOperation, Operation, ReadOperation, StateOutcome
from odradek.broker.share_state.persister import ReadState
from odradek.broker.share_state.remote import ShareStatePeers, StateQuestion
from odradek.protocol.apis.api_keys import ApiKey, api
from odradek.protocol.errors import ErrorCode
from odradek.protocol.internal_records.share_partition_key import SharePartitionKey
from odradek.protocol.messages.structure import Message
from support.brokers.fake_node import FakeNode
from support.groups.harness import image_with_topics

from .harness import KEY, ShareHarness
from .test_remote import HANDLERS, served

HERE, THERE = 1, 2
SERVED: Mapping[int, tuple[int, int]] = {
    key: api(key).request_class().VERSIONS for key in (ApiKey.API_VERSIONS, *map(ApiKey, HANDLERS))
}


def image_of(port: int) -> MetadataImage:
    image = image_with_topics({})
    endpoints = {"PLAINTEXT": Endpoint("PLAINTEXT", "127.0.0.1", port)}
    image.brokers[THERE] = BrokerRegistration(THERE, 0, bytes(16), endpoints, {}, None, False, False, ())
    return image


class Questions:
    """Questions to the other broker, and their outcomes in the order of arrival."""

    def __init__(self, port: int, timeout_ms: int = 60_000) -> None:
        image = image_of(port)
        self.peers = ShareStatePeers(HERE, "PLAINTEXT", timeout_ms, lambda: image, PLAINTEXT)
        self.outcomes: asyncio.Queue[StateOutcome] = asyncio.Queue()

    def ask(self, operation: Operation, key: SharePartitionKey = KEY) -> None:
        self.peers.ask(THERE, StateQuestion(key, operation, self.outcomes.put_nowait))

    async def next(self) -> StateOutcome:
        async with asyncio.timeout(60):
            return await self.outcomes.get()


async def test_another_broker_is_asked() -> None:
    there = ShareHarness()
    requests: list[Message] = []

    def answered(request: Message) -> Any:
        requests.append(request)
        return served(there, request)

    async with FakeNode(answered, SERVED) as node:
        questions = Questions(node.port)
        keys = [KEY._replace(partition=index) for index in range(4)]
        for key in keys:
            questions.ask(InitializeOperation(1, 7), key)
        questions.ask(ReadOperation(3))
        outcomes = [await questions.next() for _ in range(5)]
        questions.peers.close()
    assert [outcome.error for outcome in outcomes] == [ErrorCode.NONE] * 5
    assert outcomes[4].state == ReadState(1, 7, ())
    assert len(requests) < 5, "questions that waited were sent together"


async def test_a_broker_that_does_not_serve_share_groups() -> None:
    async with FakeNode(lambda _: None, {ApiKey.API_VERSIONS: SERVED[ApiKey.API_VERSIONS]}) as node:
        questions = Questions(node.port)
        questions.ask(ReadOperation(0))
        assert (await questions.next()).error == ErrorCode.NETWORK_EXCEPTION
        questions.peers.close()


@pytest.mark.parametrize("answer", [b"", None], ids=["closes", "is silent"])
async def test_a_broker_that_fails(answer: bytes | None) -> None:
    async with FakeNode(lambda _: answer, SERVED) as node:
        questions = Questions(node.port, 200)
        questions.ask(ReadOperation(0))
        assert (await questions.next()).error == ErrorCode.NETWORK_EXCEPTION
        questions.peers.close()
