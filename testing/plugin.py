"""The pytest plugin that comes with the package: Kafka brokers for tests, in the test process.

    def test_orders(kafka):
        producer = KafkaProducer(bootstrap_servers=kafka.bootstrap_servers)

pytest imports this module in every run of every user who has the package, so the broker is imported only when a test
asks for a fixture.
"""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from .cluster import KafkaCluster
    from .in_process import InProcessBroker


@pytest.fixture
def kafka() -> "Iterator[InProcessBroker]":
    """A clean broker for this test: no topics, no groups. Its data is removed at the end of the test."""
    from .in_process import InProcessBroker

    with InProcessBroker() as broker:
        yield broker


@pytest.fixture(scope="session")
def kafka_broker(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[InProcessBroker]":
    """One broker for the whole run. Tests share its data, so each needs topics and groups of its own."""
    from .in_process import InProcessBroker

    with InProcessBroker(tmp_path_factory.mktemp("kafka_broker")) as broker:
        yield broker


@pytest.fixture
def kafka_broker_factory(
    tmp_path_factory: pytest.TempPathFactory,
) -> "Iterator[Callable[..., InProcessBroker]]":
    """Starts brokers for this test: ``kafka_broker_factory({"num.partitions": 3})`` returns one that serves.

    The configs map Kafka's keys to a str, int, float or bool; they may be left out. Every broker is stopped at the end
    of the test, even if the test has stopped it.
    """
    from .in_process import ConfigValue, InProcessBroker

    brokers: list[InProcessBroker] = []

    def start(configs: "dict[str, ConfigValue] | None" = None) -> InProcessBroker:
        broker = InProcessBroker(tmp_path_factory.mktemp("kafka_broker"), configs)
        broker.start()
        brokers.append(broker)
        return broker

    try:
        yield start
    finally:
        for broker in brokers:
            broker.stop()


@pytest.fixture
def kafka_cluster() -> "Iterator[KafkaCluster]":
    """A clean cluster of three brokers for this test. Its data is removed at the end of the test."""
    from .cluster import KafkaCluster

    with KafkaCluster(brokers=3) as cluster:
        yield cluster


@pytest.fixture
def kafka_cluster_factory(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[Callable[..., KafkaCluster]]":
    """Starts clusters for this test: ``kafka_cluster_factory(brokers=3, configs={...}, racks=[...])`` returns one.

    The configs map Kafka's keys to a str, int, float or bool, for all brokers and the controller; ``racks`` has
    ``broker.rack`` of each broker. All may be left out. Every cluster is ended with the test.
    """
    from .cluster import KafkaCluster
    from .in_process import ConfigValue

    clusters: list[KafkaCluster] = []

    def start(
        brokers: int = 3, configs: "dict[str, ConfigValue] | None" = None, racks: "list[str] | None" = None
    ) -> KafkaCluster:
        cluster = KafkaCluster(tmp_path_factory.mktemp("kafka_cluster"), brokers, configs, racks)
        clusters.append(cluster)
        cluster.start()
        return cluster

    try:
        yield start
    finally:
        for cluster in clusters:
            cluster.stop()
