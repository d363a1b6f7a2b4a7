"""A connection to another node that answers, hangs, closes, or does not speak Kafka's protocol."""

import asyncio

import pytest

from odradek.broker.network.node_client import NodeClient, NodeSilentError, NodeUnavailableError
from odradek.broker.network.node_connection import MAX_RESPONSE_BYTES
from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.messages.quorum import (
    AllocateProducerIdsRequest,
    AllocateProducerIdsResponse,
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
)
from odradek.protocol.messages.structure import Message
from support.brokers.fake_node import SERVED, Answer, FakeNode

TIMEOUT_S = 60.0
IDS = AllocateProducerIdsRequest(7, 1)
HTTP = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"
TLS_ALERT = b"\x15\x03\x03\x00\x02\x02\x46"


def block(request: Message) -> Answer:
    return AllocateProducerIdsResponse(producer_id_start=5_000, producer_id_len=1_000)


async def ask(node: FakeNode, client: NodeClient | None = None, timeout_s: float = TIMEOUT_S) -> int:
    client = client or NodeClient(node.host, node.port, "test")
    return (await client.send(IDS, AllocateProducerIdsResponse, timeout_s)).producer_id_start


async def test_one_connection_serves_many_requests() -> None:
    async with FakeNode(block) as node:
        client = NodeClient("127.0.0.1", node.port, "test")
        for _ in range(3):
            assert await ask(node, client) == 5_000
        assert node.connections == 1
        assert client.versions[ApiKey.ENVELOPE] == (0, 0)
        client.close()


async def test_highest_version_of_both_is_sent_and_a_missing_one_is_an_error() -> None:
    versions = {**SERVED, ApiKey.BROKER_REGISTRATION: (0, 2), ApiKey.ALLOCATE_PRODUCER_IDS: (9, 9)}
    async with FakeNode(lambda _: BrokerRegistrationResponse(broker_epoch=3), versions) as node:
        client = NodeClient("127.0.0.1", node.port, "test")
        request = BrokerRegistrationRequest(7, rack="r", log_dirs=[bytes(16)], previous_broker_epoch=12)
        assert (await client.send(request, BrokerRegistrationResponse, TIMEOUT_S)).broker_epoch == 3
        (received,) = node.received
        assert isinstance(received, BrokerRegistrationRequest)
        assert (received.log_dirs, received.previous_broker_epoch) == ([bytes(16)], -1), (
            "version 2 has directories only"
        )
        with pytest.raises(NodeUnavailableError, match="supports no version of AllocateProducerIds"):
            await client.send(IDS, AllocateProducerIdsResponse, TIMEOUT_S)
        client.close()


async def test_request_without_an_answer_ends_and_the_next_one_has_a_new_connection() -> None:
    answers: list[Answer] = [None, block(IDS)]
    async with FakeNode(lambda _: answers.pop(0)) as node:
        client = NodeClient("127.0.0.1", node.port, "test")
        await client.connect(TIMEOUT_S)
        with pytest.raises(NodeUnavailableError, match=r"did not answer within 0\.2 s"):
            await ask(node, client, 0.2)
        assert await ask(node, client) == 5_000
        assert node.connections == 2
        client.close()


async def at_once(
    client: NodeClient, timeout_s: float = TIMEOUT_S
) -> AllocateProducerIdsResponse | NodeUnavailableError:
    """Sends a request without a task; returns the outcome."""
    outcome: asyncio.Future[AllocateProducerIdsResponse | NodeUnavailableError] = asyncio.Future()
    client.send_at_once(IDS, AllocateProducerIdsResponse, timeout_s, outcome.set_result)
    return await outcome


async def test_requests_without_a_task_get_the_same_answers_and_errors() -> None:
    answers: list[Answer] = [block(IDS), block(IDS), None, HTTP]
    async with FakeNode(lambda _: answers.pop(0)) as node:
        client = NodeClient("127.0.0.1", node.port, "test")
        assert not client.is_ready
        await client.connect(TIMEOUT_S)
        for _ in range(2):
            assert await at_once(client) == block(IDS)
        assert node.connections == 1
        silent = await at_once(client, 0.2)
        assert isinstance(silent, NodeSilentError)
        assert str(silent).endswith("did not answer within 0.2 s")
        assert not client.is_ready
        await client.connect(TIMEOUT_S)
        assert "sent no answer of Kafka's protocol" in str(await at_once(client))
        assert not client.is_ready


async def test_close_drops_a_request_without_a_task() -> None:
    reached = asyncio.Event()

    def hang(_: Message) -> Answer:
        reached.set()
        return None

    async with FakeNode(hang) as node:
        client = NodeClient("127.0.0.1", node.port, "test")
        await client.connect(TIMEOUT_S)
        outcomes: list[object] = []
        client.send_at_once(IDS, AllocateProducerIdsResponse, TIMEOUT_S, outcomes.append)
        await reached.wait()
        client.close()
        await client.connect(TIMEOUT_S)  # by then the first connection is lost
        assert client.is_ready
        assert outcomes == []
        client.close()


async def test_request_that_is_cancelled_leaves_no_connection_with_its_answer() -> None:
    answers: list[Answer] = [None, block(IDS)]
    reached = asyncio.Event()

    def answer(_: Message) -> Answer:
        reached.set()
        return answers.pop(0)

    async with FakeNode(answer) as node:
        client = NodeClient("127.0.0.1", node.port, "test")
        asking = asyncio.create_task(ask(node, client))
        await reached.wait()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        assert await ask(node, client) == 5_000
        assert node.connections == 2
        client.close()


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (HTTP, "no answer of Kafka's protocol.*bytes was announced"),
        (TLS_ALERT, "no answer of Kafka's protocol.*bytes was announced"),
        ((MAX_RESPONSE_BYTES + 1).to_bytes(4, "big"), "more than 67108864 bytes was announced"),
        (b"\xff\xff\xff\xff", "bytes was announced"),
        (bytes(4), "a response of 0 bytes"),
        (b"", "bytes"),
        (MAX_RESPONSE_BYTES.to_bytes(4, "big") + bytes(9), "bytes"),
        (b"\x00\x00\x00\x20" + bytes(32), "got the answer to 0"),
        (b"\x00\x00\x00\x06" + b"\x00\x00\x00\x02\x00\x00", "no answer of Kafka's protocol"),
    ],
    ids=["http", "tls", "huge", "negative", "empty", "closed", "cut", "another's", "garbage"],
)
async def test_what_is_no_answer_closes_the_connection(answer: bytes, problem: str) -> None:
    answers: list[Answer] = [answer, block(IDS)]
    async with FakeNode(lambda _: answers.pop(0)) as node:
        client = NodeClient("127.0.0.1", node.port, "test")
        with pytest.raises(NodeUnavailableError, match=problem):
            await ask(node, client)
        assert await ask(node, client) == 5_000
        client.close()


@pytest.mark.parametrize("banner", [HTTP, TLS_ALERT, b"SSH-2.0-OpenSSH_9.6\r\n"])
async def test_server_of_another_protocol_is_named(banner: bytes) -> None:
    async def serve(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(banner)

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    client = NodeClient("127.0.0.1", port, "test")
    with pytest.raises(NodeUnavailableError, match=f"127.0.0.1:{port} sent no answer of Kafka's protocol"):
        await client.connect(TIMEOUT_S)
    server.close()


async def test_port_that_nobody_listens_on_is_an_error() -> None:
    async with FakeNode(block) as node:
        pass
    with pytest.raises(NodeUnavailableError, match=f"127.0.0.1:{node.port}"):
        await ask(node)
