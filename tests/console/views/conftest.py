"""A broker of ours and a real Kafka: the views are tested against both, because the console is for any Kafka."""

from collections.abc import AsyncIterator, Iterator
from itertools import count

import pytest

from odradek.console.context import ClientSettings, Context
from support.brokers.our_broker import OurBroker
from support.kafka.real_kafka import RealKafka

SETTINGS = {"group.initial.rebalance.delay.ms": "0", "log.retention.check.interval.ms": "86400000"}
_numbers = count(1)


@pytest.fixture(scope="session")
def odradek(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """``host:port`` of our broker."""
    with OurBroker(tmp_path_factory.mktemp("odradek"), SETTINGS) as broker:
        yield broker.bootstrap_servers


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """``host:port`` of a real Kafka."""
    with RealKafka(tmp_path_factory.mktemp("kafka"), SETTINGS) as broker:
        yield broker.bootstrap_servers


@pytest.fixture(params=["odradek", pytest.param("kafka", marks=pytest.mark.java)])
def servers(request: pytest.FixtureRequest) -> str:
    """``host:port`` of a broker that serves."""
    address: str = request.getfixturevalue(request.param)
    return address


@pytest.fixture
async def context(servers: str) -> AsyncIterator[Context]:
    """A session at the broker."""
    made = Context(ClientSettings(servers, command_options=("--bootstrap-server", "here:9092")))
    await made.connect()
    yield made
    await made.close()


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    """A name for topics and groups that no other test uses."""
    test = request.function.__name__.removeprefix("test_").replace("_", "-")
    return f"{test[:60]}-{next(_numbers)}"
