"""A broker process that is stopped for longer than the sessions of its members keeps every one of them."""

import signal
import time
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer
from kafka import KafkaConsumer

from support.our_broker import OurBroker

SESSION_MS = 1_500
STALL_S = 5.0
SETTINGS = {
    "group.min.session.timeout.ms": "1000",
    "group.consumer.min.session.timeout.ms": "1000",
    "group.consumer.session.timeout.ms": str(SESSION_MS),
    "group.consumer.min.heartbeat.interval.ms": "100",
    "group.consumer.heartbeat.interval.ms": "300",
    "group.initial.rebalance.delay.ms": "0",
    "auto.create.topics.enable": "true",
}
ENDED = ("the session of", "is fenced", "goes on without", "did not come back")


class Classic:
    """A member of the classic protocol; its heartbeats come from a thread of the client's."""

    def __init__(self, servers: str) -> None:
        self._consumer = KafkaConsumer(
            "spools",
            bootstrap_servers=servers,
            group_id="classic",
            session_timeout_ms=SESSION_MS,
            heartbeat_interval_ms=300,
            auto_offset_reset="earliest",
        )

    def poll(self) -> int:
        """How many records came within a moment."""
        return sum(map(len, self._consumer.poll(100).values()))

    def close(self) -> None:
        self._consumer.close()


class Modern:
    """A member of the consumer protocol."""

    def __init__(self, servers: str) -> None:
        self._consumer = Consumer(
            {
                "bootstrap.servers": servers,
                "group.id": "modern",
                "group.protocol": "consumer",
                "auto.offset.reset": "earliest",
            }
        )
        self._consumer.subscribe(["spools"])

    def poll(self) -> int:
        """How many records came within a moment."""
        message = self._consumer.poll(0.1)
        return int(message is not None and message.error() is None)

    def close(self) -> None:
        self._consumer.close()


def produce(broker: OurBroker) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    producer.produce("spools", b"value")
    assert producer.flush(60) == 0


def read_one(members: list[Classic | Modern]) -> None:
    """Polls until each member has read a record."""
    for member in members:
        while not member.poll():
            pass


def let_time_pass(seconds: float, members: list[Classic | Modern]) -> None:
    """The clients go on, as applications do."""
    end_s = time.monotonic() + seconds
    while time.monotonic() < end_s:
        for member in members:
            member.poll()


def rebalances(broker: OurBroker) -> int:
    return sum("rebalances after" in line or ": epoch " in line for line in broker.log().splitlines())


@pytest.mark.parametrize("stalls", [1, 3])
def test_members_stay_when_the_broker_was_stopped_for_longer_than_their_sessions(tmp_path: Path, stalls: int) -> None:
    with OurBroker(tmp_path, SETTINGS) as broker:
        produce(broker)
        members: list[Classic | Modern] = [Classic(broker.bootstrap_servers), Modern(broker.bootstrap_servers)]
        read_one(members)
        before = rebalances(broker)
        for _ in range(stalls):
            broker.process.send_signal(signal.SIGSTOP)
            let_time_pass(STALL_S / stalls + SESSION_MS / 1000, members)
            broker.process.send_signal(signal.SIGCONT)
        produce(broker)
        read_one(members)
        let_time_pass(2 * SESSION_MS / 1000, members)
        text = broker.log()
        assert not [line for line in text.splitlines() if any(words in line for words in ENDED)]
        assert rebalances(broker) == before
        assert "the process did not run" in text
        for member in members:
            member.close()
        assert broker.stop() == 0
