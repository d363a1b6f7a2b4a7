"""The waits of requests and answers on a connection are counted exactly, by a clock that the test sets."""

import asyncio
import socket
import struct
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from odradek.broker.metrics.request_meters import ApiMeter
from odradek.broker.metrics.waits import Times
from odradek.broker.network.connection import Connection
from odradek.broker.network.connections import Connections
from odradek.broker.network.queued_requests import MeteredConnection, QueuedRequests
from odradek.broker.network.response_writer import CHUNK_BYTES
from odradek.broker.network.unauthenticated import Unauthenticated
from odradek.broker.network.waiting import KIND, Waiting
from odradek.broker.timers.slices import Slices, slice_clock_ms
from support.eventually import eventually_in_loop

MS = 1_000_000
ANSWER = b"\0\0\0\4" + bytes(4)
LIMIT = 1000
MANY_BYTES = 30 * CHUNK_BYTES


def frame(api_key: int, size: int = 8) -> bytes:
    return struct.pack(">ihh", size, api_key, 0) + bytes(size - 4)


class Server:
    """Serves frames as the test says, and counts their waits. API 1 is ``first``, API 2 ``second``."""

    def __init__(self) -> None:
        self.now_ns = 1
        self.first, self.second = ApiMeter("First"), ApiMeter("Second")
        self.waiting = Waiting(lambda: self.now_ns)
        self.waiting.apis = {1 << 16: self.first, 2 << 16: self.second}
        self.connections = Connections(max_request_bytes=1 << 20, max_idle_ms=-1, now_ms=lambda: 0)
        self.connections.waiting = self.waiting
        self.served: list[Connection] = []
        self.takes_ms = 0
        """How long a handler takes."""
        self.answers_at_once = True
        self.slices = Slices(asyncio.get_running_loop().call_soon, slice_clock_ms)

    def dispatch(self, connection: Connection, frame: memoryview, owned: bool) -> None:
        self.served.append(connection)
        meter = self.first if KIND.unpack_from(frame)[0] == 1 << 16 else self.second
        meter.version(0).requests += 1
        self.now_ns += self.takes_ms * MS
        if self.answers_at_once:
            self.answer(connection, meter)

    def answer(self, connection: Connection, meter: ApiMeter, answer: bytes = ANSWER) -> None:
        self.waiting.answering = meter
        meter.served.note(0)
        connection.answered([answer])

    @asynccontextmanager
    async def client(self, connect: Callable[[], Connection] | None = None) -> AsyncIterator[socket.socket]:
        """A client's socket. ``connect`` makes the broker's side."""
        ours, theirs = socket.socketpair()
        theirs.setblocking(False)
        _, connection = await asyncio.get_running_loop().create_connection(
            connect or (lambda: Connection(self.connections, self.dispatch, self.slices, "PLAINTEXT")), sock=ours
        )
        try:
            yield theirs
        finally:
            theirs.close()
            connection.abort()


async def until(condition: Callable[[], bool]) -> None:
    await eventually_in_loop("the broker is so far", condition)


async def first_in_service(server: Server, client: socket.socket) -> Connection:
    """Sends a first request. Returns the broker's side, once the request is in service there."""
    await asyncio.get_running_loop().sock_sendall(client, frame(1))
    await until(lambda: len(server.served) == 1)
    [connection] = server.served
    return connection


async def received(client: socket.socket, size: int) -> None:
    """Reads ``size`` bytes."""
    left = size
    while left:
        left -= len(await asyncio.get_running_loop().sock_recv(client, left))


def seen(times: Times) -> tuple[int, int, int]:
    """Returns how many times are 0, how many are counted, and their sum in ms."""
    return times.buckets[0], times.count, times.ns // MS


async def test_a_request_waits_behind_an_earlier_one_of_its_connection() -> None:
    server = Server()
    server.answers_at_once = False
    async with server.client() as client:
        await asyncio.get_running_loop().sock_sendall(client, frame(1) + frame(2))
        await until(lambda: len(server.served) == 1)
        server.now_ns += 7 * MS
        server.answer(server.served[0], server.first)
        assert len(server.served) == 2
        server.now_ns += 20 * MS
        server.answer(server.served[1], server.second)
    assert seen(server.first.request_queue) == (1, 1, 0)
    assert seen(server.second.request_queue) == (0, 1, 7)
    assert seen(server.second.response_send) == (1, 1, 0)


async def test_a_request_waits_while_its_connection_is_muted() -> None:
    server = Server()
    server.answers_at_once = False
    async with server.client() as client:
        connection = await first_in_service(server, client)
        connection.mute(60_000)
        server.answer(connection, server.first)
        await received(client, len(ANSWER))
        await asyncio.get_running_loop().sock_sendall(client, frame(2))
        await until(lambda: connection.holds_frames)
        server.now_ns += 9 * MS
        assert connection.muted is not None
        connection.muted.cancel()
        connection._unmute()
    assert seen(server.second.request_queue) == (0, 1, 9)


async def test_answers_to_pipelined_requests_leave_together() -> None:
    server = Server()
    server.takes_ms = 3
    async with server.client() as client:
        await asyncio.get_running_loop().sock_sendall(client, frame(1) + frame(2))
        await received(client, 2 * len(ANSWER))
    assert seen(server.first.response_queue) == (0, 1, 3)
    assert seen(server.second.response_queue) == (1, 1, 0)


async def test_an_answer_waits_for_a_slow_reader() -> None:
    server = Server()
    server.answers_at_once = False
    async with server.client() as client:
        connection = await first_in_service(server, client)
        server.answer(connection, server.first, bytes(MANY_BYTES))
        assert connection.is_sending
        assert seen(server.first.response_send) == (0, 0, 0)
        server.now_ns += 11 * MS
        await received(client, MANY_BYTES)
        await until(lambda: not connection.is_sending)
    assert seen(server.first.response_send) == (0, 1, 11)


async def test_an_answer_counts_whose_reader_leaves() -> None:
    server = Server()
    server.answers_at_once = False
    async with server.client() as client:
        connection = await first_in_service(server, client)
        server.answer(connection, server.first, bytes(MANY_BYTES))
        server.now_ns += 5 * MS
    await until(lambda: not len(server.connections))
    assert seen(server.first.response_send) == (0, 1, 5)


async def test_a_request_waits_for_memory() -> None:
    server = Server()
    server.answers_at_once = False
    queue = QueuedRequests(LIMIT, server.dispatch, server.slices, lambda: 0)

    def connect() -> Connection:
        return MeteredConnection(server.connections, queue, "PLAINTEXT")

    produce = frame(0, LIMIT)  # keeps its memory until it is answered
    async with server.client(connect) as first, server.client(connect) as second:
        loop = asyncio.get_running_loop()
        await loop.sock_sendall(first, produce)
        await until(lambda: len(server.served) == 1)
        await loop.sock_sendall(second, frame(1, LIMIT))
        await until(lambda: queue.budget.waiting_count == 1)
        server.now_ns += 6 * MS
        server.served[0].answered([ANSWER])
        await until(lambda: len(server.served) == 2)
    assert seen(server.first.request_queue) == (0, 1, 6)


async def test_frames_of_an_authentication_do_not_count() -> None:
    server = Server()
    server.answers_at_once = False

    class Login:
        max_frame_bytes = LIMIT

        def start(self) -> Callable[[Connection, memoryview, bool], None]:
            return self.serve

        def serve(self, connection: Connection, frame: memoryview, owned: bool) -> None:
            server.served.append(connection)

    def connect() -> Connection:
        return Connection(server.connections, server.dispatch, server.slices, "PLAINTEXT", Login())

    server.connections.unauthenticated = Unauthenticated(
        timeout_ms=60_000, max_connections=2, max_bytes=LIMIT, share_of=lambda: 4, now_ms=lambda: 0
    )
    async with server.client(connect) as client:
        await asyncio.get_running_loop().sock_sendall(client, frame(1) + frame(1))
        await until(lambda: len(server.served) == 1)
        server.now_ns += 4 * MS
        server.served[0].answered([ANSWER])
        assert len(server.served) == 2
        assert server.served[1].arrived_ns == 0
    assert seen(server.first.request_queue) == (0, 0, 0)
