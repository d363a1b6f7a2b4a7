"""The compose file is run with an engine: a broker for the host and for other containers."""

import json
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer

from support.brokers.free_ports import free_ports

from .compose import project
from .container import Image

pytestmark = pytest.mark.ci

ROOT = Path(__file__).parent.parent.parent


def read_one(bootstrap: str, topic: str, group: str) -> bytes | None:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group, "auto.offset.reset": "earliest"})
    consumer.subscribe([topic])
    try:
        message = consumer.poll(60)
        assert message is not None, "no record within 60 s"
        assert message.error() is None, message.error()
        return message.value()
    finally:
        consumer.close()


@pytest.mark.nightly
def test_it_serves_the_host_and_its_neighbours_and_goes_without_a_trace(image: Image) -> None:
    (port,) = free_ports(1)
    variables = {"ODRADEK_IMAGE": image.tag, "ODRADEK_PORT": str(port)}
    with project(image.engine, ROOT / "docker/compose.yaml", variables) as composed:
        composed.run("up", "--detach", "--no-build", "--wait", "--wait-timeout", "300")
        producer = Producer({"bootstrap.servers": f"localhost:{port}"})
        producer.produce("composed", b"from the host")
        assert producer.flush(60) == 0
        assert read_one(f"localhost:{port}", "composed", "before") == b"from the host"
        consume = "odradek consume --bootstrap-server broker:29092 --topic composed --from-beginning --max-messages 1"
        assert "from the host" in composed.run("exec", "-T", "broker", *consume.split())
        composed.run("stop")
        stopped = json.loads(composed.run("ps", "--all", "--format", "json").splitlines()[0])
        service = stopped[0] if isinstance(stopped, list) else stopped
        assert service["ExitCode"] == 0, composed.run("logs")
        composed.run("start")
        assert read_one(f"localhost:{port}", "composed", "after the restart") == b"from the host"
