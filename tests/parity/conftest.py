"""Fixtures: one Kafka and one Odradek that all parity tests share."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from parity import random_consumers, random_members
from parity.side import same
from parity.two_brokers import KAFKA_KEYS, SAME_KEYS, TwoBrokers
from parity.world import Names
from support.brokers.our_broker import OurBroker
from support.kafka.real_kafka import RealKafka
from support.kafka.wire import Wire


@pytest.fixture(scope="package")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TwoBrokers]:
    """Both brokers, empty at the start. Every test uses its own topics and groups."""
    kafka_directory: Path = tmp_path_factory.mktemp("kafka")
    with (
        Wire() as wire,
        OurBroker(tmp_path_factory.mktemp("ours"), SAME_KEYS) as ours,
        RealKafka(kafka_directory, KAFKA_KEYS) as kafka,
    ):
        yield TwoBrokers(wire, Names(ours.port), Names(kafka.port), ours.log_dir, kafka.log_dir)


@pytest.fixture(scope="package")
def members_topic(both: TwoBrokers) -> None:
    """The topic that random members of classic groups read."""
    same(both, lambda side: side.topic(random_members.TOPIC, 2))


@pytest.fixture(scope="package")
def consumers_topic(both: TwoBrokers) -> None:
    """The topic that random members of consumer groups read."""
    random_consumers.make_topic(both)
