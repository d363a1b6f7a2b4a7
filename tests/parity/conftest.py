"""Fixtures: one Kafka and one Odradek that all parity tests share."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from answers.plain_line import PlainLine
from answers.recording import DIRECTORY, Recording
from parity import random_consumers, random_members, random_streams
from parity.side import same
from parity.two_brokers import KAFKA_KEYS, SAME_KEYS, TwoBrokers
from parity.world import Names
from support.brokers.our_broker import OurBroker
from support.kafka.java import KAFKA_VERSION
from support.kafka.real_kafka import RealKafka
from support.kafka.wire import Wire


@pytest.fixture(scope="package")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TwoBrokers]:
    """Both brokers, empty at the start. Every test uses its own topics and groups."""
    directory = os.environ.get(DIRECTORY)
    kafka_directory: Path = tmp_path_factory.mktemp("kafka")
    with (
        PlainLine() if directory else Wire() as wire,
        OurBroker(tmp_path_factory.mktemp("ours"), SAME_KEYS) as ours,
        RealKafka(kafka_directory, KAFKA_KEYS) as kafka,
    ):
        both = TwoBrokers(wire, Names(ours.port), Names(kafka.port), ours.log_dir, kafka.log_dir)
        both.recording = Recording() if directory else None
        yield both
        if directory and both.recording is not None:
            both.recording.write(Path(directory), KAFKA_VERSION, SAME_KEYS)


@pytest.fixture(scope="package")
def members_topic(both: TwoBrokers) -> None:
    """The topic that random members of classic groups read."""
    same(both, lambda side: side.topic(random_members.TOPIC, 2))


@pytest.fixture(scope="package")
def consumers_topic(both: TwoBrokers) -> None:
    """The topic that random members of consumer groups read."""
    random_consumers.make_topic(both)


@pytest.fixture(scope="package")
def streams_topics(both: TwoBrokers) -> None:
    """The topics that random members of streams groups read."""
    random_streams.make_topics(both)
