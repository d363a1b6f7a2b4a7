"""One changed byte on the disk of a leader that is a real Kafka: ours names it, copies the rest, and heals."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from odradek.protocol.records.batch import iterate_headers
from support.brokers.our_broker import OurBroker
from support.eventually import eventually
from support.kafka.real_controllers import RealControllers
from support.kafka.real_kafka import RealKafka

pytestmark = [pytest.mark.java, pytest.mark.ci]

KAFKA, OURS = 2, 1
RECORDS = 6
DAMAGED = 4
"""The offset of the batch of which a byte is changed."""
LENGTH, MAGIC, CRC, VALUE = 11, 16, 20, 70
"""Positions in a batch: the last bytes of its length and CRC, its magic, and one of its record."""


def fill(broker: RealKafka, topic: str) -> None:
    """Writes one batch for each record."""
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "linger.ms": 0, "acks": "1"})
    for number in range(RECORDS):
        producer.produce(topic, f"record {number} of the leader".encode())
        assert producer.flush(60) == 0


def segment(broker: RealKafka | OurBroker, topic: str) -> Path:
    return broker.log_dir / f"{topic}-0" / f"{0:020}.log"


def change_byte(log: Path, place: int) -> None:
    """Adds 1 to a byte of the batch at offset DAMAGED, in place."""
    data = log.read_bytes()
    (position,) = (at for at, header in iterate_headers(data) if header.base_offset == DAMAGED)
    with log.open("r+b") as file:
        file.seek(position + place)
        file.write(bytes([(data[position + place] + 1) % 256]))


def is_copied(kafka: RealKafka, ours: OurBroker, topic: str) -> bool:
    return segment(ours, topic).read_bytes() == segment(kafka, topic).read_bytes()


@pytest.fixture(scope="module")
def brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[RealKafka, OurBroker]]:
    """The leader and the follower."""
    directory = tmp_path_factory.mktemp("damaged")
    backoff = {"replica.fetch.backoff.ms": "50", "replica.fetch.wait.max.ms": "50"}
    with contextlib.ExitStack() as stack:
        controllers = stack.enter_context(RealControllers(directory / "controllers"))
        kafka = stack.enter_context(controllers.kafka_broker(directory / "kafka", KAFKA, {}))
        yield kafka, stack.enter_context(controllers.broker(directory / "ours", OURS, backoff))


@pytest.mark.parametrize("place", [LENGTH, MAGIC, CRC, VALUE])
def test_a_changed_byte_stops_one_partition_until_it_is_right_again(
    brokers: tuple[RealKafka, OurBroker], place: int
) -> None:
    kafka, ours = brokers
    damaged, other = (f"{name}-{place}" for name in ("damaged", "other"))
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
    new = [NewTopic(topic, 1, replica_assignment=[[KAFKA, OURS]]) for topic in (damaged, other)]
    for future in admin.create_topics(new).values():
        future.result(60)
    for topic in (damaged, other):
        eventually("our copy is made", segment(ours, topic).exists)
    assert ours.stop() == 0
    for topic in (damaged, other):
        fill(kafka, topic)
    log = segment(kafka, damaged)
    healthy = log.read_bytes()
    change_byte(log, place)
    ours.start()
    eventually("the other one is copied", lambda: is_copied(kafka, ours, other))
    named = f"replica-fetch: {damaged}-0 from broker {KAFKA} at offset "
    eventually("it is named again", lambda: ours.log().count(named) >= 2)
    fill(kafka, other)
    eventually("the other one goes on", lambda: is_copied(kafka, ours, other))
    assert healthy.startswith(segment(ours, damaged).read_bytes())
    log.write_bytes(healthy)
    eventually("it is copied", lambda: is_copied(kafka, ours, damaged))
