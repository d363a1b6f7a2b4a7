"""A real Apache Kafka for tests: broker and controller in one JVM on free ports of 127.0.0.1.

    with RealKafka(tmp_path, {"num.partitions": "3"}) as kafka:
        kafka.run_tool("org.apache.kafka.tools.TopicCommand", "--bootstrap-server", kafka.bootstrap_servers, "--list")

A directory that is already formatted (by Kafka or by us) is used as it is. A start takes 3 to 10 s,
or a minute on a busy machine.
"""

import contextlib
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import TracebackType

from support.brokers.free_ports import free_ports
from support.eventually import eventually
from support.kafka.formatted import formatted
from support.kafka.java import (
    KAFKA_VERSION,
    class_archive,
    java_arguments,
    java_or_skip,
    kafka_libs,
    locked,
    run_class,
)

CLUSTER_ID = "MkU3OEVBNTcwNTJENDM2Qg"
START_TIMEOUT_S = 180.0
STOP_TIMEOUT_S = 180.0


@cache
def keep_classes(version: str, *, dynamic_quorum: bool = True) -> None:
    """Creates an archive of the loaded classes of a Kafka, which halves the processor time of later starts.

    Once for each Kafka and Java (JEP 350). Measured for 4.3.1: 1.6 s instead of 3.3 s, and 0.6 s instead of 1.1 s for
    the tool that formats. If the JVM cannot create an archive, starts remain slow.
    """
    libs = kafka_libs(version)
    archive = class_archive(libs)
    with locked(libs.parent):
        if archive.exists():
            return
        with tempfile.TemporaryDirectory() as directory:
            written = Path(directory) / "classes.jsa"
            kafka = RealKafka(Path(directory) / "kafka", version=version, dynamic_quorum=dynamic_quorum)
            kafka.run(f"-XX:ArchiveClassesAtExit={written}", "-cp", f"{libs}/*")  # archives only have classes of jars
            kafka.stop()
            if written.exists():
                shutil.copy(written, archive.with_suffix(".part"))
                archive.with_suffix(".part").rename(archive)


class RealKafka:
    """One real broker and controller; ``log_dir`` is its only log directory."""

    main_class = "kafka.Kafka"
    """The main class of the JVM."""

    def __init__(
        self,
        directory: Path,
        configs: Mapping[str, str] | None = None,
        *,
        version: str = KAFKA_VERSION,
        dynamic_quorum: bool = True,
        node_id: int = 1,
        heap: str = "512m",
        features: Mapping[str, int] | None = None,
    ) -> None:
        """``configs`` replace or add to those of :meth:`properties`. ``dynamic_quorum`` False: configures
        ``controller.quorum.voters`` instead of ``controller.quorum.bootstrap.servers``. ``features``: their levels when
        formatting, if they differ from the release's defaults."""
        self.directory = directory
        self.log_dir = directory / "logs"
        self.version = version
        self.node_id = node_id
        self.port, self.controller_port = free_ports(2)
        self._configs = dict(configs or {})
        self._dynamic_quorum = dynamic_quorum
        self._heap = heap
        self._features = [f"--feature={name}={level}" for name, level in (features or {}).items()]
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def bootstrap_servers(self) -> str:
        """``127.0.0.1:<port>``."""
        return f"127.0.0.1:{self.port}"

    @property
    def running_pid(self) -> int | None:
        """The process id; None before a start and after a stop or kill. Any thread may call this."""
        process = self._process
        return None if process is None else process.pid

    @property
    def output(self) -> str:
        """The broker's output so far."""
        path = self.directory / "out.log"
        return path.read_text(errors="replace") if path.exists() else ""

    def properties(self) -> dict[str, str]:
        """The broker's configuration."""
        controller = f"127.0.0.1:{self.controller_port}"
        quorum = (
            {"controller.quorum.bootstrap.servers": controller}
            if self._dynamic_quorum
            else {"controller.quorum.voters": f"{self.node_id}@{controller}"}
        )
        return {
            "process.roles": "broker,controller",
            "node.id": str(self.node_id),
            "listeners": f"PLAINTEXT://{self.bootstrap_servers},CONTROLLER://{controller}",
            "controller.listener.names": "CONTROLLER",
            "log.dirs": str(self.log_dir),
            "offsets.topic.replication.factor": "1",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "share.coordinator.state.topic.replication.factor": "1",
            "share.coordinator.state.topic.min.isr": "1",
            "group.initial.rebalance.delay.ms": "0",
            "log.cleaner.dedupe.buffer.size": "33554432",
            **quorum,
            **self._configs,
        }

    def start(self) -> None:
        """Formats the directory if it is new, starts the broker and returns when it serves.

        Without Java, the test is skipped, or fails in CI. Raises RuntimeError with the end of the output if the start
        fails.
        """
        java_or_skip(self.version)
        keep_classes(self.version, dynamic_quorum=self._dynamic_quorum)
        self.run()

    def run(self, *options: str) -> None:
        """Starts as :meth:`start` does, with options for the JVM, but without creating the class archive first."""
        assert self._process is None, "it runs already"
        self.directory.mkdir(parents=True, exist_ok=True)
        configuration = self.directory / "server.properties"
        configuration.write_text("".join(f"{key}={value}\n" for key, value in self.properties().items()))
        if not (self.log_dir / "meta.properties").exists():
            self._format(configuration)
        with (self.directory / "out.log").open("ab") as out:
            self._process = subprocess.Popen(
                [*java_arguments(self.version, self._heap), *options, self.main_class, str(configuration)],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        try:
            self._wait_until_serving()
        except BaseException:
            self.kill()
            raise

    def _format(self, configuration: Path) -> None:
        """Formats the directory, or copies one that Kafka's tool formatted for the same features."""
        if not self._is_formatted_as_others():
            self._format_by_tool(configuration)
            return
        how = [str(self._dynamic_quorum), str(self.node_id), *self._features]
        formatted(self.log_dir, self.version, how, self.controller_port, lambda: self._format_by_tool(configuration))

    def _is_formatted_as_others(self) -> bool:
        """Whether only the release, the features and the port of the controller decide about the files."""
        given = self.properties()
        deciding = {
            "process.roles": "broker,controller",
            "node.id": str(self.node_id),
            "controller.listener.names": "CONTROLLER",
            "log.dirs": str(self.log_dir),
        }
        return (
            deciding.items() <= given.items()
            and f"CONTROLLER://127.0.0.1:{self.controller_port}" in given["listeners"].split(",")
            and not any(key.startswith(("unstable.", "metadata.log.")) for key in given)
        )

    def _format_by_tool(self, configuration: Path) -> None:
        quorum = ["--standalone"] if self._dynamic_quorum else []
        arguments = ["format", "-t", CLUSTER_ID, "-c", str(configuration), *quorum, *self._features]
        result = self.run_tool("kafka.tools.StorageTool", *arguments)
        if result.returncode != 0:
            raise RuntimeError(f"format failed: {result.stdout}{result.stderr}")

    def _wait_until_serving(self) -> None:
        """Waits until every listener accepts. The broker opens them one after another, after it was registered and
        unfenced (BrokerServer.startup)."""
        process = self._process
        assert process is not None
        waiting = [("127.0.0.1", self.port), *addresses_of(self.properties()["listeners"])]

        def serves() -> bool:
            if process.poll() is not None:
                raise RuntimeError(f"Kafka ended with {process.returncode}: {self.output[-3000:]}")
            with contextlib.suppress(OSError):
                while waiting:
                    socket.create_connection(waiting[-1], timeout=1).close()
                    waiting.pop()
            return not waiting

        eventually(lambda: f"Kafka serves: {self.output[-3000:]}", serves, patience_s=START_TIMEOUT_S, every_s=0.05)

    def stop(self) -> int:
        """Stops it as an operator does (SIGTERM) and waits; the data stays. Returns the exit code."""
        return self._end(signal.SIGTERM)

    def kill(self) -> int:
        """Kills it (SIGKILL); the data stays."""
        return self._end(signal.SIGKILL)

    def send_signal(self, number: signal.Signals) -> None:
        """Sends SIGSTOP or SIGCONT, which pause and continue it with open connections."""
        assert self._process is not None
        self._process.send_signal(number)

    def _end(self, how: signal.Signals) -> int:
        process = self._process
        if process is None:
            return 0
        self._process = None
        process.send_signal(how)
        try:
            return process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise

    def run_tool(
        self, class_name: str, *arguments: str | Path, timeout_s: float = 120
    ) -> subprocess.CompletedProcess[str]:
        """Runs one of the release's tools, for example ``org.apache.kafka.tools.DumpLogSegments``."""
        return run_class(class_name, *arguments, version=self.version, timeout_s=timeout_s)

    def __enter__(self) -> "RealKafka":
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def addresses_of(listeners: str) -> list[tuple[str, int]]:
    """Where a client on this machine reaches each of the ``listeners``, in the form of the configuration."""
    found = []
    for listener in listeners.split(","):
        host, _, port = listener.partition("://")[2].rpartition(":")
        host = host.strip("[]")
        found.append(({"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host), int(port)))
    return found
