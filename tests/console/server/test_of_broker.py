"""The console of a broker: its process, its end, and what the broker tells it."""

import json
import logging
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer

from odradek.broker.insights.log_ring import LogLine, LogRing
from odradek.broker.server import console_listener, console_settings
from odradek.testing import InProcessBroker
from support.brokers.our_broker import OurBroker
from support.eventually import eventually

from .console_client import ConsoleClient

LISTENER = {"odradek.console.listener": "127.0.0.1:0"}


def console_port(broker: OurBroker) -> int:
    """The port that the broker's log names."""
    log = broker.log()
    return int(log.partition("console at http://127.0.0.1:")[2].partition("/")[0])


def children(pid: int) -> list[int]:
    """The processes that a process has started (Linux)."""
    return [
        int(child) for task in Path(f"/proc/{pid}/task").iterdir() for child in (task / "children").read_text().split()
    ]


def is_running(pid: int) -> bool:
    """Whether a process runs; one that has ended and that its parent has not waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[OurBroker]:
    with OurBroker(tmp_path, LISTENER) as running:
        yield running


def logged_in(port: int) -> ConsoleClient:
    client = ConsoleClient(port)
    assert client.log_in().status == 200
    return client


def test_a_process_starts_with_the_first_connection_and_ends_with_the_broker(broker: OurBroker) -> None:
    assert children(broker.pid) == []
    client = logged_in(console_port(broker))
    facts = client.get("/api/session").json
    assert (facts["access"], facts["hasInsights"], facts["bootstrapServers"]) == (
        "open",
        True,
        broker.bootstrap_servers,
    )
    [process] = children(broker.pid)
    assert client.get("/api/overview").status == 200
    broker.stop()
    assert not is_running(process)
    assert "stopped cleanly" in broker.log()
    assert "INFO '' opens a session (odradek.console" in broker.log(), "one level and one logger stand in a line"
    assert "Traceback" not in broker.log()


def test_it_ends_with_a_broker_that_was_killed(broker: OurBroker) -> None:
    client = logged_in(console_port(broker))
    [process] = children(broker.pid)
    with client.stream("/api/log") as lines:
        next(lines)
        broker.kill()
        eventually("the console has ended", lambda: not is_running(process))


def test_one_that_died_is_started_again(broker: OurBroker) -> None:
    client = logged_in(console_port(broker))
    [first] = children(broker.pid)
    os.kill(first, signal.SIGKILL)
    eventually("the broker has seen it", lambda: f"process {first} has ended" in broker.log())
    assert client.get("/api/overview").json["code"] == "NO_SESSION"  # after a pause of a second
    [second] = [child for child in children(broker.pid) if is_running(child)]
    assert second != first
    assert client.log_in().status == 200
    assert client.get("/api/overview").status == 200


@pytest.mark.kafka(configs=LISTENER)
def test_a_fault_of_a_start_ends_that_start(
    kafka: InProcessBroker, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The connection waits, and is served by the process of the next start."""
    real = console_settings.process_settings
    faults: list[Exception] = [RuntimeError("a bug"), OSError("no descriptor")]

    def process_settings(*arguments: Any) -> dict[str, object]:
        if faults:
            raise faults.pop(0)
        return real(*arguments)

    monkeypatch.setattr(console_listener, "process_settings", process_settings)
    (port,) = kafka.ports() - {kafka.port}
    client = logged_in(port)
    assert client.get("/api/overview").status == 200
    assert faults == []
    assert "its start failed: RuntimeError('a bug')" in caplog.text
    assert "the console can't be started: no descriptor" in caplog.text
    kafka.stop()


@pytest.mark.kafka(configs=LISTENER)
def test_a_fault_of_an_answer_ends_that_answer(client: ConsoleClient, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(ring: LogRing, number: int, most: int) -> list[LogLine]:
        monkeypatch.undo()
        raise RuntimeError("a bug")

    monkeypatch.setattr(LogRing, "after", fails)
    with client.stream("/api/log") as lines:
        first = next(line for line in lines if not line.startswith((b":", b"\n")))
    assert first == b"event: failed\n"
    with client.stream("/api/log") as lines:
        assert next(line for line in lines if not line.startswith((b":", b"\n"))).startswith(b"data:")
    assert client.get("/api/overview").status == 200


CLOSED = """
import asyncio, json, logging, sys
from odradek.broker.config.server_config import ServerConfig
from odradek.broker.server.broker_server import BrokerServer
from odradek.protocol.common.lazy_imports import is_waiting

PARTS = ("h11", "odradek.console", "odradek.broker.http", "odradek.broker.insights", "odradek.broker.server.console_")

async def main():
    server = BrokerServer(ServerConfig.load(None, sys.argv[1:], {}))
    await server.start()
    tasks = sorted(task.get_name() for task in asyncio.all_tasks())
    await server.stop()
    return tasks

tasks = asyncio.run(main())
assert not logging.getLogger().handlers and not logging.getLogger("odradek.broker.groups").handlers
found = sorted(name for name, one in sys.modules.items() if name.startswith(PARTS) and not is_waiting(one))
print(json.dumps({"modules": found, "tasks": tasks}))
"""


def closed(directory: Path, **configs: str) -> dict[str, list[str]]:
    """The modules and the tasks of a broker before a client has opened a console."""
    keys = {"listeners": "PLAINTEXT://127.0.0.1:0", "log.dirs": str(directory), **configs}
    arguments = [f"{key}={text}" for key, text in keys.items()]
    run = subprocess.run([sys.executable, "-c", CLOSED, *arguments], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    found: dict[str, list[str]] = json.loads(run.stdout)
    return found


def test_a_closed_console_costs_nothing(tmp_path: Path) -> None:
    without, with_listener = closed(tmp_path / "without"), closed(tmp_path / "with", **LISTENER)
    assert not without["modules"]
    assert with_listener["tasks"] == without["tasks"]
    assert not [name for name in with_listener["modules"] if name.startswith(("h11", "odradek.console"))]


# Insights


@pytest.fixture
def client(kafka: InProcessBroker) -> Iterator[ConsoleClient]:
    """Logged in. The broker stops before the test ends, so that its log has no handler."""
    (port,) = kafka.ports() - {kafka.port}
    yield logged_in(port)
    kafka.stop()


@pytest.mark.kafka(topics="orders:2", configs=LISTENER)
def test_the_broker_tells_its_connections(kafka: InProcessBroker, client: ConsoleClient) -> None:
    consumer = Consumer({"bootstrap.servers": kafka.bootstrap_servers, "group.id": "<b>readers</b>"})
    consumer.subscribe(["readings"])

    def both_are_there() -> dict[str, Any]:
        """The answer, once it has both. librdkafka closes its first connection as soon as it knows the broker."""
        consumer.poll(0)
        shown: dict[str, Any] = client.get("/api/connections").json
        names = {row["library"] for row in shown["connections"]}
        return shown if "odradek" in names and names & {"confluent-kafka-python", "librdkafka"} else {}

    found = eventually("both libraries", both_are_there)
    libraries = {row["library"]: row for row in found["connections"]}
    assert libraries["odradek"]["connections"] >= 1
    assert libraries["odradek"]["user"] == "User:ANONYMOUS"
    assert found["total"] == sum(row["connections"] for row in found["connections"])
    consumer.close()


@pytest.mark.kafka(configs=LISTENER)
def test_the_broker_tells_its_log_from_the_first_connection_on(client: ConsoleClient) -> None:
    logging.getLogger("odradek.some.part").warning("topic %r <script>", "a\nb")
    with client.stream("/api/log") as lines:
        document = next(json.loads(line[6:]) for line in lines if line.startswith(b"data: "))
    messages = {line["message"]: line for line in document["lines"]}
    assert messages["topic 'a\\nb' <script>"]["level"] == "WARNING"
    assert messages["topic 'a\\nb' <script>"]["logger"] == "odradek.some.part"
    assert document["last"] >= len(document["lines"])


@pytest.mark.kafka(topics="orders:2", configs=LISTENER)
def test_the_broker_tells_its_rebalances(
    kafka: InProcessBroker, client: ConsoleClient, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "odradek.broker.groups")
    consumer = Consumer({"bootstrap.servers": kafka.bootstrap_servers, "group.id": "readers"})
    consumer.subscribe(["orders"])

    def is_assigned() -> bool:
        consumer.poll(0.1)
        return len(consumer.assignment()) == 2

    eventually("the member has its partitions", is_assigned)
    found = client.get("/api/rebalances?group=readers").json["rebalances"]
    assert found[-1]["members"] == 1
    assert found[-1]["duration"] is not None
    assert found[-1]["reason"]
    assert client.get("/api/rebalances?group=others").json["rebalances"] == []
    consumer.close()


@pytest.mark.kafka(configs=LISTENER)
def test_nothing_is_kept_after_the_console_has_ended(kafka: InProcessBroker) -> None:
    before = logging.getLogger().handlers[:]
    (port,) = kafka.ports() - {kafka.port}
    logged_in(port)
    assert len(logging.getLogger().handlers) == len(before) + 1
    groups = logging.getLogger("odradek.broker.groups")
    assert len(groups.handlers) == 1
    kafka.stop()
    assert logging.getLogger().handlers == before
    assert groups.handlers == []
