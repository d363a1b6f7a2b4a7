"""A broker in a container, for the option ``--kafka-image``.

Owns: one container, from ``docker run`` until it is removed. Never does: anything with the broker in it, which is one
at an address like any other. Invariant: the container is removed when the block ends, and also when this process dies:
a shell outside this process group waits until the pipe that this process holds is closed.
"""

import socket
import subprocess
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from odradek.client.cluster.cluster import Cluster, ClusterTimes
from odradek.client.errors import ClientError

from ..broker.config_values import ConfigValue
from ..faults.selection import HELPERS_CLIENT_ID
from ..fixtures.options import IMAGE_OPTION
from ..inspection import run
from .container_command import HOST, is_port_taken, run_command

REMOVE = 'read -r end; exec docker rm --force --volumes "$0"'
PORT_ATTEMPTS = 5
"""How many ports are tried: another program may take a free port before Docker does."""
START_TIMEOUT_S = 120.0
LOOK_AGAIN_S = 0.05
TIMES = ClusterTimes(request_timeout_ms=1000, connection_timeout_ms=1000)
"""The times of one attempt to reach the broker. It is repeated."""
LOG_LINES = 50


class ContainerError(Exception):
    """The container did not start, or its broker did not answer; the text says why."""


@contextmanager
def broker_in_container(image: str, configs: Mapping[str, ConfigValue]) -> Iterator[str]:
    """Starts a broker in a container of an image; the block gets its address. Raises ContainerError.

    Docker pulls the image if it is not there.
    """
    name = f"odradek-pytest-{uuid.uuid4().hex[:12]}"
    with _removed_at_end(name):
        address = f"{HOST}:{_started(image, name, configs)}"
        _wait_until_it_answers(image, name, address)
        yield address


@contextmanager
def _removed_at_end(name: str) -> Iterator[None]:
    silent = subprocess.DEVNULL
    guard = subprocess.Popen(
        ["sh", "-c", REMOVE, name], stdin=subprocess.PIPE, stdout=silent, stderr=silent, start_new_session=True
    )
    try:
        yield
    finally:
        guard.communicate(b"\n")  # a line, because a forked child may still hold the pipe


def _started(image: str, name: str, configs: Mapping[str, ConfigValue]) -> int:
    """Starts the container; returns the port of its broker."""
    for _ in range(PORT_ATTEMPTS):
        port = _free_port()
        done = _docker(run_command(image, name, port, configs))
        if done.returncode == 0:
            return port
        if not is_port_taken(done.stderr):
            break
        _docker(["docker", "rm", "--force", "--volumes", name])  # it was created, and only its start failed
    raise ContainerError(f"{IMAGE_OPTION}: docker run failed for the image {image}: {done.stderr.strip()}")


def _wait_until_it_answers(image: str, name: str, address: str) -> None:
    deadline = time.monotonic() + START_TIMEOUT_S
    while not run(_answers(address)):
        state = _docker(["docker", "inspect", "--format", "{{.State.Running}} {{.State.ExitCode}}", name])
        running, _, code = state.stdout.strip().partition(" ")
        if running != "true":
            raise ContainerError(f"{IMAGE_OPTION}: the container of {image} ended with exit code {code}.{_log(name)}")
        if time.monotonic() > deadline:
            waited = f"{START_TIMEOUT_S:g} s"
            raise ContainerError(f"{IMAGE_OPTION}: the broker of {image} did not answer within {waited}.{_log(name)}")
        time.sleep(LOOK_AGAIN_S)


async def _answers(address: str) -> bool:
    """Whether a broker answers and knows itself. Docker accepts connections before the broker does."""
    cluster = Cluster(address, client_id=HELPERS_CLIENT_ID, times=TIMES)
    try:
        await cluster.start()
        return bool(cluster.metadata.brokers)
    except ClientError:
        return False
    finally:
        await cluster.close()


def _log(name: str) -> str:
    """The end of the container's output, for an error message."""
    done = _docker(["docker", "logs", "--tail", str(LOG_LINES), name])
    return f" Its log ends with:\n{done.stdout}{done.stderr}"


def _docker(command: list[str]) -> "subprocess.CompletedProcess[str]":
    # In a session of its own: Ctrl-C ends pytest, not docker, which would leave a container half made.
    try:
        return subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, start_new_session=True
        )
    except FileNotFoundError:
        raise ContainerError(f"{IMAGE_OPTION} needs the command docker, which is not on the PATH") from None


def _free_port() -> int:
    with socket.socket() as one:
        one.bind((HOST, 0))
        return int(one.getsockname()[1])
