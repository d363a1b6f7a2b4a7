"""The brokers that client and commands are tried against: ours, and a real Kafka; the same tests for both."""

from collections.abc import Iterator
from itertools import count

import pytest

from support.our_broker import OurBroker
from support.real_kafka import RealKafka

SETTINGS = {"group.initial.rebalance.delay.ms": "0"}
_numbers = count(1)


@pytest.fixture(scope="session", params=["odradek", pytest.param("kafka", marks=pytest.mark.java)])
def bootstrap(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """``host:port`` of a broker that serves."""
    directory = tmp_path_factory.mktemp(request.param)
    broker = OurBroker(directory, SETTINGS) if request.param == "odradek" else RealKafka(directory, SETTINGS)
    with broker:
        yield broker.bootstrap_servers


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    """A name for topics and groups that no other test uses."""
    test = request.function.__name__.removeprefix("test_").replace("_", "-")
    return f"{test[:60]}-{next(_numbers)}"
