"""A broker that is its own controller takes a new ``advertised.listeners`` while it runs, as Kafka did until 3.9."""

from pathlib import Path

import pytest

from odradek.broker.metadata.image import Endpoint
from odradek.broker.server.broker_server import BrokerServer
from odradek.protocol.errors import ErrorCode

from .config_changes import alter, replace, run

KEY = "advertised.listeners"
NEW = "PLAINTEXT://broker.example:19092"


def addresses(server: BrokerServer) -> list[Endpoint]:
    return list(server.broker.metadata.image.brokers[1].endpoints.values())


def test_clients_get_the_new_address_at_once_and_after_a_restart(tmp_path: Path) -> None:
    async def change(server: BrokerServer) -> None:
        before = server.broker.metadata.image.brokers[1]
        assert alter(server, {KEY: NEW}) == (ErrorCode.NONE, None)
        now = server.broker.metadata.image.brokers[1]
        assert list(now.endpoints.values()) == [Endpoint("PLAINTEXT", "broker.example", 19092)]
        assert now == before._replace(endpoints=now.endpoints), "all else stays, the epoch too"
        assert server.running.advertised == addresses(server)

    async def look(server: BrokerServer) -> None:
        assert addresses(server) == [Endpoint("PLAINTEXT", "broker.example", 19092)]

    async def take_back(server: BrokerServer) -> None:
        assert replace(server, {}) == (ErrorCode.NONE, None)
        assert addresses(server) == [Endpoint("PLAINTEXT", "127.0.0.1", server.listeners[0].port)]

    async def look_again(server: BrokerServer) -> None:
        assert addresses(server) == [Endpoint("PLAINTEXT", "127.0.0.1", server.listeners[0].port)]

    run(tmp_path, change, look, take_back, look_again)
    run(tmp_path, change, kill=True)
    run(tmp_path, look)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("OTHER://host:1", "No security protocol defined for listener OTHER"),
        ("PLAINTEXT://0.0.0.0:9092", "nonroutable meta-address"),
        ("PLAINTEXT", "PLAINTEXT"),
        ("", KEY),
    ],
)
def test_an_address_that_would_stop_a_start_is_refused(tmp_path: Path, text: str, said: str) -> None:
    async def work(server: BrokerServer) -> None:
        before = addresses(server)
        for answer in (alter(server, {KEY: text}), replace(server, {KEY: text})):
            assert answer[0] is ErrorCode.INVALID_REQUEST
            assert said in (answer[1] or ""), answer
        assert addresses(server) == before

    run(tmp_path, work)


def test_it_is_an_address_of_one_broker(tmp_path: Path) -> None:
    async def work(server: BrokerServer) -> None:
        expected = ErrorCode.INVALID_REQUEST, f"Cannot update these configs dynamically: [{KEY}]"
        assert alter(server, {KEY: NEW}, "") == expected

    run(tmp_path, work)
