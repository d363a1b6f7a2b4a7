"""The connections of a loop share the time of a turn, however many requests each has sent."""

import asyncio
from random import Random
from typing import Any, cast

import pytest

from odradek.broker.network.connection import Connection
from odradek.broker.network.connections import Connections
from odradek.broker.network.request_order import SERVE_S
from odradek.broker.network.turns import SharedTurns
from odradek.broker.timers.slices import Slices
from support.security.tls_connection import SocketTransport

REQUEST_S = 0.001


class Transport(SocketTransport):
    """A transport like that of TLS: answers are written to it, and not to the socket's descriptor."""

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self if name == "ssl_object" else super().get_extra_info(name, default)


class Clients:
    """Connections of one broker whose requests take a millisecond each."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.served: list[tuple[int, bytes]] = []
        self.connections = Connections(max_request_bytes=1 << 20, max_idle_ms=-1, now_ms=lambda: 0)
        self.connections.turns = SharedTurns(SERVE_S, lambda: self.now_s)
        self._slices = Slices(asyncio.get_running_loop().call_soon, lambda: 0.0)

    def connect(self) -> tuple[Connection, SocketTransport]:
        connection = Connection(self.connections, self._serve, self._slices, "PLAINTEXT")
        transport = Transport()
        connection.connection_made(cast(asyncio.BaseTransport, transport))
        return connection, transport

    def _serve(self, connection: Connection, frame: memoryview, owned: bool) -> None:
        self.now_s += REQUEST_S
        self.served.append((connection.connection_id, bytes(frame)))
        connection.answered(None)

    def arrive(self, connection: Connection, data: bytes) -> None:
        buffer = connection.get_buffer(-1)
        buffer[: len(data)] = data
        connection.buffer_updated(len(data))


def framed(number: int) -> bytes:
    return b"\0\0\0\4" + number.to_bytes(4, "big")


async def test_a_turn_serves_for_a_bounded_time() -> None:
    clients = Clients()
    made = [clients.connect() for _ in range(50)]
    for connection, _ in made:
        clients.arrive(connection, b"".join(map(framed, range(200))))
    assert clients.now_s <= SERVE_S + REQUEST_S
    for _, transport in made:
        assert not transport.is_reading
    turns = 0
    while len(clients.served) < 50 * 200:
        before_s = clients.now_s
        await asyncio.sleep(0)
        turns += 1
        assert clients.now_s - before_s <= SERVE_S + REQUEST_S
        assert turns < 10_000
    for connection, transport in made:
        own = [frame for number, frame in clients.served if number == connection.connection_id]
        assert own == [framed(number)[4:] for number in range(200)]
        assert transport.is_reading


async def test_a_small_client_waits_for_one_request_of_each_other() -> None:
    clients = Clients()
    made = [clients.connect() for _ in range(10)]
    for connection, _ in made:
        clients.arrive(connection, b"".join(map(framed, range(500))))
    small, _ = clients.connect()
    clients.arrive(small, framed(7))
    before = len(clients.served)
    while not any(number == small.connection_id for number, _ in clients.served[before:]):
        await asyncio.sleep(0)
        assert len(clients.served) - before < 2 * len(made)


@pytest.mark.parametrize("seed", range(10))
async def test_requests_keep_their_order_in_pieces_of_any_size(seed: int) -> None:
    random = Random(seed)
    clients = Clients()
    connection, transport = clients.connect()
    sent = [random.randbytes(random.choice([4, 4, 4, 100, 30_000])) for _ in range(300)]
    stream = b"".join(len(one).to_bytes(4, "big") + one for one in sent)
    while len(clients.served) < len(sent):
        if transport.is_reading and stream:
            room = len(connection.get_buffer(-1))
            count = min(room, len(stream), random.choice([1, 50, 5_000, 200_000]))
            clients.arrive(connection, stream[:count])
            stream = stream[count:]
        await asyncio.sleep(0)
    assert [frame for _, frame in clients.served] == sent
