"""The compose file of a cluster without an engine: its environments, through both images' entry points, on this host.

The controllers are started as Apache's image starts them (``kafka.docker.KafkaDockerWrapper``), the brokers by
docker/entrypoint.py. Names and ports of the containers become ports of 127.0.0.1.
"""

import contextlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import yaml
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic  # type: ignore[attr-defined]

from support.brokers.free_ports import free_ports
from support.eventually import eventually
from support.kafka.java import java_arguments, java_or_skip

from .entry_points import DOCKER, entry_point

pytestmark = [pytest.mark.java, pytest.mark.ci]

COMPOSE = DOCKER / "compose.cluster.yaml"
CONTROLLERS = ("controller-1", "controller-2", "controller-3")
BROKERS = ("broker-1", "broker-2", "broker-3")
TIMEOUT_S = 60


def services() -> dict[str, Any]:
    """The services with their defaults, as in compose without variables."""
    text = re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", COMPOSE.read_text())
    found: dict[str, Any] = yaml.safe_load(text)["services"]
    return found


class Hosts:
    """Ports of 127.0.0.1 instead of the containers' addresses."""

    def __init__(self) -> None:
        ports = free_ports(9)
        self._addresses: dict[str, str] = {}
        self.published: dict[str, int] = {}
        for number, name in enumerate(CONTROLLERS):
            self._addresses[f"{name}:9093"] = f"127.0.0.1:{ports[number]}"
        for number, name in enumerate(BROKERS):
            self._addresses[f"{name}:29092"] = f"127.0.0.1:{ports[3 + number]}"
            self._addresses[f"localhost:{9092 + number}"] = f"127.0.0.1:{ports[6 + number]}"
            self.published[name] = ports[6 + number]

    def translated(self, text: str) -> str:
        """Translates addresses of other containers."""
        for name, address in self._addresses.items():
            text = text.replace(name, address)
        return text

    def environment(self, name: str, service: Mapping[str, Any]) -> dict[str, str]:
        """The environment of a service, with translated addresses and listeners."""
        given = {key: self.translated(str(value)) for key, value in service["environment"].items()}
        own = {"9093": f"{name}:9093", "29092": f"{name}:29092", "9092": f"localhost:{9091 + int(name[-1])}"}
        given["KAFKA_LISTENERS"] = re.sub(
            r"://:(\d+)", lambda found: "://" + self.translated(own[found[1]]), given["KAFKA_LISTENERS"]
        )
        return given


def controller(directory: Path, environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """Configures, formats and starts a controller as Apache's image does."""
    own, mounted, final = (directory / name for name in ("default", "mounted", "final"))
    for place in (own, mounted, final):
        place.mkdir(parents=True, exist_ok=True)
    for name in ("server.properties", "log4j2.yaml", "tools-log4j2.yaml"):
        (own / name).touch()
    variables = {**os.environ, **environment, "KAFKA_LOG_DIRS": str(directory / "data")}
    heap = environment["KAFKA_HEAP_OPTS"].removeprefix("-Xmx")
    java, *rest = java_arguments(heap=heap)
    arguments = [java, *environment["KAFKA_JVM_PERFORMANCE_OPTS"].split(), *rest]
    places = ("-D", str(own), "-M", str(mounted), "-F", str(final))
    setup = [*arguments, "kafka.docker.KafkaDockerWrapper", "setup", *places]
    configured = subprocess.run(setup, env=variables, capture_output=True, text=True, check=False)
    assert configured.returncode == 0, configured.stdout + configured.stderr
    with (directory / "out.log").open("ab") as out:
        run = [*arguments, "kafka.Kafka", str(final / "server.properties")]
        return subprocess.Popen(run, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT)


def entrypoint(arguments: Sequence[str], environment: Mapping[str, str]) -> list[str]:
    """The command that our image's entry point runs."""
    module = entry_point("entrypoint.py")
    command: list[str] = module.command(arguments, environment, False)
    own = str(DOCKER / "server.properties")
    return [own if part == module.OWN_CONFIGURATION else part for part in command]


class ComposedBroker:
    """A broker's container."""

    def __init__(self, directory: Path, environment: Mapping[str, str]) -> None:
        self.directory = directory
        self._environment = environment
        self._process: subprocess.Popen[bytes] | None = None
        directory.mkdir(parents=True, exist_ok=True)

    def start(self) -> None:
        """Starts it, and returns when it serves."""
        log = self.directory / "out.log"
        log.unlink(missing_ok=True)
        command = entrypoint(["serve", "--override", f"log.dirs={self.directory / 'data'}"], self._environment)
        assert command.pop(0) == "odradek"
        with log.open("wb") as out:
            run = [sys.executable, "-m", "odradek", *command]
            self._process = subprocess.Popen(run, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT)
        process = self._process

        def serves() -> bool:
            assert process.poll() is None, log.read_text()
            return " listens on " in log.read_text()

        eventually(lambda: f"{self.directory.name} serves: {log.read_text()}", serves)

    def stop(self) -> int:
        """Stops it as ``docker stop`` does."""
        assert self._process is not None
        self._process.terminate()
        return self._process.wait(TIMEOUT_S)

    def kill(self) -> None:
        """Kills it if it runs."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()


@pytest.fixture(scope="module")
def hosts() -> Hosts:
    return Hosts()


@pytest.fixture(scope="module")
def brokers(hosts: Hosts, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[ComposedBroker]]:
    """The services in the order in which compose starts them."""
    java_or_skip()
    place = tmp_path_factory.mktemp("composed")
    composed = services()
    with contextlib.ExitStack() as stack:
        with ThreadPoolExecutor(len(CONTROLLERS)) as pool:
            starts = [
                pool.submit(controller, place / name, hosts.environment(name, composed[name])) for name in CONTROLLERS
            ]
            for start in starts:
                stack.callback(start.result().kill)
        started = [ComposedBroker(place / name, hosts.environment(name, composed[name])) for name in BROKERS]
        for broker in started:
            stack.callback(broker.kill)
            broker.start()
        yield started


def test_the_environments_make_a_cluster_that_serves_the_host(hosts: Hosts, brokers: list[ComposedBroker]) -> None:
    """New volumes are formatted with CLUSTER_ID, topics get three replicas, two of which must have each write."""
    servers: dict[str, Any] = {"bootstrap.servers": f"127.0.0.1:{hosts.published['broker-1']}"}
    admin = AdminClient(servers)
    admin.create_topics([NewTopic("composed", 3, -1)])["composed"].result(TIMEOUT_S)
    eventually("the topic is known", lambda: "composed" in admin.list_topics(timeout=TIMEOUT_S).topics)
    metadata = admin.list_topics(timeout=TIMEOUT_S)
    assert {one.port for one in metadata.brokers.values()} == set(hosts.published.values())
    assert all(len(one.replicas) == 3 for one in metadata.topics["composed"].partitions.values())
    resource = ConfigResource(ConfigResource.Type.TOPIC, "composed")
    described = admin.describe_configs([resource])[resource].result(TIMEOUT_S)
    assert described["min.insync.replicas"].value == "2"
    assert read_and_written(servers, "before") == b"before"
    # A restart finds its volume formatted.
    identity = (brokers[0].directory / "data" / "meta.properties").read_text()
    assert "cluster.id=MkU3OEVBNTcwNTJENDM2Qg" in identity
    assert brokers[0].stop() == 0
    brokers[0].start()
    assert (brokers[0].directory / "data" / "meta.properties").read_text() == identity
    assert read_and_written(servers, "after") == b"after"


def read_and_written(servers: dict[str, Any], value: str) -> bytes | None:
    producer = Producer(servers)
    producer.produce("composed", value)
    assert producer.flush(TIMEOUT_S) == 0
    consumer = Consumer({**servers, "group.id": value, "auto.offset.reset": "earliest"})
    consumer.subscribe(["composed"])
    while True:
        message = consumer.poll(TIMEOUT_S)
        assert message is not None
        if message.error() is None and message.value() == value.encode():
            consumer.close()
            return message.value()


def test_the_image_of_the_brokers_is_the_one_that_is_built_here() -> None:
    composed = services()
    assert {composed[name]["image"] for name in BROKERS} == {"odradek"}
    assert {composed[name]["image"] for name in CONTROLLERS} == {"apache/kafka:4.4.0"}
    volumes = [composed[name]["volumes"] for name in (*CONTROLLERS, *BROKERS)]
    assert volumes == [[f"{name}:/var/lib/kafka/data"] for name in (*CONTROLLERS, *BROKERS)]
