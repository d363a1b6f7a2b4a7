"""The two clusters of three brokers that `make bench-cluster` compares: same controllers, same keys."""

import contextlib
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from brokers import wait_until_it_answers
from support.brokers.free_ports import free_ports
from support.brokers.processor_time import cpu_seconds
from support.kafka.java import java_arguments
from support.kafka.real_controllers import RealControllers, format_member

BROKERS = (1, 2, 3)
PATIENCE_S = 180.0
SESSION = {"broker.session.timeout.ms": "4500", "broker.heartbeat.interval.ms": "1000"}
"""Half of Kafka's defaults, for the controllers and all brokers: a killed broker is fenced after 4.5 s, not 9 s."""
QUICK_SESSION = {"broker.session.timeout.ms": "1500", "broker.heartbeat.interval.ms": "300"}
COMMIT = {"controller.quorum.append.linger.ms": "25"}
"""Kafka's default. The controllers of tests have 0."""
SAME_KEYS = {
    "process.roles": "broker",
    "controller.listener.names": "CONTROLLER",
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.replication.factor": "3",
    "transaction.state.log.replication.factor": "3",
    "transaction.state.log.min.isr": "2",
    "auto.create.topics.enable": "false",
}
"""The configs of the brokers of both clusters."""

Command = Callable[[Mapping[str, str], Path], list[str]]
"""A broker's keys and its directory -> the command that runs it."""


@dataclass(slots=True)
class Node:
    """One broker of a cluster."""

    node_id: int
    port: int
    directory: Path
    process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """The process of the broker, which must run."""
        assert self.process is not None
        return self.process.pid

    def proportional_mb(self) -> float:
        """Proportional set size (PSS): memory that it shares with other processes counts in part."""
        for line in Path(f"/proc/{self.pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) / 1024
        raise AssertionError("no Pss")


@dataclass(slots=True)
class Cluster:
    """A controller, which runs, and its brokers."""

    controllers: RealControllers
    command: Command
    session: Mapping[str, str]
    nodes: dict[int, Node] = field(default_factory=dict)

    @property
    def bootstrap(self) -> str:
        """The addresses of all brokers."""
        return ",".join(f"127.0.0.1:{node.port}" for node in self.nodes.values())

    def start(self, node_id: int) -> float:
        """Starts a broker. Returns the seconds until it answers requests, which it does once it is unfenced."""
        node = self.nodes[node_id]
        keys = {
            **SAME_KEYS,
            **self.session,
            "node.id": str(node_id),
            "controller.quorum.voters": self.controllers.voters,
            "listeners": f"PLAINTEXT://127.0.0.1:{node.port}",
            "log.dirs": str(node.directory / "data"),
        }
        log = node.directory / "output.log"
        with log.open("ab") as out:
            begin = time.perf_counter()
            node.process = subprocess.Popen(
                self.command(keys, node.directory), stdout=out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL
            )
            wait_until_it_answers(node.port, node.process, log, PATIENCE_S)
        return time.perf_counter() - begin

    def kill(self, node_id: int) -> None:
        """Ends a broker by SIGKILL."""
        process = self._ending(node_id)
        process.kill()
        process.wait()

    def terminate(self, node_id: int) -> subprocess.Popen[bytes]:
        """Begins a controlled shutdown (SIGTERM) of a broker. Returns its process, to be waited for."""
        process = self._ending(node_id)
        process.terminate()
        return process

    def _ending(self, node_id: int) -> subprocess.Popen[bytes]:
        node = self.nodes[node_id]
        process, node.process = node.process, None
        assert process is not None
        return process

    def memory_mb(self) -> float:
        """The sum of the brokers' PSS, without the controller."""
        return sum(node.proportional_mb() for node in self.nodes.values())

    def cpu_seconds(self) -> float:
        """User and system time of the brokers so far, without the controller."""
        return sum(cpu_seconds(node.pid) for node in self.nodes.values())


@contextlib.contextmanager
def cluster(command: Command, directory: Path, session: Mapping[str, str]) -> Iterator[Cluster]:
    """A controller and three formatted brokers, which are not started; ends all of them with the block."""
    with RealControllers(directory / "controller", configs={**session, **COMMIT}) as controllers:
        made = Cluster(controllers, command, session)
        for node_id, port in zip(BROKERS, free_ports(len(BROKERS)), strict=True):
            made.nodes[node_id] = Node(node_id, port, directory / f"broker-{node_id}")
            format_member(made.nodes[node_id].directory / "data", node_id)
        try:
            yield made
        finally:
            for node in made.nodes.values():
                if node.process is not None:
                    node.process.kill()
                    node.process.wait()


def odradek(executable: Path) -> Command:
    """The command of our broker, from the installed wheel."""

    def command(keys: Mapping[str, str], directory: Path) -> list[str]:
        overrides = [part for key, value in keys.items() for part in ("--override", f"{key}={value}")]
        return [str(executable), "serve", *overrides]

    return command


def kafka(libs: Path, *, is_quick: bool) -> Command:
    """The command of Apache Kafka's broker, with the heap of its scripts; with a smaller one for a quick look."""
    java = ["java", "-Xmx1g", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp", f"{libs}/*"]
    if is_quick:
        java = java_arguments(heap="320m")

    def command(keys: Mapping[str, str], directory: Path) -> list[str]:
        configuration = directory / "server.properties"
        configuration.write_text("".join(f"{key}={value}\n" for key, value in keys.items()))
        return [*java, "kafka.Kafka", str(configuration)]

    return command
