"""Kafka Connect and MirrorMaker 2 as processes, from the jars of Maven Central."""

import json
import re
import urllib.error
import urllib.request
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from support.kafka.java import KAFKA_VERSION, fetched, jar_arguments, java_or_skip
from systems.process import SystemProcess

_KAFKA = "org.apache.kafka"
_REST = "org.apache.kafka.connect.runtime.rest.RestServer"
"""Makes the program log the address on which it listens."""


@cache
def connect_libs() -> Path:
    """The directory with the jars of Kafka Connect, its file connectors and MirrorMaker 2. Raises JavaMissingError."""
    artifacts = [(_KAFKA, name, KAFKA_VERSION) for name in ("connect-runtime", "connect-file", "connect-mirror")]
    return fetched(f"kafka-connect-{KAFKA_VERSION}", [*artifacts, ("org.slf4j", "slf4j-simple", "1.7.36")])


def connect_program(
    name: str, main_class: str, directory: Path, settings: Mapping[str, str], libs: Path | None = None
) -> SystemProcess:
    """Starts a program of Connect with a properties file. ``libs``: other jars than those of :func:`connect_libs`.

    Without Java, the test is skipped, or fails in CI.
    """
    java_or_skip()
    properties = directory / f"{name}.properties"
    properties.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
    java, *rest = jar_arguments(libs or connect_libs(), "256m")
    command = [
        java,
        f"-Dorg.slf4j.simpleLogger.log.{_REST}=info",
        *rest,
        main_class,
        str(properties),
    ]
    return SystemProcess(command, directory, name)


class ConnectWorker:
    """A distributed worker with exactly-once sources."""

    def __init__(
        self, servers: str, directory: Path, settings: Mapping[str, str] | None = None, libs: Path | None = None
    ) -> None:
        """``settings`` replace or add to the worker's. ``libs``: its jars, if it needs other connectors."""
        self._settings = {
            "bootstrap.servers": servers,
            "group.id": "connect",
            "exactly.once.source.support": "enabled",
            "config.storage.topic": "connect-configs",
            "offset.storage.topic": "connect-offsets",
            "status.storage.topic": "connect-status",
            "offset.storage.partitions": "3",
            "status.storage.partitions": "1",
            **{f"{name}.storage.replication.factor": "1" for name in ("config", "offset", "status")},
            "key.converter": "org.apache.kafka.connect.storage.StringConverter",
            "value.converter": "org.apache.kafka.connect.storage.StringConverter",
            "listeners": "http://127.0.0.1:0",
            "plugin.discovery": "service_load",
            "offset.flush.interval.ms": "100",
            "session.timeout.ms": "6000",
            "heartbeat.interval.ms": "1000",
            "connector.client.config.override.policy": "All",
            **(settings or {}),
        }
        self._libs = libs
        self._directory = directory
        self.process = self._start()

    def _start(self) -> SystemProcess:
        main_class = "org.apache.kafka.connect.cli.ConnectDistributed"
        return connect_program("connect", main_class, self._directory, self._settings, self._libs)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.kill()

    def start_again(self) -> None:
        """Starts the worker again after a stop."""
        self.process = self._start()

    def restart_after_kill(self) -> None:
        """Kills the worker and starts it again."""
        self.process.kill()
        self.process = self._start()

    def configure(self, name: str, config: Mapping[str, str]) -> None:
        """Creates or changes a connector, once the worker has started."""
        self.process.wait_for(
            f"it takes {name}", lambda: self._call("PUT", f"/connectors/{name}/config", config) is not None
        )

    def wait_until_running(self, name: str) -> None:
        """Waits until a connector and its task run."""

        def runs() -> bool:
            status = self._call("GET", f"/connectors/{name}/status")
            tasks = [] if status is None else status["tasks"]
            failed = [task["trace"] for task in tasks if task["state"] == "FAILED"]
            assert not failed, failed
            return [task["state"] for task in tasks] == ["RUNNING"]

        self.process.wait_for(f"{name} runs", runs)

    def _call(self, method: str, path: str, body: Any = None) -> Any:
        """Sends a request; returns the answer, or None while the worker is starting or rebalancing (409)."""
        found = re.findall(r"REST server listening at (http://[^/]+)/", self.process.log())
        if not found:
            return None
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(found[-1] + path, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            if error.code in (404, 409, 503):
                return None
            raise AssertionError(f"{method} {path}: {error.code} {error.read().decode()}") from error
        except (ConnectionError, urllib.error.URLError):
            return None
