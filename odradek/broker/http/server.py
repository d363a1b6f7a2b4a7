"""Listens for HTTP connections on the event loop.

Owns: the listener, the connections whose request is awaited. Never does: threads, answering. Invariant: at most
``HttpLimits.max_requests`` requests are awaited at a time, TLS handshakes included.
"""

import asyncio
import socket
from collections.abc import Callable, Sequence

from .connection import READ_BYTES, HttpConnection, HttpLimits
from .messages import HttpService

OverTls = Callable[[asyncio.Protocol], asyncio.BaseProtocol]
"""Makes the protocol of a socket whose plaintext goes to a given protocol."""


class AwaitedRequests:
    """The connections whose request is awaited, the oldest first."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._writers: dict[asyncio.StreamWriter, None] = {}

    def enter(self, writer: asyncio.StreamWriter) -> None:
        """Adds one. The oldest is closed if there are too many."""
        self._writers[writer] = None
        if len(self._writers) > self._most:
            oldest = next(iter(self._writers))
            del self._writers[oldest]
            oldest.transport.abort()

    def leave(self, writer: asyncio.StreamWriter) -> None:
        """Removes one."""
        self._writers.pop(writer, None)


class HttpServer:
    """Listens from `start` to `stop`."""

    def __init__(
        self,
        service: HttpService,
        limits: HttpLimits,
        *,
        over_tls: OverTls | None = None,
    ) -> None:
        """``over_tls``: None without TLS."""
        self._service = service
        self._limits = limits
        self._over_tls = over_tls
        self._turn = asyncio.Lock()
        self._awaited = AwaitedRequests(limits.max_requests)
        self._servers: list[asyncio.Server] = []

    async def start(self, host: str, port: int, hosts: Sequence[str] = ()) -> int:
        """Starts to listen. ``hosts``: the addresses of ``host``, if it is one for all interfaces. Returns the port.
        Raises OSError.
        """
        server = await asyncio.get_running_loop().create_server(self._accept, list(hosts) or host, port)
        self._servers.append(server)
        bound: int = server.sockets[0].getsockname()[1]
        return bound

    async def start_on(self, listening: socket.socket) -> None:
        """Accepts the connections of a socket that listens already."""
        self._servers.append(await asyncio.get_running_loop().create_server(self._accept, sock=listening))

    def stop(self) -> None:
        """Closes the listener."""
        for server in self._servers:
            server.close()

    def _accept(self) -> asyncio.BaseProtocol:
        """The protocol of a new connection, which calls :meth:`_serve`."""
        protocol = asyncio.StreamReaderProtocol(asyncio.StreamReader(READ_BYTES), self._serve)
        return protocol if self._over_tls is None else self._over_tls(protocol)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = HttpConnection(reader, writer, self._service, self._limits, self._turn, self._awaited)
        try:
            await connection.serve()
        except asyncio.CancelledError:
            # The loop ends. asyncio's own callback of this task would report the cancellation as an error.
            writer.transport.abort()
