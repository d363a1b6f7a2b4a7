"""Muted connections: the answer is sent at once, requests wait, bytes are bounded, and they are not closed as idle."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from odradek.broker.network.connection import Connection
from odradek.broker.network.connections import Connections
from odradek.broker.network.request_order import RECEIVE_BUFFER_BYTES
from odradek.broker.timers.slices import Slices, slice_clock_ms
from odradek.protocol.common.steps import run_to_end
from odradek.protocol.framing.frames import SIZE

MUTE_MS = 10_000_000
FRAME = SIZE.pack(4) + b"what"
ANSWER = b"\0\0\0\2ok"


class Clock:
    now_ms = 0


class WatchedConnections(Connections):
    """Connections whose close can be awaited."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(max_request_bytes=1 << 30, max_idle_ms=1_000, now_ms=lambda: clock.now_ms)
        self.emptied = asyncio.Event()

    def forget(self, connection: Connection) -> None:
        super().forget(connection)
        self.emptied.set()


class Muting:
    """Answers each request; mutes the connection before the first answer."""

    def __init__(self) -> None:
        self.served: list[Connection] = []
        self.connections: list[Connection] = []

    def dispatch(self, connection: Connection, frame: memoryview, owned: bool) -> None:
        self.served.append(connection)
        if len(self.served) == 1:
            connection.mute(MUTE_MS)
        connection.answered([ANSWER])


@asynccontextmanager
async def opened(clock: Clock, muting: Muting) -> AsyncIterator[tuple[WatchedConnections, socket.socket, Connection]]:
    loop = asyncio.get_running_loop()
    connections = WatchedConnections(clock)
    slices = Slices(loop.call_soon, slice_clock_ms)
    ours, theirs = socket.socketpair()
    theirs.setblocking(False)
    _, connection = await loop.create_connection(
        lambda: Connection(connections, muting.dispatch, slices, "PLAINTEXT"), sock=ours
    )
    try:
        yield connections, theirs, connection
    finally:
        theirs.close()
        connection.abort()


async def exchanged(client: socket.socket, frames: bytes) -> bytes:
    loop = asyncio.get_running_loop()
    await loop.sock_sendall(client, frames)
    return await loop.sock_recv(client, 1 << 16)


def end_the_mute(connection: Connection) -> None:
    """Ends the time of the mute."""
    assert connection.muted is not None
    connection.muted.cancel()
    connection._unmute()


async def test_the_answer_leaves_at_once_and_the_next_request_waits() -> None:
    muting = Muting()
    async with opened(Clock(), muting) as (_, client, connection):
        assert await exchanged(client, FRAME + FRAME) == ANSWER
        assert len(muting.served) == 1
        assert connection.is_in_service
        end_the_mute(connection)
        assert await asyncio.get_running_loop().sock_recv(client, 100) == ANSWER
        assert len(muting.served) == 2
        assert not connection.is_in_service


async def test_a_muted_connection_is_not_idle() -> None:
    clock = Clock()
    async with opened(clock, Muting()) as (connections, client, connection):
        await exchanged(client, FRAME)
        clock.now_ms = 100_000
        assert run_to_end(connections.close_idle()) == 0
        end_the_mute(connection)
        assert run_to_end(connections.close_idle()) == 0
        clock.now_ms = 200_000
        assert run_to_end(connections.close_idle()) == 1


async def test_the_bytes_that_a_muted_connection_reads_are_bounded() -> None:
    loop = asyncio.get_running_loop()
    async with opened(Clock(), Muting()) as (_, client, connection):
        await exchanged(client, FRAME)
        for frame in (FRAME * 1_000, SIZE.pack(1 << 29) + bytes(1_000)):
            await loop.sock_sendall(client, frame)
        sent = 0
        while True:
            try:
                sent += client.send(bytes(1 << 16))
            except BlockingIOError:
                break
            await asyncio.sleep(0)
        assert connection.transport is not None
        assert sent < 64 * RECEIVE_BUFFER_BYTES


async def test_a_client_that_leaves_ends_its_mute() -> None:
    async with opened(Clock(), Muting()) as (connections, client, connection):
        await exchanged(client, FRAME)
        timer = connection.muted
        client.close()
        await connections.emptied.wait()
        assert timer is not None
        assert timer.cancelled()
