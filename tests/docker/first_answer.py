"""How long a container takes from ``docker run`` to its first answer."""

import os
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass

from support.brokers.asking import Asking
from support.brokers.free_ports import free_ports
from support.docker.engine import Engine
from support.eventually import eventually

LISTENS = " listens on "
"""What the broker prints when it serves."""
EVERY_S = 0.01
ATTEMPT_S = 1.0
"""The timeout of one attempt, in seconds."""


@dataclass(frozen=True, slots=True)
class Start:
    """The times of one start, in seconds since the process of ``docker run`` began."""

    answered_s: float
    healthy_s: float


def measure_start(engine: Engine, tag: str, *options: str) -> Start:
    """Runs a container of the broker's image until it has answered and is healthy, and removes it.

    Asks as soon as the broker says that it listens, as Testcontainers does. A client that asks from the beginning was
    answered half a second later: Docker's proxy accepts its connection before the container's network is up, and a
    first packet that is lost then is probably sent again only after a second.
    """
    (port,) = free_ports(1)
    name = f"odradek-start-{os.getpid()}-{port}"
    address = f"KAFKA_ADVERTISED_LISTENERS=PLAINTEXT://localhost:{port}"
    command = ["run", "--name", name, "--publish", f"127.0.0.1:{port}:{port}", "--env", address, *options, tag]
    began = time.monotonic()
    with _client(engine, command) as client:
        try:
            _wait_for_line(client, LISTENS)
            broker = Asking(port, ATTEMPT_S)
            eventually("an answer", lambda: broker.names_a_broker() or _has_ended(client), every_s=EVERY_S)
            answered = time.monotonic()
            status = ("inspect", "--format", "{{.State.Health.Status}}", name)
            eventually("healthy", lambda: engine.run(*status) == "healthy", every_s=EVERY_S)
            return Start(answered - began, time.monotonic() - began)
        finally:
            engine.attempt("rm", "--force", "--volumes", name)


def measure_program(engine: Engine, tag: str) -> float:
    """The seconds from ``docker run`` until an empty Python program in the same image has said something."""
    program = ["python", "-c", "print('here', flush=True)"]
    began = time.monotonic()
    with _client(engine, ["run", "--rm", "--entrypoint", program[0], tag, *program[1:]]) as client:
        _wait_for_line(client, "here")
        return time.monotonic() - began


def _wait_for_line(client: "subprocess.Popen[str]", text: str) -> None:
    """Reads the output of a container up to a line with ``text``. Others come before it, such as Docker's warnings."""
    assert client.stdout is not None
    said = []
    for line in client.stdout:
        if text in line:
            return
        said.append(line)
    raise AssertionError(f"the container ended and did not say {text!r}:\n{''.join(said)}")


def _client(engine: Engine, arguments: Sequence[str]) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        ["docker", *arguments],
        env={**os.environ, **engine.variables},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def _has_ended(client: "subprocess.Popen[str]") -> bool:
    if client.poll() is None:
        return False
    assert client.stdout is not None
    raise AssertionError(f"the container ended with {client.returncode}:\n{client.stdout.read()}")
