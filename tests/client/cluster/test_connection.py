"""A connection to scripted brokers: versions, matching of answers, timeouts, and servers that are not Kafka."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from odradek.client.cluster.cluster import Cluster
from odradek.client.cluster.connection import BrokerConnection, address_of, parse_address
from odradek.client.errors import (
    BrokerConnectionError,
    ConfigurationError,
    NoBrokersAvailableError,
    RequestTimedOutError,
    UnsupportedVersionError,
)
from odradek.protocol.codec import decode
from odradek.protocol.codec.header import decode_request_header, encode_response_parts
from odradek.protocol.messages.fetch import FetchRequest, FetchResponse
from odradek.protocol.messages.metadata import (
    ApiVersionsRequest,
    ApiVersionsResponse,
    DescribeClusterRequest,
    DescribeClusterResponse,
    MetadataRequest,
    MetadataResponse,
)
from odradek.protocol.messages.structure import Message

Answer = Callable[[int, int, int, memoryview], Awaitable[list[bytes | memoryview] | None]]
"""(api key, version, correlation id, body) -> the parts of the response frame, None for silence."""


def versions(**highest: int) -> ApiVersionsResponse:
    """ApiVersions, Metadata and DescribeCluster from version 0 to the given versions."""
    keys = {"api_versions": ApiVersionsRequest.API_KEY, "metadata": MetadataRequest.API_KEY}
    return ApiVersionsResponse(
        api_keys=[ApiVersionsResponse.ApiVersion(keys[name], 0, version) for name, version in highest.items()]
    )


def frame(message: Message, version: int, correlation_id: int) -> list[bytes | memoryview]:
    return list(encode_response_parts(message, version, correlation_id))


@asynccontextmanager
async def scripted(answer: Answer) -> AsyncIterator[int]:
    """A server that answers each frame with ``answer``; yields its port."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                data = await reader.readexactly(int.from_bytes(await reader.readexactly(4), "big"))
                header, position = decode_request_header(data)
                body = memoryview(data)[position:]
                parts = await answer(header.request_api_key, header.request_api_version, header.correlation_id, body)
                for part in parts or ():
                    writer.write(part)
        except asyncio.IncompleteReadError:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


async def kafka_like(api_key: int, version: int, correlation_id: int, body: memoryview) -> list[bytes | memoryview]:
    if api_key == ApiVersionsRequest.API_KEY:
        return frame(versions(api_versions=4, metadata=13), version, correlation_id)
    request, _ = decode(MetadataRequest, version, body)
    names = [topic.name for topic in request.topics or []]
    response = MetadataResponse(topics=[MetadataResponse.MetadataResponseTopic(name=name) for name in names])
    return frame(response, version, correlation_id)


async def test_pipelined_requests_get_their_own_answers() -> None:
    async with scripted(kafka_like) as port:
        connection = await BrokerConnection.open("127.0.0.1", port)
        futures = [
            connection.send(
                MetadataRequest(topics=[MetadataRequest.MetadataRequestTopic(name=f"t{number}")]), MetadataResponse
            )
            for number in range(50)
        ]
        answers = await asyncio.gather(*futures)
        assert [answer.topics[0].name for answer in answers] == [f"t{number}" for number in range(50)]
        connection.close()


async def test_large_and_small_answers_keep_their_bytes_while_more_arrive() -> None:
    """Records of a response are views of what was received, so each response needs memory of its own."""
    sizes = [5, 100_000, 3_000_000, 0, 70_000, 5_000_000, 1]

    async def answer(api_key: int, version: int, correlation_id: int, body: memoryview) -> list[bytes | memoryview]:
        if api_key == ApiVersionsRequest.API_KEY:
            answered = versions(api_versions=4)
            answered.api_keys.append(ApiVersionsResponse.ApiVersion(FetchRequest.API_KEY, 12, 12))
            return frame(answered, version, correlation_id)
        request, _ = decode(FetchRequest, version, body)
        data = FetchResponse.PartitionData(records=bytes([correlation_id]) * sizes[request.max_wait_ms])
        response = FetchResponse(responses=[FetchResponse.FetchableTopicResponse("t", partitions=[data])])
        return frame(response, version, correlation_id)

    async with scripted(answer) as port:
        connection = await BrokerConnection.open("127.0.0.1", port)
        futures = [connection.send(FetchRequest(max_wait_ms=at), FetchResponse) for at in range(len(sizes))]
        answers = [answer.responses[0].partitions[0].records for answer in await asyncio.gather(*futures)]
        assert [bytes(records or b"") for records in answers] == [
            bytes([1 + at]) * size for at, size in enumerate(sizes)
        ]
        connection.close()


@pytest.mark.parametrize("known", [0, 2, 3])
async def test_a_broker_that_does_not_know_our_api_versions_is_asked_again(known: int) -> None:
    asked: list[int] = []

    async def answer(api_key: int, version: int, correlation_id: int, body: memoryview) -> list[bytes | memoryview]:
        asked.append(version)
        if version > known:
            refusal = versions(api_versions=known)
            refusal.error_code = 35
            # As in KIP-511: the layout of version 0, for any requested version.
            return frame(refusal, 0, correlation_id)
        return frame(versions(api_versions=known, metadata=5), version, correlation_id)

    async with scripted(answer) as port:
        connection = await BrokerConnection.open("127.0.0.1", port)
        assert asked == [ApiVersionsRequest.VERSIONS[1], known]
        assert connection.version_for(MetadataRequest) == 5
        assert connection.version_for(MetadataRequest, 3) == 3
        connection.close()


async def test_an_api_that_the_broker_lacks_is_refused_before_sending() -> None:
    async with scripted(kafka_like) as port:
        connection = await BrokerConnection.open("127.0.0.1", port)
        with pytest.raises(UnsupportedVersionError, match="does not support DescribeCluster"):
            connection.send(DescribeClusterRequest(), DescribeClusterResponse)
        connection.close()


async def test_silence_times_out_and_closes() -> None:
    async def silent(
        api_key: int, version: int, correlation_id: int, body: memoryview
    ) -> list[bytes | memoryview] | None:
        if api_key == ApiVersionsRequest.API_KEY:
            return await kafka_like(api_key, version, correlation_id, body)
        return None

    async with scripted(silent) as port:
        connection = await BrokerConnection.open("127.0.0.1", port)
        slow = connection.send(MetadataRequest(), MetadataResponse, timeout_ms=20)
        behind = connection.send(MetadataRequest(), MetadataResponse, timeout_ms=60_000)
        with pytest.raises(RequestTimedOutError, match=f"127.0.0.1:{port} did not answer Metadata within 20 ms"):
            await slow
        with pytest.raises(RequestTimedOutError):
            await behind
        assert not connection.is_open
        with pytest.raises(RequestTimedOutError):
            await connection.call(MetadataRequest(), MetadataResponse)


async def test_an_answer_to_another_request_ends_the_connection() -> None:
    async def confused(api_key: int, version: int, correlation_id: int, body: memoryview) -> list[bytes | memoryview]:
        return await kafka_like(api_key, version, correlation_id + (api_key != ApiVersionsRequest.API_KEY), body)

    async with scripted(confused) as port:
        connection = await BrokerConnection.open("127.0.0.1", port)
        with pytest.raises(BrokerConnectionError, match="got an answer to"):
            await connection.call(MetadataRequest(topics=[]), MetadataResponse)


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "an HTTP server answers there, not a Kafka broker; check host and port$"),
        (bytes.fromhex("15030300020246"), "requires TLS: .* name a PLAINTEXT listener$"),
        (b"", "is it a Kafka broker"),
    ],
)
async def test_what_is_not_a_kafka_listener_is_said_in_words(sent: bytes, said: str) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(sent)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    try:
        with pytest.raises(BrokerConnectionError, match=said):
            await BrokerConnection.open("127.0.0.1", port)
    finally:
        server.close()


async def test_nobody_there_names_the_addresses_and_what_to_check() -> None:
    cluster = Cluster("127.0.0.1:1,127.0.0.1:2", client_id="test")
    with pytest.raises(NoBrokersAvailableError) as caught:
        await cluster.start()
    message = str(caught.value)
    assert "127.0.0.1:1: Connection refused" in message
    assert "127.0.0.1:2: Connection refused" in message
    assert "Is the broker running" in message
    await cluster.close()


def test_addresses() -> None:
    assert parse_address(" localhost:9092 ") == ("localhost", 9092)
    assert parse_address("[::1]:9092") == ("::1", 9092)
    assert address_of("::1", 9092) == "[::1]:9092"
    for wrong in ("localhost", "localhost:", ":9092", "localhost:99999", "localhost:x", "http://localhost:9092"):
        with pytest.raises(ValueError, match="'"):
            parse_address(wrong)


async def test_no_bootstrap_server_is_a_configuration_error() -> None:
    for wrong in ("", "localhost", ["localhost:1", "x"]):
        with pytest.raises(ConfigurationError, match="bootstrap_servers"):
            Cluster(wrong, client_id=None)
