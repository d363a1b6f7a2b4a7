"""The commands of docs/cluster.md are run unchanged."""

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import pytest
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from cluster.rolling.places import ADMIN_TIMEOUT_S, Places
from support.brokers.free_ports import free_port
from support.eventually import eventually
from support.kafka.real_controllers import FIRST_NODE_ID, RealControllers
from support.kafka.real_kafka import CLUSTER_ID
from support.pages import blocks, only_block
from support.reader import Reader, written

pytestmark = [pytest.mark.java, pytest.mark.ci]

PAGE = Path(__file__).parent.parent.parent / "docs" / "cluster.md"
FEATURES = "odradek features --bootstrap-server HOST:9092"
CONFIGS = {
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
}


class Operator:
    """Runs commands of the page in a directory."""

    def __init__(self, directory: Path, servers: str) -> None:
        self._directory = directory
        self._servers = servers
        self._page = re.sub(r"\s+", " ", PAGE.read_text())

    def run(self, command: str, code: int = 0, instead: Mapping[str, str] = MappingProxyType({})) -> str:
        """Runs a command of the page; returns its output. ``instead``: replacements for words of the command."""
        assert command in self._page, f"{PAGE.name} has no {command}"
        words = shlex.split(command.replace("HOST:9092", self._servers))
        assert words.pop(0) == "odradek"
        words = [instead.get(word, word) for word in words]
        ended = subprocess.run(
            [sys.executable, "-m", "odradek", *words], cwd=self._directory, capture_output=True, text=True, check=False
        )
        assert ended.returncode == code, f"{command}: {ended.returncode}\n{ended.stdout}\n{ended.stderr}"
        return ended.stdout + ended.stderr


def test_commands_of_the_page_replace_a_broker_and_move_its_partitions(tmp_path: Path) -> None:
    """In a cluster with the features of its release, an Apache Kafka broker is replaced by ours, with another one of
    ours.
    """
    with (
        RealControllers(tmp_path / "controllers") as controllers,
        Places(tmp_path, controllers, CONFIGS, count=2) as places,
    ):
        first, second = places[1], places[2]
        first.start("kafka")
        operator = Operator(tmp_path, first.kafka.bootstrap_servers)
        voters = operator.run("odradek metadata-quorum --bootstrap-server HOST:9092 describe --replication")
        assert [line.split()[0] for line in voters.splitlines() if "Leader" in line] == [str(FIRST_NODE_ID)]
        features = operator.run(f"{FEATURES} describe")
        assert re.search(r"metadata\.version .*FinalizedVersionLevel: 4\.4-IV2", features)
        second.start("ours")
        new = NewTopic("orders", 1, replica_assignment=[[1, 2]])
        places.admin.create_topics([new])["orders"].result(ADMIN_TIMEOUT_S)
        places.until_full_isr()
        assert not operator.run("odradek topics --bootstrap-server HOST:9092 --describe --at-min-isr-partitions")
        first.stop()
        properties = tmp_path / "server.properties"
        properties.write_text("".join(f"{key}={value}\n" for key, value in first.ours.keys().items()))
        assert "stopped cleanly" in operator.run("odradek storage info --config server.properties")
        first.start("ours")
        under_replicated = "odradek topics --bootstrap-server HOST:9092 --describe --under-replicated-partitions"
        eventually("every ISR is full", lambda: not operator.run(under_replicated))
        operator.run(
            "odradek leader-election --bootstrap-server HOST:9092 --election-type preferred --all-topic-partitions"
        )
        move_to_second(operator, tmp_path)
        first.stop()
        left = Operator(tmp_path, second.ours.bootstrap_servers)
        left.run("odradek cluster unregister --bootstrap-server HOST:9092 --id 1")
        eventually("every ISR is full", lambda: not left.run(under_replicated))
        assert {broker.id for broker in places.admin.list_topics(timeout=ADMIN_TIMEOUT_S).brokers.values()} == {2}


def move_to_second(operator: Operator, directory: Path) -> None:
    """Runs the steps with new brokers, for one topic."""
    (directory / "topics.json").write_text(json.dumps({"version": 1, "topics": [{"topic": "orders"}]}))
    reassign = "odradek reassign-partitions --bootstrap-server HOST:9092"
    generate = f"{reassign} --topics-to-move-json-file topics.json --broker-list 4,5,6 --generate"
    proposed = operator.run(generate, instead={"4,5,6": "1,2"}).strip().splitlines()[-1]
    plan = json.loads(proposed)
    plan["partitions"] = [{**one, "replicas": [2], "log_dirs": ["any"]} for one in plan["partitions"]]
    (directory / "plan.json").write_text(json.dumps(plan))
    operator.run(f"{reassign} --reassignment-json-file plan.json --execute")
    verify = f"{reassign} --reassignment-json-file plan.json --verify"
    eventually("the end of the move", lambda: "partition orders-0 is completed" in operator.run(verify))


def test_a_new_broker_joins_with_the_configuration_and_commands_of_the_page(tmp_path: Path) -> None:
    """In a cluster with the features of its release."""
    properties = only_block("docs/cluster.md", "Start one broker", "properties").text
    with RealControllers(tmp_path / "controllers") as controllers:
        reader = Reader(tmp_path)
        port = free_port()
        own = (
            ("HOST:9093", controllers.addresses),
            ("PLAINTEXT://:9092", f"PLAINTEXT://127.0.0.1:{port}"),
            ("broker-1:9092", f"127.0.0.1:{port}"),
            ("/var/lib/odradek", str(tmp_path / "data")),
        )
        (tmp_path / "server.properties").write_text(written(properties, *own))
        make_directory, serve = blocks("docs/cluster.md", "Start one broker")[1].commands()
        reader.run(written(make_directory, ("--cluster-id ID", f"--cluster-id {CLUSTER_ID}")))
        with reader.serving(serve) as address:
            assert AdminClient({"bootstrap.servers": address}).list_topics(timeout=ADMIN_TIMEOUT_S).brokers.keys() == {
                1
            }
