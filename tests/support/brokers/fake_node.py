"""A node on a socket whose answers a test chooses, for tests of requests that this broker sends to controllers.

async with FakeNode(answer) as node:
    NodeClient("127.0.0.1", node.port, "test")
"""

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from odradek.protocol.apis.api_keys import ApiKey, api
from odradek.protocol.codec import decode
from odradek.protocol.codec.header import decode_request_header, encode_response_parts, request_head_decoder
from odradek.protocol.messages.metadata import ApiVersionsResponse
from odradek.protocol.messages.quorum import EnvelopeRequest
from odradek.protocol.messages.structure import Message


@dataclass(frozen=True)
class Changed:
    """A response whose frame, with its size, is changed before it is sent. The connection stays open."""

    response: Message
    change: Callable[[bytes], bytes]


Answer = Message | Changed | bytes | None
"""A response, a changed one, raw bytes after which the connection closes, or None: no answer, and the connection stays
open."""
SERVED: Mapping[int, tuple[int, int]] = {
    key: api(key).request_class().VERSIONS
    for key in (
        ApiKey.API_VERSIONS,
        ApiKey.FETCH,
        ApiKey.FETCH_SNAPSHOT,
        ApiKey.ENVELOPE,
        ApiKey.BROKER_REGISTRATION,
        ApiKey.BROKER_HEARTBEAT,
        ApiKey.ALLOCATE_PRODUCER_IDS,
        ApiKey.CREATE_TOPICS,
    )
}


class FakeNode:
    """Answers ApiVersions with ``versions``, and everything else with ``answer(request)``."""

    def __init__(
        self,
        answer: Callable[[Message], Answer],
        versions: Mapping[int, tuple[int, int]] = SERVED,
        host: str = "127.0.0.1",
    ) -> None:
        self.received: list[Message] = []
        """The requests that arrived, without ApiVersions."""
        self.connections = 0
        self.host = host
        self.port = 0
        self._answer = answer
        self._versions = versions
        self._open: set[asyncio.StreamWriter] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, self.host, 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        for writer in list(self._open):
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open.add(writer)
        self.connections += 1
        with contextlib.suppress(EOFError, OSError, asyncio.CancelledError):
            while await self._serve_one(reader, writer):
                await writer.drain()
        writer.close()
        self._open.discard(writer)

    async def _serve_one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        frame = await reader.readexactly(int.from_bytes(await reader.readexactly(4), "big"))
        api_key, version = int.from_bytes(frame[:2], "big"), int.from_bytes(frame[2:4], "big")
        correlation_id, _, position = request_head_decoder(api_key, version)(frame)
        answer: Answer
        if api_key == ApiKey.API_VERSIONS:
            kind = ApiVersionsResponse.ApiVersion
            answer = ApiVersionsResponse(api_keys=[kind(key, *span) for key, span in self._versions.items()])
        else:
            request, _ = decode(api(api_key).request_class(), version, frame, position)
            self.received.append(request)
            answer = self._answer(request)
        if answer is None:
            return True
        if isinstance(answer, bytes):
            writer.write(answer)
            return False
        response, change = (answer.response, answer.change) if isinstance(answer, Changed) else (answer, bytes)
        writer.write(change(b"".join(bytes(part) for part in encode_response_parts(response, version, correlation_id))))
        return True


def enveloped(request: Message) -> int:
    """The correlation id of the request in an Envelope, by which tests distinguish requests."""
    assert isinstance(request, EnvelopeRequest)
    return decode_request_header(request.request_data)[0].correlation_id
