"""A kill at any moment leaves a directory that keeps Kafka's rules, and so does a stop after the next start."""

import random
import threading
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from door.rules import violations
from door.topics import Plan
from door.workload import CONFIGS, create
from support.brokers.our_broker import OurBroker

KILLS_SEED = 20261121


@pytest.mark.parametrize("kills", [pytest.param(2, id="few"), pytest.param(12, id="many", marks=pytest.mark.ci)])
def test_no_moment_of_a_kill_breaks_a_rule(tmp_path: Path, kills: int) -> None:
    chance = random.Random(KILLS_SEED)
    broker = OurBroker(tmp_path, CONFIGS | {"node.id": "1", "offsets.topic.num.partitions": "1"})
    with broker:
        for round_ in range(kills):
            names = [f"r{round_}-{number}" for number in range(3)]
            configs = {"internal.segment.bytes": "3000"}
            create(
                AdminClient({"bootstrap.servers": broker.bootstrap_servers}), [Plan(n, configs=configs) for n in names]
            )
            stop = threading.Event()
            writer = threading.Thread(target=write_until, args=(broker.bootstrap_servers, names, stop))
            writer.start()
            try:
                stop.wait(chance.uniform(0.05, 0.6))
                broker.kill()
            finally:
                stop.set()
                writer.join()
            found = violations(broker.log_dir, clean=False)
            assert not found, (KILLS_SEED, round_, found)
            broker.start()
        broker.stop()
        assert violations(broker.log_dir, clean=True) == []


def write_until(servers: str, names: list[str], stop: threading.Event) -> None:
    """Writes to topics with small segments, and creates and deletes others, until ``stop`` is set."""
    quiet: dict[str, Any] = {"bootstrap.servers": servers, "log_level": 0}
    admin = AdminClient(quiet)
    producer: Any = Producer(quiet | {"enable.idempotence": True, "linger.ms": 1})
    number = 0
    while not stop.is_set():
        for name in names:
            producer.produce(name, b"v" * (number % 300), partition=number % 2)
        producer.poll(0.001)
        number += 1
        if number % 20 == 0:
            admin.create_topics([NewTopic(f"{names[0]}-{number}", 2)])
        if number % 20 == 10 and number > 20:
            admin.delete_topics([f"{names[0]}-{number - 10}"])
