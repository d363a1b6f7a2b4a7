"""The sockets of the controller: reads request frames, writes response frames.

Shell. Owns: the listening socket and the connections. Never does: deciding. Invariant: a connection serves one request
at a time; a malformed request, or an API or version that is not served, closes it. Source: SocketServer.
"""

import asyncio
import logging
import socket

from odradek.protocol.apis.api_keys import api
from odradek.protocol.codec import decode
from odradek.protocol.codec.header import decode_request_header, encode_response_parts
from odradek.protocol.errors import KafkaError, ProtocolError

from .active_controller import ActiveController
from .requests import SERVED

logger = logging.getLogger(__name__)

MAX_REQUEST_BYTES = 100 << 20
"""The largest request; Kafka's default of ``socket.request.max.bytes``."""


class ControllerServer:
    """Serves one controller's requests on one socket."""

    def __init__(self, controller: ActiveController) -> None:
        self._controller = controller
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()

    async def start(self, listening: socket.socket) -> None:
        """Accepts connections on a bound socket."""
        self._server = await asyncio.start_server(self._accept, sock=listening)

    async def stop(self) -> None:
        """Closes the socket and all connections."""
        if self._server is not None:
            self._server.close()
        connections = list(self._connections)
        for task in connections:
            task.cancel()
        await asyncio.gather(*connections, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(self._serve(reader, writer))
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                size = int.from_bytes(await reader.readexactly(4), "big")
                if size > MAX_REQUEST_BYTES:
                    raise ProtocolError(f"a request has {size} bytes, the limit is {MAX_REQUEST_BYTES}")
                writer.writelines(await self._answer(await reader.readexactly(size)))
                await writer.drain()
        except (EOFError, OSError):
            pass  # the broker has gone
        except (ProtocolError, KafkaError) as error:
            logger.warning("the controller closes a connection: %s", error)
        finally:
            writer.transport.abort()

    async def _answer(self, frame: bytes) -> list[bytes]:
        """Serves one request; returns the response frame in parts. Raises ProtocolError, KafkaError."""
        header, position = decode_request_header(frame)
        api_key, version = header.request_api_key, header.request_api_version
        handle = SERVED.get(api_key)
        description = api(api_key)
        lowest, highest = description.stable_versions
        if handle is None or not lowest <= version <= highest:
            raise ProtocolError(f"{description.name} version {version} is not supported by the test controller")
        request, _ = decode(description.request_class(), version, frame, position)
        response = await handle(self._controller, request)
        return encode_response_parts(response, version, header.correlation_id)
