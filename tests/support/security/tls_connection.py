"""A TLS connection to the broker's TLS transport without a socket. Bytes arrive in pieces of any size."""

import asyncio
import ssl
from collections.abc import Callable
from random import Random
from typing import Any, cast

from odradek.broker.network.connection import Connection, ServeFrame
from odradek.broker.network.connections import Connections
from odradek.broker.network.unauthenticated import Unauthenticated
from odradek.broker.security.tls.listener import HandshakeAuthentication, RunningTls
from odradek.broker.security.tls.transport import TlsLoop, TlsTransport
from odradek.broker.timers.slices import Slices
from odradek.protocol.security.tls_context import ServerTls
from support.security.handshakes import End

RECORD_TYPES = (20, 21, 22, 23)
TURNS = 200


class SocketTransport:
    """A substitute for the event loop's socket transport, with the part that TLS uses."""

    def __init__(self, host: str = "10.0.0.1", high: int = 1 << 40) -> None:
        self.sent = bytearray()
        self.is_reading = True
        self.is_closed = False
        self.is_aborted = False
        self.unsent_bytes = 0
        self.protocol: TlsTransport | None = None
        self._host = host
        self._high = high
        self._reads_slowly = False

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return (self._host, 5000) if name == "peername" else default

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        assert low == 0
        self._high = high or self._high

    def get_write_buffer_size(self) -> int:
        return self.unsent_bytes

    def write(self, data: bytes) -> None:
        assert not self.is_closed
        self.sent += data
        if self._reads_slowly:
            was = self.unsent_bytes
            self.unsent_bytes += len(data)
            if was <= self._high < self.unsent_bytes and self.protocol is not None:
                self.protocol.pause_writing()

    def read_slowly(self) -> None:
        self._reads_slowly = True

    def catch_up(self) -> None:
        was, self.unsent_bytes = self.unsent_bytes, 0
        if was > self._high and self.protocol is not None:
            self.protocol.resume_writing()

    def pause_reading(self) -> None:
        assert self.is_reading
        self.is_reading = False

    def resume_reading(self) -> None:
        assert not self.is_reading
        self.is_reading = True

    def is_closing(self) -> bool:
        return self.is_closed or self.is_aborted

    def close(self) -> None:
        self.is_closed = True

    def abort(self) -> None:
        self.is_aborted = True


class BrokerSide:
    """The parts that the connections of a broker share."""

    def __init__(
        self,
        tls: ServerTls,
        serve: ServeFrame,
        principal_name: Callable[[str], str | None] | None = lambda name: name,
    ) -> None:
        self.connections = Connections(max_request_bytes=1 << 20, max_idle_ms=-1, now_ms=lambda: 0)
        self.connections.unauthenticated = Unauthenticated(
            timeout_ms=1000, max_connections=100, max_bytes=200_000, share_of=lambda: 200, now_ms=lambda: 0
        )
        self.listener = RunningTls(tls, principal_name)
        self.shared = TlsLoop()
        self._serve = serve
        self._slices = Slices(asyncio.get_running_loop().call_soon, lambda: 0.0)

    def accept(self, host: str = "10.0.0.1") -> tuple[Connection, TlsTransport, SocketTransport]:
        """A new connection."""
        authentication = HandshakeAuthentication(1 << 20)
        connection = Connection(self.connections, self._serve, self._slices, "SSL", authentication)
        transport = TlsTransport(connection, self.listener, self.shared)
        socket = SocketTransport(host)
        socket.protocol = transport
        transport.connection_made(cast(asyncio.BaseTransport, socket))
        return connection, transport, socket


class TlsClient:
    """A TLS client that is connected to a BrokerSide."""

    def __init__(self, side: BrokerSide, context: ssl.SSLContext, random: Random | None = None) -> None:
        """``random`` chooses the sizes of the pieces in which bytes arrive; None: all at once."""
        self.connection, self.transport, self.socket = side.accept()
        self.end = End(context, "localhost")
        self.received = bytearray()
        self.sent_bytes = 0
        self._random = random
        self._on_way = bytearray()
        self._taken = 0

    async def connect(self) -> None:
        """Runs the handshake. Raises the errors of the client's side."""
        for _ in range(TURNS):
            self._on_way += self.end.step()
            if self.end.is_done and self.connection.is_authenticated:
                return
            await self.turn()
        raise AssertionError("the handshake does not end")

    def write(self, data: bytes) -> None:
        """Encrypts bytes and puts them in transit to the broker."""
        self.end.object.write(data)
        self._on_way += self.end.outgoing.read()

    def put(self, raw: bytes) -> None:
        """Puts bytes in transit to the broker unencrypted."""
        self._on_way += raw

    async def turn(self) -> None:
        """Delivers some bytes to the broker, and everything that it has sent to the client."""
        if self._on_way and self.socket.is_reading and not self.socket.is_closing():
            most = len(self._on_way)
            arriving = most if self._random is None else self._random.choice([1, 5, 100, 20_000, most])
            self.arrive(bytes(self._on_way[:arriving]))
            del self._on_way[:arriving]
        await asyncio.sleep(0)
        fresh = bytes(self.socket.sent[self._taken :])
        self._taken += len(fresh)
        self.end.incoming.write(fresh)
        if self.end.is_done:
            self._read()

    def arrive(self, data: bytes) -> None:
        """Delivers bytes to the broker, at most one buffer at a time."""
        while data and self.socket.is_reading and not self.socket.is_closing():
            buffer = self.transport.get_buffer(-1)
            count = min(len(buffer), len(data))
            buffer[:count] = data[:count]
            self.transport.buffer_updated(count)
            data = data[count:]
        self._on_way[:0] = data

    async def until(self, is_so: Callable[[], bool]) -> None:
        """Takes turns until a condition is true."""
        for _ in range(50 * TURNS):
            if is_so():
                return
            await self.turn()
        raise AssertionError("it did not happen")

    def _read(self) -> None:
        while True:
            try:
                data = self.end.object.read(1 << 16)
            except (ssl.SSLWantReadError, ssl.SSLZeroReturnError):
                return
            if not data:
                return
            self.received += data


def assert_only_records(sent: bytes | bytearray) -> None:
    """Asserts that bytes are TLS records, so that no plaintext is among them."""
    position = 0
    while position < len(sent):
        assert sent[position] in RECORD_TYPES
        assert sent[position + 1] == 3
        position += 5 + int.from_bytes(sent[position + 3 : position + 5], "big")
    assert position == len(sent)
