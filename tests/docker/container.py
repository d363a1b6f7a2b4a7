"""A container of the image without a network. Tests use the commands inside it, so that ports do not collide."""

import itertools
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from support.docker.engine import Engine
from support.eventually import eventually

HEALTHY_TIMEOUT_S = 180.0
STOP_TIMEOUT_S = 120
LOOK_S = 0.2
"""The time between two looks at a health check, each of which starts a program of Docker."""
_numbers = itertools.count(1)


@dataclass(frozen=True, slots=True)
class Image:
    """The project's image that was built for the tests, and its engine."""

    engine: Engine
    tag: str


class Container:
    """A container that runs during the block. Its volumes are removed with it, unless they have names."""

    def __init__(
        self,
        image: Image,
        *options: str,
        environment: Mapping[str, str] | None = None,
        arguments: Sequence[str] = (),
    ) -> None:
        self._engine = image.engine
        self.name = f"odradek-test-{os.getpid()}-{next(_numbers)}"
        variables = [part for key, value in (environment or {}).items() for part in ("--env", f"{key}={value}")]
        self._create = ("create", "--name", self.name, "--network", "none", *variables, *options, image.tag, *arguments)

    def __enter__(self) -> "Container":
        self._engine.run(*self._create)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            print(self.log())
        self._engine.run("rm", "--force", "--volumes", self.name)

    def start(self) -> None:
        """Starts it and waits until its health check passes."""
        self.start_unwatched()
        self.until("healthy")

    def start_unwatched(self) -> None:
        """Starts it without waiting."""
        self._engine.run("start", self.name)

    def until(self, status: str) -> None:
        """Waits while it runs until its health check says this."""

        def says() -> bool:
            state = self.state()
            assert state["Running"], f"it ended with {state['ExitCode']}:\n{self.log()}"
            return bool(state["Health"]["Status"] == status)

        eventually(
            lambda: f"not {status}: {self.state()['Health']}\n{self.log()}",
            says,
            patience_s=HEALTHY_TIMEOUT_S,
            every_s=LOOK_S,
        )

    def stop(self) -> int:
        """Sends SIGTERM; returns the exit code (137 if it had to be killed)."""
        self._engine.run("stop", "--time", str(STOP_TIMEOUT_S), self.name)
        return int(self.state()["ExitCode"])

    def wait(self) -> int:
        """Waits until it ends by itself; returns the exit code."""
        return int(self._engine.run("wait", self.name, timeout_s=HEALTHY_TIMEOUT_S))

    def state(self) -> dict[str, Any]:
        """The state of its process from the engine: Running, ExitCode, Health, Pid."""
        state: dict[str, Any] = json.loads(self._engine.run("inspect", "--format", "{{json .State}}", self.name))
        return state

    def execute(self, *command: str) -> str:
        """Runs a command inside; returns its output."""
        return self._engine.run("exec", self.name, *command)

    def produce(self, topic: str, value: str) -> None:
        """Writes one record with our own client."""
        self._shell(f"echo '{value}' | odradek produce --bootstrap-server localhost:9092 --topic {topic}")

    def consume(self, topic: str, count: int) -> list[str]:
        """The first records of a topic, read with our own client."""
        command = "odradek consume --bootstrap-server localhost:9092 --from-beginning"
        return self._shell(f"{command} --topic {topic} --max-messages {count} 2>/dev/null").splitlines()

    def _shell(self, line: str) -> str:
        return self.execute("sh", "-c", line)

    def log(self) -> str:
        """The output."""
        return self._engine.attempt("logs", self.name).stdout
