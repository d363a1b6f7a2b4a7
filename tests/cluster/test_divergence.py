"""A replica of ours with records that the next leader, a real Kafka broker, does not have is truncated to that leader's
log."""

import contextlib
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from support.brokers.our_broker import OurBroker
from support.eventually import eventually
from support.kafka.real_controllers import RealControllers
from support.kafka.real_kafka import RealKafka

pytestmark = [pytest.mark.java, pytest.mark.ci]

FIRST, SECOND, OURS = 2, 3, 1
SESSION_MS = 8_000
"""The session timeout: a broker that hangs for a moment must stay in the ISR, a killed one is fenced after this."""
TOPIC = "diverged"


class Cluster(NamedTuple):
    """Two real brokers that lead one after another, and ours, which follows."""

    first: RealKafka
    second: RealKafka
    ours: OurBroker


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    session = {"broker.session.timeout.ms": str(SESSION_MS)}
    with contextlib.ExitStack() as stack:
        controllers = stack.enter_context(RealControllers(tmp_path / "controllers", configs=session))
        first = stack.enter_context(controllers.kafka_broker(tmp_path / "first", FIRST, session))
        second = stack.enter_context(controllers.kafka_broker(tmp_path / "second", SECOND, session))
        ours = stack.enter_context(controllers.broker(tmp_path / "ours", OURS, session))
        yield Cluster(first, second, ours)


def segment(broker: RealKafka | OurBroker) -> bytes:
    path = broker.log_dir / f"{TOPIC}-0" / f"{0:020}.log"
    return path.read_bytes() if path.exists() else b""


def produce(broker: RealKafka, value: str, acks: str) -> None:
    """Produces one batch."""
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "acks": acks})
    producer.produce(TOPIC, value)
    assert producer.flush(120) == 0


def leader(broker: RealKafka) -> int:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    return admin.list_topics(TOPIC, timeout=30).topics[TOPIC].partitions[0].leader


def test_copy_with_records_that_the_next_leader_lacks_is_truncated(cluster: Cluster) -> None:
    first, second, ours = cluster
    admin = AdminClient({"bootstrap.servers": first.bootstrap_servers})
    new = NewTopic(TOPIC, 1, replica_assignment=[[FIRST, SECOND, OURS]])
    for future in admin.create_topics([new]).values():
        future.result(60)
    produce(first, "kept by all", "all")
    second.send_signal(signal.SIGSTOP)
    try:
        # The answer with one batch may already be in the paused broker's socket. It never gets the next batch.
        for value in ("lost or kept", "lost"):
            produce(first, value, "1")
        eventually("our copy has what the second broker lacks", lambda: segment(ours) == segment(first))
        assert b"kept by all" in segment(ours)
        assert segment(ours).count(b"lost") == 2
        first.kill()
    finally:
        second.send_signal(signal.SIGCONT)
    eventually("the second broker leads", lambda: leader(second) == SECOND)
    produce(second, "written by the second leader", "all")
    eventually("equal bytes", lambda: segment(ours) == segment(second))
    assert segment(ours).count(b"lost") < 2
    assert b"written by the second leader" in segment(ours)
    assert f"{TOPIC}-0: truncating to offset" in ours.log()
    assert " ERROR " not in ours.log()
