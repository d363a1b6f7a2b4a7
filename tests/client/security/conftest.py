"""A secured real Kafka for the tests of this folder, and Kafka's tools in one JVM."""

from collections.abc import Iterator

import pytest

from support.kafka.java import TABLE_VERSION
from support.kafka.tools import KafkaTools
from support.security.secured_kafka import SecuredKafka


@pytest.fixture(scope="package")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredKafka]:
    """The real Kafka."""
    kafka = SecuredKafka(tmp_path_factory.mktemp("secured"))
    with kafka:
        yield kafka


@pytest.fixture(scope="package")
def tools() -> Iterator[KafkaTools]:
    """Kafka's tools."""
    with KafkaTools(TABLE_VERSION) as running:
        yield running
