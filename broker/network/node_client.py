"""A connection that this broker opens to another node: a controller, or another broker.

Shell. Owns: one socket, the versions that the other node announced, one request in flight. Never does: retries,
knowing who leads. Invariants: a request that times out or is cancelled closes the connection, since its answer would
be taken for the next one's; a response is never larger than its limit. Source: Kafka's NetworkClient with
``max.in.flight.requests.per.connection=1``, as InterBrokerSendThread uses it.
"""

import asyncio
import logging
from collections.abc import Coroutine
from typing import TypeVar

from ...protocol.codec import decode
from ...protocol.codec.header import encode_request, response_header_version
from ...protocol.errors import ErrorCode, ProtocolError
from ...protocol.messages.headers import ResponseHeader
from ...protocol.messages.metadata import ApiVersionsRequest, ApiVersionsResponse
from ...protocol.messages.structure import Message
from .node_connection import NodeConnection

Response = TypeVar("Response", bound=Message)
Result = TypeVar("Result")

logger = logging.getLogger(__name__)

HEADER_BYTES = 4
"""Of the shortest header of a response: its correlation id."""
SOFTWARE_NAME, SOFTWARE_VERSION = "odradek", "0.1.0"
ANY_VERSION = 1 << 15


class NodeUnavailableError(Exception):
    """The other node can't be reached, closed the connection, did not answer in time, or lacks a version."""


class NodeSilentError(NodeUnavailableError):
    """The other node did not answer in time: perhaps it hangs."""


class NodeClient:
    """One connection, opened when it is first needed; after an error the next request opens a new one."""

    def __init__(self, host: str, port: int, client_id: str) -> None:
        self.host = host
        self.port = port
        self.versions: dict[int, tuple[int, int]] = {}
        """API key -> lowest and highest version that the node serves; empty before the first connection."""
        self._client_id = client_id
        self._correlation_id = 0
        self._connection: NodeConnection | None = None

    @property
    def address(self) -> str:
        """``host:port``."""
        return f"{self.host}:{self.port}"

    async def send(
        self, request: Message, response_type: type[Response], timeout_s: float, max_version: int = ANY_VERSION
    ) -> Response:
        """Sends one request in the highest version that both know, at most ``max_version``; its response.

        ``timeout_s`` covers the connection too. Raises NodeUnavailableError.
        """

        async def exchange() -> Response:
            if not self._is_open():
                await self._open()
            return await self._exchange(request, self._version(request, max_version), response_type)

        return await self._within(timeout_s, exchange())

    async def connect(self, timeout_s: float) -> None:
        """Opens the connection, if there is none, and learns the node's versions. Raises NodeUnavailableError."""
        if not self._is_open():
            await self._within(timeout_s, self._open())

    def _is_open(self) -> bool:
        """Whether there is a connection that the other node has not reset; uvloop refuses a write to a closed one."""
        if self._connection is not None and not self._connection.is_open:
            self.close()
        return self._connection is not None

    async def _within(self, timeout_s: float, work: Coroutine[None, None, Result]) -> Result:
        """The result of work on the connection, which is closed if that fails. Raises NodeUnavailableError."""
        try:
            async with asyncio.timeout(timeout_s):
                return await work
        except TimeoutError as error:
            self.close()
            raise NodeSilentError(f"{self.address} did not answer within {timeout_s:.1f} s") from error
        except (OSError, EOFError) as error:
            self.close()
            raise NodeUnavailableError(f"{self.address}: {error or type(error).__name__}") from error
        except ProtocolError as error:
            self.close()
            raise NodeUnavailableError(f"{self.address} sent no answer of Kafka's protocol: {error}") from error
        except asyncio.CancelledError:
            self.close()
            raise

    def close(self) -> None:
        """Closes the connection; harmless if there is none."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.abort()

    async def _open(self) -> None:
        """Connects and asks for versions, as Kafka's clients do first."""
        loop = asyncio.get_running_loop()
        _, self._connection = await loop.create_connection(NodeConnection, self.host, self.port)
        request = ApiVersionsRequest(SOFTWARE_NAME, SOFTWARE_VERSION)
        version = ApiVersionsRequest.VERSIONS[1]
        answer = await self._exchange(request, version, ApiVersionsResponse)
        if answer.error_code == ErrorCode.UNSUPPORTED_VERSION:
            known = [one.max_version for one in answer.api_keys if one.api_key == ApiVersionsRequest.API_KEY]
            answer = await self._exchange(request, min(known[0], version) if known else 0, ApiVersionsResponse)
        if answer.error_code:
            raise ProtocolError(f"ApiVersions was answered with error {answer.error_code}")
        self.versions = {one.api_key: (one.min_version, one.max_version) for one in answer.api_keys}

    def _version(self, request: Message, max_version: int) -> int:
        lowest, highest = request.VERSIONS
        theirs = self.versions.get(request.API_KEY)
        if theirs is not None:
            version = min(highest, theirs[1], max_version)
            if version >= max(lowest, theirs[0]):
                return version
        raise NodeUnavailableError(f"{self.address} serves no version of {request.NAME} that this broker knows")

    async def _exchange(self, request: Message, version: int, response_type: type[Response]) -> Response:
        assert self._connection is not None
        self._correlation_id = (self._correlation_id + 1) & 0x7FFFFFFF
        frame = await self._connection.exchange(encode_request(request, version, self._correlation_id, self._client_id))
        if len(frame) < HEADER_BYTES:
            raise ProtocolError(f"a response of {len(frame)} bytes arrived")
        if response_type is ApiVersionsResponse and version and frame[4:6] == _UNSUPPORTED:
            version = 0  # a node that doesn't know our version answers in the layout of version 0 (KIP-511)
        header, position = decode(ResponseHeader, response_header_version(request.API_KEY, version), frame)
        if header.correlation_id != self._correlation_id:
            raise ProtocolError(f"request {self._correlation_id} got the answer to {header.correlation_id}")
        return decode(response_type, version, frame, position)[0]


def client_at(client: NodeClient | None, host: str, port: int, client_id: str) -> NodeClient:
    """The client if that is where it connects to; otherwise it is closed, and a new one takes its place."""
    if client is not None:
        if (client.host, client.port) == (host, port):
            return client
        client.close()
    return NodeClient(host, port, client_id)


_UNSUPPORTED = int(ErrorCode.UNSUPPORTED_VERSION).to_bytes(2, "big")
