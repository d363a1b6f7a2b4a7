"""Limits on connections of the broker and of each listener: their number, and the rate of new ones."""

import socket
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from odradek.broker.config.connection_limits import UNLIMITED, ConnectionLimits
from odradek.broker.config.errors import ConfigError
from odradek.broker.config.server_config import ServerConfig
from odradek.broker.network.connection_quotas import ConnectionQuotas
from odradek.broker.quotas.client_quota import QuotaWindows
from odradek.broker.quotas.creation_rates import CreationRates
from odradek.broker.server.broker_server import BrokerServer
from odradek.client import Admin
from odradek.protocol.codec.header import encode_request
from odradek.protocol.messages.metadata import ApiVersionsRequest
from support.eventually import eventually_in_loop

ADDRESS = "127.0.0.1"
WINDOWS = QuotaWindows(11, 1_000)
NOBODY: Counter[str] = Counter()


def quotas(most: int, listeners: dict[str, int], protected: str | None = None) -> ConnectionQuotas:
    found = ConnectionQuotas()
    limits = {name: ConnectionLimits(limit, UNLIMITED) for name, limit in listeners.items()}
    found.limit(
        ConnectionLimits(most, UNLIMITED),
        limits,
        protected=protected,
        max_connections_per_ip=UNLIMITED,
        max_connections_per_ip_overrides={},
    )
    return found


def test_a_listener_is_full_by_its_own_number_or_that_of_the_broker() -> None:
    """``ConnectionQuotas.connectionSlotAvailable``."""
    found = quotas(3, {"INSIDE": 3, "OUTSIDE": 1})
    assert found.full_key("OUTSIDE", NOBODY) is None
    assert found.full_key("OUTSIDE", Counter(OUTSIDE=1)) == "listener.name.outside.max.connections"
    for _ in range(3):
        assert found.admit("host", "INSIDE")
    assert found.full_key("INSIDE", NOBODY) == "max.connections"
    assert found.full_key("OUTSIDE", NOBODY) == "max.connections"
    found.release("host", "INSIDE")
    assert found.full_key("OUTSIDE", NOBODY) is None


def test_the_listener_between_the_nodes_is_not_full_because_of_the_broker() -> None:
    found = quotas(2, {"INSIDE": UNLIMITED, "OUTSIDE": 2}, protected="INSIDE")
    for _ in range(2):
        assert found.admit("host", "OUTSIDE")
    assert found.full_key("OUTSIDE", NOBODY) == "max.connections"
    assert found.full_key("INSIDE", NOBODY) is None
    assert found.admit("host", "INSIDE")
    assert found.excess() == 1


def test_rates_of_the_broker_and_of_a_listener() -> None:
    """The longer wait applies. With 11 windows of a second, 20 connections at once are a rate of 2 per second."""
    rates = CreationRates(WINDOWS, ["INSIDE", "OUTSIDE", "OTHER"], "INSIDE")
    waits = [rates.delay_ms("OUTSIDE", 1, 2, 0) for _ in range(12)]
    assert waits[:10] == [0] * 10
    assert all(wait == 1_000 for wait in waits[10:]), "a window at most"
    waits = [rates.delay_ms("INSIDE", 2, 2, 0) for _ in range(20)]
    assert waits == [0] * 20, "the broker's rate does not count for it"
    assert rates.delay_ms("INSIDE", 2, 2, 0) > 0
    assert rates.delay_ms("OTHER", UNLIMITED, 2, 60_000) == 0


@pytest.mark.parametrize("text", ["many", "-1", ""])
def test_a_bad_limit_of_a_listener_stops_the_start(text: str) -> None:
    with pytest.raises(ConfigError, match=r"listener\.name\.outside\.max\.connections \(--override\)"):
        ServerConfig.load(None, [f"listener.name.outside.max.connections={text}"])


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[BrokerServer]:
    keys = {
        "listeners": f"INSIDE://{ADDRESS}:0,OUTSIDE://{ADDRESS}:0",
        "listener.security.protocol.map": "INSIDE:PLAINTEXT,OUTSIDE:PLAINTEXT",
        "inter.broker.listener.name": "INSIDE",
        "listener.name.outside.max.connections": "2",
        "log.dirs": str(tmp_path / "logs"),
        "offsets.topic.num.partitions": "1",
    }
    broker = BrokerServer(ServerConfig.load(None, [f"{key}={text}" for key, text in keys.items()], {}))
    await broker.start()
    yield broker
    await broker.stop()


class Client:
    """A connection, and whether its request was answered."""

    def __init__(self, server: BrokerServer, listener: str) -> None:
        [port] = [one.port for one in server.listeners if one.listener.name == listener]
        self.socket = socket.create_connection((ADDRESS, port))
        self.socket.setblocking(False)
        self.socket.sendall(encode_request(ApiVersionsRequest(), 0, 1, "client"))

    def has_answer(self) -> bool:
        try:
            return len(self.socket.recv(1 << 16)) > 0
        except BlockingIOError:
            return False

    def is_closed(self) -> bool:
        try:
            return self.socket.recv(1 << 16) == b""
        except BlockingIOError:
            return False
        except ConnectionResetError:
            return True  # its request was not read


async def alter(server: BrokerServer, changes: dict[str, str]) -> None:
    """Sets dynamic configs of all brokers."""
    [port] = [one.port for one in server.listeners if one.listener.name == "INSIDE"]
    async with Admin(f"{ADDRESS}:{port}") as admin:
        await admin.incremental_alter_configs("broker", "", set_configs=changes)


async def test_a_full_listener_waits_and_the_other_goes_on(
    server: BrokerServer, caplog: pytest.LogCaptureFixture
) -> None:
    with ExitStack() as stack:
        outside = [Client(server, "OUTSIDE") for _ in range(3)]
        for one in outside:
            stack.enter_context(one.socket)
        await eventually_in_loop("two are served", outside[0].has_answer)
        await eventually_in_loop("two are served", outside[1].has_answer)
        inside = Client(server, "INSIDE")
        stack.enter_context(inside.socket)
        await eventually_in_loop("the other listener has room", inside.has_answer)
        assert not outside[2].has_answer()
        assert "listener.name.outside.max.connections allows no more" in caplog.text
        outside[0].socket.close()
        await eventually_in_loop("there is room again", outside[2].has_answer)


async def test_dynamic_limits(server: BrokerServer) -> None:
    """A higher limit of a listener applies at once. A lower limit of the broker closes the longest idle connections,
    except those between nodes."""
    with ExitStack() as stack:
        outside = [Client(server, "OUTSIDE") for _ in range(3)]
        for one in outside:
            stack.enter_context(one.socket)
        await eventually_in_loop("two are served", outside[1].has_answer)
        await alter(server, {"listener.name.outside.max.connections": "3"})
        await eventually_in_loop("there is room for the third", outside[2].has_answer)
        await eventually_in_loop("the first was served", outside[0].has_answer)
        await alter(server, {"max.connections": "1"})
        for one in outside[:2]:
            await eventually_in_loop("it is closed", one.is_closed)
        await alter(server, {"max.connections": "100", "listener.name.outside.max.connection.creation.rate": "1"})
        fresh = [Client(server, "OUTSIDE") for _ in range(2)]
        for one in fresh:
            stack.enter_context(one.socket)
            await eventually_in_loop("a rate that is not reached delays nobody", one.has_answer)


async def test_beyond_the_rate_a_connection_is_served_later(server: BrokerServer) -> None:
    """``max.connection.creation.rate``: the connections of ten windows are free, the next ones wait at most a second,
    and are served.
    """
    await alter(
        server,
        {
            "listener.name.outside.max.connections": "100",
            "listener.name.outside.max.connection.creation.rate": "1",
        },
    )
    with ExitStack() as stack:
        clients = [Client(server, "OUTSIDE") for _ in range(12)]
        for one in clients:
            stack.enter_context(one.socket)
        for one in clients[:10]:
            await eventually_in_loop("it is served at once", one.has_answer)
        inside = Client(server, "INSIDE")
        stack.enter_context(inside.socket)
        await eventually_in_loop("the other listener is free", inside.has_answer)
        for one in clients[10:]:
            await eventually_in_loop("it is served later", one.has_answer)


async def test_a_connection_that_its_address_may_not_make_does_not_count(server: BrokerServer) -> None:
    """``ConnectionQuotas.updateListenerMetrics``: neither for the listener nor for the broker."""
    await alter(server, {"max.connection.creation.rate": "5"})
    quotas = server.broker.connections.quotas
    assert quotas.rates is not None
    outside, now_ms = quotas.rates.listeners["OUTSIDE"], server.broker.timers.now_ms
    quotas.delay_ms = lambda host: 1
    client = Client(server, "OUTSIDE")
    with client.socket:
        await eventually_in_loop("it is refused", client.is_closed)
    assert outside.throttled_addresses.value(now_ms()) == 1
    assert (outside.accepted.total(now_ms()), quotas.rates.broker.total(now_ms())) == (0, 0)
