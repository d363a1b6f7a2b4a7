"""Idle connections are closed, also if their client has stopped reading. A slow reader is not idle."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from odradek.broker.network.connecting import IDLE_CHECK_MS, close_idle_connections
from odradek.broker.network.connection import Connection
from odradek.broker.network.connections import CLOSED_A_STEP, Connections
from odradek.broker.timers.patient_timers import PatientTimers
from odradek.broker.timers.slices import Slices, slice_clock_ms
from odradek.protocol.common.steps import run_to_end
from odradek.protocol.framing.frames import SIZE
from support.eventually import eventually_in_loop

from ..virtual_loop import VirtualLoop

ANSWER = bytes(32 * 1024 * 1024)
IDLE_MS = 1000


class LargeAnswers:
    """Answers every frame with more bytes than a socket buffers."""

    def __init__(self) -> None:
        self.answered = asyncio.Event()

    def dispatch(self, connection: Connection, frame: memoryview, owned: bool) -> None:
        connection.answered([ANSWER])
        self.answered.set()


class Clock:
    now_ms = 0


class Client:
    """A client's side of one connection."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self.address = sock.getpeername()

    async def ask(self) -> None:
        await asyncio.get_running_loop().sock_sendall(self._sock, SIZE.pack(4) + b"what")

    async def read(self, count: int) -> int:
        """Reads until ``count`` bytes have come or the connection ends; the number of bytes."""
        got = 0
        while got < count:
            try:
                data = await asyncio.get_running_loop().sock_recv(self._sock, min(count - got, 1 << 20))
            except ConnectionResetError:
                return got
            if not data:
                return got
            got += len(data)
        return got


@pytest.fixture
def clock() -> Clock:
    return Clock()


@asynccontextmanager
async def connected(
    clock: Clock, max_idle_ms: int = IDLE_MS
) -> AsyncIterator[tuple[Connections, LargeAnswers, Client]]:
    connections = Connections(
        max_request_bytes=1000,
        max_idle_ms=max_idle_ms,
        now_ms=lambda: clock.now_ms,
    )
    answers = LargeAnswers()
    loop = asyncio.get_running_loop()
    slices = Slices(loop.call_soon, slice_clock_ms)
    server = await loop.create_server(
        lambda: Connection(connections, answers.dispatch, slices, "PLAINTEXT"), "127.0.0.1", 0
    )
    with socket.socket() as sock:
        sock.setblocking(False)
        await loop.sock_connect(sock, server.sockets[0].getsockname())
        yield connections, answers, Client(sock)
    server.close()


async def test_a_client_that_has_stopped_reading_is_cut_off(clock: Clock) -> None:
    async with connected(clock) as (connections, answers, client):
        await client.ask()
        await answers.answered.wait()
        clock.now_ms = IDLE_MS
        assert run_to_end(connections.close_idle()) == 0
        clock.now_ms = IDLE_MS + 1
        assert run_to_end(connections.close_idle()) == 1
        assert await client.read(len(ANSWER)) < len(ANSWER)
        assert len(connections) == 0


async def test_a_client_that_reads_late_is_not_idle_since_it_asked(clock: Clock) -> None:
    async with connected(clock) as (connections, answers, client):
        await client.ask()
        await answers.answered.wait()
        clock.now_ms = IDLE_MS - 1
        assert await client.read(len(ANSWER)) == len(ANSWER)
        clock.now_ms = IDLE_MS + 100
        assert run_to_end(connections.close_idle()) == 0
        clock.now_ms = 3 * IDLE_MS
        assert run_to_end(connections.close_idle()) == 1
        assert await client.read(1) == 0


async def test_a_step_closes_a_bounded_number(clock: Clock) -> None:
    async with connected(clock) as (connections, _, client):
        address = client.address
        loop = asyncio.get_running_loop()
        others = [socket.socket() for _ in range(CLOSED_A_STEP)]
        for one in others:
            one.setblocking(False)
            await loop.sock_connect(one, address)
        await eventually_in_loop("all are connected", lambda: len(connections) == CLOSED_A_STEP + 1)
        clock.now_ms = IDLE_MS + 1
        steps = connections.close_idle()
        next(steps)
        await eventually_in_loop("a step of them is closed", lambda: len(connections) == 1)
        assert run_to_end(steps) == CLOSED_A_STEP + 1
        await eventually_in_loop("all are closed", lambda: len(connections) == 0)
        for one in others:
            one.close()


@pytest.mark.parametrize(("max_idle_ms", "open_after"), [(IDLE_MS, 0), (-1, 1)])
async def test_no_timer_is_set_if_idle_connections_stay_open(clock: Clock, max_idle_ms: int, open_after: int) -> None:
    async with connected(clock, max_idle_ms) as (connections, answers, client):
        await client.ask()
        await answers.answered.wait()
        loop = VirtualLoop()
        timers = PatientTimers(loop, lambda: bool, lambda now_ms, suspended_ms: None, lambda: 0)
        close_idle_connections(connections, Slices(loop.call_soon, slice_clock_ms), timers)
        assert loop.waits == (max_idle_ms >= 0)
        clock.now_ms = IDLE_MS + 1
        loop.run(2 * IDLE_CHECK_MS)
        await eventually_in_loop("idle connections are closed", lambda: len(connections) == open_after)
