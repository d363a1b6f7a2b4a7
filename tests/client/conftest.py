"""The brokers for tests of client and commands: ours and a real Kafka. Both get the same tests."""

from collections.abc import Iterator
from itertools import count

import pytest

from support.brokers.our_broker import OurBroker
from support.kafka.real_kafka import RealKafka

SETTINGS = {
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "500",
    "group.consumer.heartbeat.interval.ms": "300",
    "group.consumer.min.heartbeat.interval.ms": "100",
    "group.streams.initial.rebalance.delay.ms": "0",
    "log.retention.check.interval.ms": "86400000",  # some tests write old records, which retention would delete
}
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
def bootstrap(request: pytest.FixtureRequest) -> str:
    """``host:port`` of a broker that serves."""
    address: str = request.getfixturevalue(request.param)
    return address


@pytest.fixture(params=["odradek", pytest.param("kafka", marks=[pytest.mark.java, pytest.mark.ci])])
def servers(request: pytest.FixtureRequest) -> str:
    """``host:port`` of a broker that serves; the real one only in CI."""
    address: str = request.getfixturevalue(request.param)
    return address


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    """A name for topics and groups that no other test uses."""
    test = request.function.__name__.removeprefix("test_").replace("_", "-")
    return f"{test[:60]}-{next(_numbers)}"
