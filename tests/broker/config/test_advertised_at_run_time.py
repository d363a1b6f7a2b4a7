"""A broker that is its own controller takes a new ``advertised.listeners`` while it runs, as Kafka did until 3.9."""

from pathlib import Path

import pytest

from odradek.broker.api import describe_configs
from odradek.broker.config.describe import ConfigSource, describe_broker
from odradek.broker.config.server_config import ServerConfig
from odradek.broker.dispatch.request import RequestContext
from odradek.broker.metadata.image.image import Endpoint, ResourceType
from odradek.broker.server.broker_server import BrokerServer
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.configs import DescribeConfigsRequest, DescribeConfigsResponse

from .config_changes import NOW_MS, alter, replace, run

KEY = "advertised.listeners"
NEW = "PLAINTEXT://broker.example:19092"
STATIC, DYNAMIC = ConfigSource.STATIC_BROKER_CONFIG, ConfigSource.DYNAMIC_BROKER_CONFIG


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


def described(server: BrokerServer) -> DescribeConfigsResponse.DescribeConfigsResourceResult:
    """The entry of the key in an answer of DescribeConfigs, with its synonyms."""
    resource = DescribeConfigsRequest.DescribeConfigsResource(ResourceType.BROKER, "1", [KEY])
    answers: list[DescribeConfigsResponse] = []
    request = DescribeConfigsRequest([resource], include_synonyms=True)
    context = RequestContext(describe_configs.API_KEY, 4, "client", "127.0.0.1", "PLAINTEXT", 1, NOW_MS)
    for _ in describe_configs.handle(server.broker, request, context, answers.append):
        pass
    [entry] = answers[0].results[0].configs
    return entry


def test_a_description_shows_the_address_now_and_that_of_the_start(tmp_path: Path) -> None:
    async def change(server: BrokerServer) -> None:
        at_start = f"PLAINTEXT://127.0.0.1:{server.listeners[0].port}"
        entry = described(server)
        assert (entry.value, entry.read_only, entry.config_source) == (at_start, True, STATIC)
        assert alter(server, {KEY: NEW}) == (ErrorCode.NONE, None)
        entry = described(server)
        assert (entry.value, entry.read_only, entry.config_source) == (NEW, True, DYNAMIC)
        assert [(one.value, one.source) for one in entry.synonyms] == [(NEW, DYNAMIC), (at_start, STATIC)]

    async def look(server: BrokerServer) -> None:
        at_start = f"PLAINTEXT://127.0.0.1:{server.listeners[0].port}"
        assert [one.value for one in described(server).synonyms] == [NEW, at_start]

    run(tmp_path, change, look)


def test_a_broker_that_can_not_change_it_shows_only_the_address_of_the_start() -> None:
    server = ServerConfig.load(None, [], {})
    entries = describe_broker(server, {KEY: NEW}, {KEY: NEW}, "PLAINTEXT://a:1")
    [entry] = [one for one in entries if one.name == KEY]
    assert (entry.value, entry.read_only, entry.source) == ("PLAINTEXT://a:1", True, STATIC)
    assert [one.value for one in entry.synonyms] == ["PLAINTEXT://a:1"]
