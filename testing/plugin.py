"""The pytest plugin that comes with the package: a Kafka broker for tests, in the test process.

    def test_orders(kafka_broker):
        producer = KafkaProducer(bootstrap_servers=kafka_broker.bootstrap_servers)

pytest imports this module in every run of everybody who has the package installed, so nothing of the broker is imported
until a test asks for a fixture.
"""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from .in_process import InProcessBroker


@pytest.fixture(scope="session")
def kafka_broker(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[InProcessBroker]":
    """One broker for the whole run, serving; tests keep apart by their own topics and groups."""
    from .in_process import InProcessBroker

    with InProcessBroker(tmp_path_factory.mktemp("kafka_broker")) as broker:
        yield broker


@pytest.fixture
def kafka_broker_factory(
    tmp_path_factory: pytest.TempPathFactory,
) -> "Iterator[Callable[..., InProcessBroker]]":
    """Makes brokers of a test's own: ``kafka_broker_factory({"num.partitions": "3"})`` gives one that serves.

    The configs are Kafka's keys with their values as text; they may be left out. Every broker is stopped at the end of
    the test, whether the test stopped it or not.
    """
    from .in_process import InProcessBroker

    brokers: list[InProcessBroker] = []

    def start(configs: dict[str, str] | None = None) -> InProcessBroker:
        broker = InProcessBroker(tmp_path_factory.mktemp("kafka_broker"), configs)
        broker.start()
        brokers.append(broker)
        return broker

    try:
        yield start
    finally:
        for broker in brokers:
            broker.stop()
