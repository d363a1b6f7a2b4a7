"""The two brokers that the bench compares: each started as a user would, with the same keys, as a process."""

import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from support.brokers.free_ports import free_port
from support.brokers.processor_time import cpu_seconds

SAME_KEYS = {
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
}
"""The configs of both brokers."""


@dataclass(slots=True)
class Running:
    """A broker that serves."""

    bootstrap: str
    pid: int
    start_seconds: float

    def memory_mb(self) -> float:
        """Resident memory of the process."""
        for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) / 1024
        raise AssertionError("no VmRSS")

    def cpu_seconds(self) -> float:
        """User and system time used so far."""
        return cpu_seconds(self.pid)


def answers(port: int) -> bool:
    """Whether the broker answers an ApiVersions request: a connect alone proves nothing."""
    request = bytes.fromhex("0000000e0012000000000001000462656e63")
    request = (len(request) - 4).to_bytes(4, "big") + request[4:]
    try:
        with socket.create_connection(("127.0.0.1", port), 0.2) as one:
            one.sendall(request)
            return len(one.recv(8)) > 0
    except OSError:
        return False


def wait_until_it_answers(port: int, process: subprocess.Popen[bytes], log: Path, patience_s: float = 60) -> None:
    """Waits for the first answer of a broker; AssertionError with the end of its log if it ends or takes too long."""
    deadline = time.monotonic() + patience_s
    while not answers(port):
        assert process.poll() is None, f"the broker ended:\n{log.read_text()[-2000:]}"
        assert time.monotonic() < deadline, f"no answer within {patience_s:.0f} s:\n{log.read_text()[-2000:]}"
        time.sleep(0.005)


def stop(process: subprocess.Popen[bytes]) -> None:
    """Ends a broker as an operator does, by SIGTERM; by force when it takes more than 60 s."""
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(60)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


@contextmanager
def serving(command: list[str], port: int, log: Path) -> Iterator[Running]:
    """Runs a broker's command until the block ends."""
    with log.open("wb") as out:
        begin = time.perf_counter()
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
        try:
            wait_until_it_answers(port, process, log)
            yield Running(f"127.0.0.1:{port}", process.pid, time.perf_counter() - begin)
        finally:
            stop(process)


@contextmanager
def odradek(executable: Path, directory: Path, more: Mapping[str, str] | None = None) -> Iterator[Running]:
    """Our broker, from the installed wheel. ``more``: further keys."""
    port = free_port()
    own = {"listeners": f"PLAINTEXT://127.0.0.1:{port}", "log.dirs": str(directory / "data")}
    keys = {**SAME_KEYS, **own, **(more or {})}
    overrides = [part for key, value in keys.items() for part in ("--override", f"{key}={value}")]
    with serving([str(executable), "serve", *overrides], port, directory / "odradek.log") as running:
        yield running


@contextmanager
def kafka(
    libs: Path, directory: Path, more: Mapping[str, str] | None = None, port: int | None = None
) -> Iterator[Running]:
    """Apache Kafka, formatted and started; the start is timed with the format, which its first start needs.

    ``more``: further keys, which may replace others; then with the ``port`` of its PLAINTEXT listener.
    """
    port, controller = port or free_port(), free_port()
    keys = {
        **SAME_KEYS,
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.quorum.voters": f"1@127.0.0.1:{controller}",
        "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}",
        "controller.listener.names": "CONTROLLER",
        "log.dirs": str(directory / "data"),
        "share.coordinator.state.topic.replication.factor": "1",
        "share.coordinator.state.topic.min.isr": "1",
        **(more or {}),
    }
    configuration = directory / "server.properties"
    configuration.write_text("".join(f"{key}={value}\n" for key, value in keys.items()))
    java = ["java", "-Xmx1g", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp", f"{libs}/*"]
    begin = time.perf_counter()
    formatting = [*java, "kafka.tools.StorageTool", "format", "-t", "MkU3OEVBNTcwNTJENDM2Qg", "-c", str(configuration)]
    subprocess.run(formatting, check=True, capture_output=True)
    format_seconds = time.perf_counter() - begin
    command = [*java, "kafka.Kafka", str(configuration)]
    with serving(command, port, directory / "kafka.log") as running:
        running.start_seconds += format_seconds
        yield running
