"""The steps of docs/moving-from-and-to-kafka.md lead to a working Kafka without a complaint about its configuration."""

import re
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient

from door.rules import violations
from door.topics import Plan
from door.workload import create
from support.brokers.our_broker import OurBroker
from support.kafka.java import java_or_skip
from support.kafka.log import complaints
from support.kafka.real_kafka import RealKafka

pytestmark = [pytest.mark.java, pytest.mark.ci]

PAGE = Path(__file__).parents[2] / "docs" / "moving-from-and-to-kafka.md"


def printed_configuration(kafka: RealKafka) -> dict[str, str]:
    """The configuration on the page, with the directory and ports of the test."""
    [block] = re.findall(r"```properties\n(.*?)```", PAGE.read_text(), re.DOTALL)
    lines = [line.strip() for line in block.splitlines()]
    keys = dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))
    controller = f"127.0.0.1:{kafka.controller_port}"
    return keys | {
        "log.dirs": str(kafka.log_dir),
        "listeners": f"PLAINTEXT://{kafka.bootstrap_servers},CONTROLLER://{controller}",
        "advertised.listeners": f"PLAINTEXT://{kafka.bootstrap_servers}",
        "controller.quorum.bootstrap.servers": controller,
        "odradek.log.dirs.max.bytes": "1000000000",  # an Odradek key that was left in the file
    }


def test_the_page_leads_to_a_kafka_that_serves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    java_or_skip()
    with OurBroker(tmp_path, {"node.id": "1"}) as ours:
        create(AdminClient({"bootstrap.servers": ours.bootstrap_servers}), [Plan("t")])
        send(ours.bootstrap_servers)
        ours.stop()
        kafka = RealKafka(tmp_path)
        kafka.port = ours.port
        monkeypatch.setattr(kafka, "properties", lambda: printed_configuration(kafka))
        with kafka:
            send(kafka.bootstrap_servers)
            assert complaints(kafka.output) == []
        assert violations(kafka.log_dir, clean=True) == []
        ours.start()
        send(ours.bootstrap_servers)
        assert ours.stop() == 0
        assert violations(ours.log_dir, clean=True) == []


def send(servers: str) -> None:
    """Sends one record, and waits until it is acknowledged."""
    producer = Producer({"bootstrap.servers": servers})
    failed: list[str] = []
    producer.produce("t", b"v", on_delivery=lambda error, _: failed.append(str(error)) if error else None)
    assert producer.flush(60) == 0
    assert not failed
