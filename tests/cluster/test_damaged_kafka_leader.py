"""One changed byte on the disk of a leader that is a real Kafka: ours names it, copies the rest, and heals."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from cluster.damaged_batch import CRC, LENGTH, MAGIC, VALUE, change_byte, fill
from support.brokers.our_broker import OurBroker
from support.eventually import eventually
from support.kafka.real_controllers import RealControllers
from support.kafka.real_kafka import RealKafka

pytestmark = [pytest.mark.java, pytest.mark.ci]

KAFKA, OURS = 2, 1


def segment(broker: RealKafka | OurBroker, topic: str) -> Path:
    return broker.log_dir / f"{topic}-0" / f"{0:020}.log"


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
        fill(kafka.bootstrap_servers, topic, "1")
    log = segment(kafka, damaged)
    healthy = log.read_bytes()
    change_byte(log, place)
    ours.start()
    eventually("the other one is copied", lambda: is_copied(kafka, ours, other))
    named = f"replica-fetch: {damaged}-0 from broker {KAFKA} at offset "
    eventually("it is named again", lambda: ours.log().count(named) >= 2)
    fill(kafka.bootstrap_servers, other, "1")
    eventually("the other one goes on", lambda: is_copied(kafka, ours, other))
    assert healthy.startswith(segment(ours, damaged).read_bytes())
    log.write_bytes(healthy)
    eventually("it is copied", lambda: is_copied(kafka, ours, damaged))
