"""Apache Kafka's own VerifiableProducer and VerifiableConsumer, which print events as lines of JSON."""

import json
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Any

from support.eventually import eventually
from support.kafka.java import java_arguments

TOPIC = "verified"
RECORDS_A_SECOND = 100
END_TIMEOUT_S = 120.0
PATIENCE_S = 180.0


class JavaClients:
    """One idempotent producer, and one member of a group of the consumer protocol, which run during the block."""

    def __init__(self, servers: str, directory: Path) -> None:
        self._servers = servers
        self._logs = {name: directory / f"Verifiable{name}.log" for name in ("Producer", "Consumer")}
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    def __enter__(self) -> "JavaClients":
        settings = self._logs["Producer"].with_suffix(".properties")
        settings.write_text("retries=2147483647\nenable.idempotence=true\n")  # otherwise it does not retry
        throughput = ("--throughput", str(RECORDS_A_SECOND))
        self._run("Producer", *throughput, "--acks", "-1", "--command-config", str(settings))
        self._run("Consumer", "--group-id", "verifiers", "--group-protocol", "consumer", "--reset-policy", "earliest")
        return self

    def _run(self, name: str, *arguments: str) -> None:
        command = [*java_arguments(heap="64m"), f"org.apache.kafka.tools.Verifiable{name}", "--topic", TOPIC]
        with self._logs[name].open("wb") as out:
            self._processes[name] = subprocess.Popen(
                [*command, "--bootstrap-server", self._servers, *arguments], stdin=subprocess.DEVNULL, stdout=out
            )

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process in self._processes.values():
            process.kill()
            process.wait()

    def _events(self, name: str) -> list[dict[str, Any]]:
        lines = self._logs[name].read_text().splitlines(keepends=True)
        return [json.loads(line) for line in lines if line.startswith("{") and line.endswith("\n")]

    def _of(self, name: str, kind: str) -> list[dict[str, Any]]:
        return [event for event in self._events(name) if event["name"] == kind]

    def _end(self, name: str) -> None:
        self._processes[name].terminate()
        self._processes[name].wait(END_TIMEOUT_S)

    def settle(self) -> str:
        """Ends both, and compares their numbers, which it returns. Raises AssertionError for an error that a client
        printed.
        """
        self._end("Producer")
        acknowledged = {event["value"] for event in self._of("Producer", "producer_send_success")}
        refused = self._of("Producer", "producer_send_error")
        assert not refused, refused[:5]
        ends: dict[int, int] = {}
        for event in self._of("Producer", "producer_send_success"):
            ends[event["partition"]] = max(event["offset"] + 1, ends.get(event["partition"], 0))

        def committed() -> dict[int, int]:
            found: dict[int, int] = {}
            for event in self._of("Consumer", "offsets_committed"):
                for one in event["offsets"] if event["success"] else []:
                    found[one["partition"]] = one["offset"]
            return found

        eventually(
            lambda: f"the consumer is at {ends}, not {committed()}",
            lambda: all(committed().get(partition, 0) >= end for partition, end in ends.items()),
            patience_s=PATIENCE_S,
            every_s=0.5,
        )
        self._end("Consumer")
        read = sum(event["count"] for event in self._of("Consumer", "records_consumed"))
        assert acknowledged
        assert len(acknowledged) == sum(ends.values()), "each was stored once"
        return f"Java: {len(acknowledged)} acknowledged, {read} read"
