"""The compose file run for real: a broker for the host and for the containers beside it."""

import json
import socket
import uuid
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer

from support.docker_container import Image
from support.docker_engine import EngineMissingError, compose_environment

pytestmark = pytest.mark.ci

ROOT = Path(__file__).parent.parent.parent


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


class Project:
    """``docker compose`` on the project's file, under a name of its own and without building."""

    def __init__(self, image: Image, port: int) -> None:
        try:
            environment = compose_environment(image.engine)
        except EngineMissingError as error:
            pytest.skip(f"needs docker compose: {error}")
        self._engine = image.engine
        self._environment = {**environment, "ODRADEK_IMAGE": image.tag, "ODRADEK_PORT": str(port)}
        name = f"odradek{uuid.uuid4().hex[:8]}"
        self._prefix = ("compose", "--project-name", name, "--file", str(ROOT / "docker/compose.yaml"))

    def run(self, *arguments: str) -> str:
        return self._engine.run(*self._prefix, *arguments, environment=self._environment)


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


def test_it_serves_the_host_and_its_neighbours_and_goes_without_a_trace(image: Image) -> None:
    port = free_port()
    project = Project(image, port)
    try:
        project.run("up", "--detach", "--no-build", "--wait", "--wait-timeout", "300")
        producer = Producer({"bootstrap.servers": f"localhost:{port}"})
        producer.produce("composed", b"from the host")
        assert producer.flush(60) == 0
        assert read_one(f"localhost:{port}", "composed", "before") == b"from the host"
        consume = "odradek consume --bootstrap-server broker:29092 --topic composed --from-beginning --max-messages 1"
        assert "from the host" in project.run("exec", "-T", "broker", *consume.split())
        project.run("stop")
        stopped = json.loads(project.run("ps", "--all", "--format", "json").splitlines()[0])
        service = stopped[0] if isinstance(stopped, list) else stopped
        assert service["ExitCode"] == 0, project.run("logs")
        project.run("start")
        assert read_one(f"localhost:{port}", "composed", "after the restart") == b"from the host"
    finally:
        project.run("down", "--volumes", "--timeout", "10")
