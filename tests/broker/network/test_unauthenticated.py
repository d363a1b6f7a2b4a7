"""Connections that have not authenticated: limits of their number, time and frames."""

import asyncio
import socket
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from odradek.broker.network.connection import Connection, ServeFrame
from odradek.broker.network.connections import Connections
from odradek.broker.network.queued_requests import MeteredConnection, QueuedRequests
from odradek.broker.network.unauthenticated import Unauthenticated
from odradek.broker.timers.slices import Slices, slice_clock_ms

FIRST_MAX = 20
REQUEST_MAX = 40_000
TIMEOUT_MS = 1_000


class Password:
    """Authenticates a connection whose first frame is ``user:NAME``, and answers every other frame with its size."""

    max_frame_bytes = FIRST_MAX

    def start(self) -> ServeFrame:
        return self.serve

    def serve(self, connection: Connection, frame: memoryview, owned: bool) -> None:
        if bytes(frame) == b"wait":
            return
        if bytes(frame).startswith(b"user:"):
            connection.authenticated(bytes(frame).decode())
            connection.answered([b"welcome "])
        else:
            connection.answered([b"and who?"])


class Setup:
    now_ms = 0
    authentication = Password()

    def __init__(self, most: int = 100, metered: bool = False, max_bytes: int = 1 << 20) -> None:
        self.all = 100
        self.connections = Connections(max_request_bytes=REQUEST_MAX, max_idle_ms=-1, now_ms=lambda: self.now_ms)
        self.waiting = self.connections.unauthenticated = Unauthenticated(
            timeout_ms=TIMEOUT_MS,
            max_connections=most,
            max_bytes=max_bytes,
            share_of=lambda: self.all,
            now_ms=lambda: self.now_ms,
        )
        self.slices = Slices(asyncio.get_running_loop().call_soon, slice_clock_ms)
        self.queue = QueuedRequests(REQUEST_MAX, self.serve, self.slices, lambda: self.now_ms) if metered else None

    def connect(self) -> Connection:
        if self.queue is not None:
            return MeteredConnection(self.connections, self.queue, "SAFE", self.authentication)
        return Connection(self.connections, self.serve, self.slices, "SAFE", self.authentication)

    def serve(self, connection: Connection, frame: memoryview, owned: bool) -> None:
        connection.answered([connection.principal.encode(), struct.pack(">i", len(frame))])


@asynccontextmanager
async def serving(setup: Setup) -> AsyncIterator[int]:
    server = await asyncio.get_running_loop().create_server(setup.connect, "127.0.0.1", 0)
    yield server.sockets[0].getsockname()[1]
    server.close()
    setup.connections.abort_all()


class Client:
    def __init__(self, port: int, host: str = "127.0.0.1") -> None:
        self.sock = socket.create_connection(("127.0.0.1", port), source_address=(host, 0))
        self.sock.setblocking(False)

    async def send(self, data: bytes) -> None:
        await asyncio.get_running_loop().sock_sendall(self.sock, data)

    async def ask(self, body: bytes, expected: int) -> bytes:
        await self.send(struct.pack(">i", len(body)) + body)
        return await self.read(expected)

    async def read(self, count: int) -> bytes:
        """Reads ``count`` bytes, or fewer if the connection ends."""
        got = b""
        while len(got) < count:
            try:
                data = await asyncio.get_running_loop().sock_recv(self.sock, count - len(got))
            except ConnectionResetError:
                break
            if not data:
                break
            got += data
        return got

    async def is_closed(self) -> bool:
        return await self.read(1) == b""


async def accepted(setup: Setup, count: int) -> None:
    while len(setup.waiting) < count:  # noqa: ASYNC110
        await asyncio.sleep(0)


@pytest.mark.parametrize("metered", [False, True])
async def test_frames_are_small_before_authentication_and_large_after_it(metered: bool) -> None:
    setup = Setup(metered=metered)
    async with serving(setup) as port:
        client = Client(port)
        assert await client.ask(b"hello", 8) == b"and who?"
        assert len(setup.waiting) == 1
        assert await client.ask(b"user:odd", 8) == b"welcome "
        assert len(setup.waiting) == 0
        assert await client.ask(bytes(REQUEST_MAX), 12) == b"user:odd" + struct.pack(">i", REQUEST_MAX)
        too_early = Client(port)
        await too_early.send(struct.pack(">i", FIRST_MAX + 1))
        assert await too_early.is_closed()
        assert len(setup.connections) == 1


async def test_a_frame_announced_before_authentication_gets_no_memory() -> None:
    setup = Setup()
    Password.max_frame_bytes, before = 524_288, Password.max_frame_bytes
    try:
        connection = setup.connect()
    finally:
        Password.max_frame_bytes = before
    connection._frames.feed(memoryview(struct.pack(">i", 524_288) + bytes(8)))
    assert connection._frames.large is not None
    assert len(connection._frames.large.memory) <= 1024


async def test_a_silent_and_a_dripping_client_are_closed_in_time_and_an_authenticated_one_is_not(
    caplog: pytest.LogCaptureFixture,
) -> None:
    setup = Setup()
    async with serving(setup) as port:
        known, silent, dripping = Client(port), Client(port), Client(port)
        assert await known.ask(b"user:odd", 8) == b"welcome "
        await accepted(setup, 2)
        await dripping.send(b"\0")
        setup.now_ms = TIMEOUT_MS - 1
        await dripping.send(b"\0")
        assert setup.waiting.close_late() == 0
        late = Client(port)
        await accepted(setup, 3)
        setup.now_ms = TIMEOUT_MS
        assert setup.waiting.close_late() == 2
        assert await silent.is_closed()
        assert await dripping.is_closed()
        assert await known.ask(b"abc", 12) == b"user:odd\0\0\0\3"
        assert await late.ask(b"user:new", 8) == b"welcome "
    assert "it has not authenticated within odradek.connection.authentication.timeout.ms=1000" in caplog.text


async def test_the_oldest_connection_of_the_busiest_address_makes_room() -> None:
    setup = Setup(most=4)
    async with serving(setup) as port:
        lonely = Client(port, "127.0.0.2")
        await accepted(setup, 1)
        flood = []
        for number in range(6):
            flood.append(Client(port))
            await accepted(setup, min(4, number + 2))
        for client in flood[:3]:
            assert await client.is_closed()
        assert await lonely.ask(b"user:odd", 8) == b"welcome "
        assert await flood[-1].ask(b"user:new", 8) == b"welcome "


async def test_half_of_all_connections_stay_for_those_that_have_authenticated() -> None:
    setup = Setup(most=100)
    setup.all = 5
    async with serving(setup) as port:
        first, second = Client(port), Client(port)
        await accepted(setup, 2)
        third = Client(port)
        assert await first.is_closed()
        assert await second.ask(b"user:odd", 8) == b"welcome "
        assert await third.ask(b"user:new", 8) == b"welcome "


async def test_few_requests_wait_before_authentication(caplog: pytest.LogCaptureFixture) -> None:
    """Thousands of empty frames after an unanswered one close the connection, and take no memory."""
    setup = Setup()
    async with serving(setup) as port:
        client = Client(port)
        await client.send(struct.pack(">i", 4) + b"wait" + bytes(4 * 10_000))
        assert await client.is_closed()
        patient = Client(port)
        pipelined = b"".join(struct.pack(">i", len(one)) + one for one in (b"hello", b"user:odd", b"abc"))
        await patient.send(pipelined)
        assert await patient.read(28) == b"and who?welcome user:odd\0\0\0\3"
    assert "its client sent more than 4 requests before it authenticated" in caplog.text


class LargePassword(Password):
    max_frame_bytes = 524_288


async def test_the_memory_of_all_is_bounded_and_the_busiest_address_pays(caplog: pytest.LogCaptureFixture) -> None:
    """Incomplete large requests: the largest connection of the address with most memory is closed. Others log in."""
    setup = Setup(max_bytes=100_000)
    setup.authentication = LargePassword()
    async with serving(setup) as port:
        lonely = Client(port, "127.0.0.2")
        await lonely.send(struct.pack(">i", 30_000) + b"user:odd" + bytes(20_000))
        flood = [Client(port) for _ in range(4)]
        await accepted(setup, 5)
        for number, client in enumerate(flood):
            await client.send(struct.pack(">i", 500_000) + bytes(8_000 + 1_000 * number))
        for client in flood[2:]:
            assert await client.is_closed()
        assert setup.waiting.held_bytes <= 100_000
        await lonely.send(bytes(30_000 - 20_008))
        assert await lonely.read(8) == b"welcome "
        assert await Client(port).ask(b"user:new", 8) == b"welcome "
    assert caplog.text.count("odradek.connections.unauthenticated.max.bytes=100000") == 2
    while len(setup.waiting):  # noqa: ASYNC110
        await asyncio.sleep(0)
    assert setup.waiting.held_bytes == 0


async def test_what_is_served_or_closed_is_not_held() -> None:
    """Incomplete and waiting requests are counted only while they exist."""
    setup = Setup()
    setup.authentication = LargePassword()
    async with serving(setup) as port:
        client = Client(port)
        await client.send(struct.pack(">i", 30_000) + bytes(1_000))
        while setup.waiting.held_bytes == 0:  # noqa: ASYNC110
            await asyncio.sleep(0)
        await client.send(bytes(29_000) + struct.pack(">i", 5) + b"he")
        assert await client.read(8) == b"and who?"
        while setup.waiting.held_bytes > 100:  # noqa: ASYNC110
            await asyncio.sleep(0)
        await client.send(b"llo")
        assert await client.read(8) == b"and who?"
        assert setup.waiting.held_bytes == 0
        await client.send(b"".join(struct.pack(">i", 4) + one for one in (b"wait", b"abcd")))
        while setup.waiting.held_bytes != 4:  # noqa: ASYNC110
            await asyncio.sleep(0)
        setup.connections.abort_all()
        while len(setup.waiting):  # noqa: ASYNC110
            await asyncio.sleep(0)
        assert setup.waiting.held_bytes == 0
