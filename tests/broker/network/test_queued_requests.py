"""queued.max.request.bytes: the bytes of unanswered requests are bounded, and none waits for ever."""

import asyncio
import struct
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from odradek.broker.network.connection import Connection
from odradek.broker.network.connections import Connections
from odradek.broker.network.queued_requests import RECEIVE_MAX_MS, MeteredConnection, QueuedRequests
from odradek.broker.timers.slices import Slices, slice_clock_ms
from odradek.testing.broker.in_process import InProcessBroker

LIMIT = 100_000
MIB = 1 << 20
PRODUCE, FETCH = 0, 1


class Broker:
    """Metered connections with a dispatcher that answers when the test tells it to."""

    def __init__(self) -> None:
        self.now_ms = 0
        self.in_service: list[tuple[Connection, int]] = []
        self.served = asyncio.Event()
        self.most_bytes = 0
        slices = Slices(asyncio.get_running_loop().call_soon, slice_clock_ms)
        self.queue = QueuedRequests(LIMIT, self.dispatch, slices, lambda: self.now_ms)
        self.connections = Connections(max_request_bytes=LIMIT, max_idle_ms=-1, now_ms=lambda: self.now_ms)

    def dispatch(self, connection: Connection, frame: memoryview, owned: bool) -> None:
        self.in_service.append((connection, len(frame)))
        self.most_bytes = max(self.most_bytes, self.queue.budget.reserved_bytes)
        self.served.set()

    def answer_first(self) -> int:
        """Answers the oldest request; returns its size."""
        connection, size = self.in_service.pop(0)
        connection.answered([b"\0\0\0\0"])
        return size

    async def until_served(self, count: int) -> None:
        while len(self.in_service) < count:
            self.served.clear()
            await self.served.wait()

    async def __aenter__(self) -> "Broker":
        loop = asyncio.get_running_loop()
        self.server = await loop.create_server(
            lambda: MeteredConnection(self.connections, self.queue, "PLAINTEXT"), "127.0.0.1", 0
        )
        self.port = self.server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self.server.close()
        self.connections.abort_all()

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection("127.0.0.1", self.port)


def frame(size: int, api_key: int = PRODUCE) -> bytes:
    return struct.pack(">ihh", size, api_key, 9) + bytes(size - 4)


async def until(condition: Any) -> None:
    """Runs the event loop until a condition is true."""
    while not condition():  # noqa: ASYNC110 - the budget has no event to wait for
        await asyncio.sleep(0)


@pytest.mark.parametrize("size", [10_000, 40_000, 90_000])
async def test_requests_of_many_connections_take_turns_within_the_limit(size: int) -> None:
    async with Broker() as broker:
        clients = [await broker.connect() for _ in range(20)]
        for _, writer in clients:
            writer.write(frame(size) * 3)
        at_once = LIMIT // size
        for left in range(60, 0, -1):
            await broker.until_served(min(at_once, left))
            assert len(broker.in_service) <= at_once
            assert broker.answer_first() == size
        for reader, _ in clients:
            assert await reader.readexactly(12) == bytes(12)
        assert at_once * size <= broker.most_bytes <= LIMIT
        assert broker.queue.budget.reserved_bytes == 0


async def test_a_large_request_waits_for_earlier_ones_only() -> None:
    async with Broker() as broker:
        clients = [await broker.connect() for _ in range(4)]
        clients[0][1].write(frame(60_000))
        await broker.until_served(1)
        clients[1][1].write(frame(95_000))
        await until(lambda: broker.queue.budget.waiting_count == 1)
        # This one would fit, but the large one came first.
        clients[2][1].write(frame(1_000))
        await until(lambda: broker.queue.budget.waiting_count == 2)
        assert len(broker.in_service) == 1
        for size in (60_000, 95_000, 1_000):
            await broker.until_served(1)
            assert broker.answer_first() == size


async def test_a_request_that_waits_elsewhere_keeps_no_memory() -> None:
    async with Broker() as broker:
        clients = [await broker.connect() for _ in range(20)]
        for _, writer in clients:
            writer.write(frame(90_000, FETCH))
        await broker.until_served(20)  # none of them is answered: each waits for records
        assert broker.queue.budget.reserved_bytes == 0


async def test_a_large_request_behind_others_holds_no_memory_until_they_are_answered() -> None:
    async with Broker() as broker:
        clients = [await broker.connect() for _ in range(2)]
        clients[0][1].write(frame(1_000) + frame(90_000))
        await broker.until_served(1)
        assert broker.queue.budget.reserved_bytes == 1_000
        clients[1][1].write(frame(95_000))
        await broker.until_served(2)
        assert [broker.answer_first(), broker.answer_first()] == [1_000, 95_000]
        await broker.until_served(1)
        assert broker.answer_first() == 90_000


async def test_whoever_goes_gives_its_memory_back() -> None:
    async with Broker() as broker:
        _, slow = await broker.connect()
        slow.write(frame(90_000)[:20_000])
        await until(lambda: broker.queue.budget.reserved_bytes == 90_000)
        _, waiting = await broker.connect()
        waiting.write(frame(90_000)[:20_000])
        await until(lambda: broker.queue.budget.waiting_count == 1)
        slow.transport.abort()
        await until(lambda: broker.queue.budget.waiting_count == 0)
        waiting.transport.abort()
        await until(lambda: broker.queue.budget.reserved_bytes == 0)
        assert not broker.queue.receiving


async def test_a_client_that_sends_half_a_request_stops_the_others_for_a_bounded_time(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with Broker() as broker:
        reader, slow = await broker.connect()
        slow.write(frame(90_000)[:20_000])
        await until(lambda: broker.queue.budget.reserved_bytes == 90_000)
        broker.now_ms = RECEIVE_MAX_MS
        broker.queue.close_slow()
        assert not caplog.messages, "no other waits"
        _, other = await broker.connect()
        other.write(frame(50_000))
        await until(lambda: broker.queue.budget.waiting_count == 1)
        broker.queue.close_slow()
        assert await reader.read() == b""
        await broker.until_served(1)
        assert broker.answer_first() == 50_000
        [line] = caplog.messages
        assert "queued.max.request.bytes=100000" in line


def test_real_clients_produce_more_at_once_than_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    serve = MeteredConnection.serve_within
    waiting: list[int] = []
    reserved: list[int] = []

    def watched(connection: MeteredConnection, frame: memoryview, owned: bool) -> None:
        queue = connection._queue
        serve(connection, frame, owned)
        reserved.append(queue.budget.reserved_bytes)
        waiting.append(queue.budget.waiting_count)

    monkeypatch.setattr(MeteredConnection, "serve_within", watched)
    configs: dict[str, str | int | float | bool] = {
        "queued.max.request.bytes": MIB,
        "socket.request.max.bytes": MIB,
        "auto.create.topics.enable": "true",
    }
    errors: list[object] = []

    def delivered(error: object, _: object) -> None:
        errors.append(error)

    with InProcessBroker(tmp_path, configs=configs) as broker:
        producers = [Producer({"bootstrap.servers": broker.bootstrap_servers, "linger.ms": 0}) for _ in range(4)]
        for _ in range(10):
            for producer in producers:
                producer.produce("large", bytes(700_000), on_delivery=delivered)
                producer.produce("small", b"value", on_delivery=delivered)
        assert [producer.flush(60) for producer in producers] == [0] * 4
    assert errors == [None] * 80
    assert max(waiting) > 0
    assert 0 < max(reserved) <= MIB
