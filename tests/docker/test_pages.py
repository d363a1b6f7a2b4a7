"""The blocks for docker in README.md and two pages of docs/, run but for names and ports.

A private engine has no bridge (``support/docker/engine.py``): images are built on the network of this machine, and
containers get none and publish no port. The recipes of docs/docker-and-kubernetes.md have tests of their own.
"""

import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.data.log_directories import history_directory
from support.docker.engine import Engine
from support.pages import Block, blocks
from support.pipeline.wheel import build_wheel

from .base import TAG
from .container import Image

ROOT = Path(__file__).parents[2]
OF_THE_BROKER = [blocks("README.md", "Docker")[0], blocks("docs/docker-and-kubernetes.md", "The broker")[0]]
OF_THE_JOBS = [blocks("README.md", "Docker")[1], blocks("docs/docker-and-kubernetes.md", "The jobs")[0]]
OF_A_WHEEL = blocks("docs/docker-and-kubernetes.md", "An image from a wheel")
FOR_TESTS = blocks("docs/testing-over-http.md", "A broker for tests in any language")[1]

pytestmark = pytest.mark.ci


def page(block: Block) -> str:
    return block.page


def built(image: Image, command: str, name: str) -> None:
    """Runs a ``docker build`` of a page, whose name the image gets. The fixture has built the same: the engine knows
    all steps.
    """
    words = shlex.split(command)
    assert words.pop() == "."
    assert words[:2] == ["docker", "build"]
    words[words.index(name)] = image.tag
    dockerfile = words.index("-f") + 1
    words[dockerfile] = str(ROOT / words[dockerfile])
    options = ("--network", "host", "--build-arg", f"BASE={TAG}")
    buildkit = "1" if image.engine.attempt("buildx", "version").returncode == 0 else "0"
    image.engine.run(*words[1:], *options, str(ROOT), timeout_s=900, environment={"DOCKER_BUILDKIT": buildkit})


class Started:
    """A container of a ``docker run`` of a page, in the background."""

    def __init__(self, image: Image) -> None:
        self._engine = image.engine
        self._tag = image.tag
        self.name = f"odradek-page-{os.getpid()}"

    def start(self, command: str) -> None:
        """Runs the command. A volume gets the name of the container."""
        words = shlex.split(re.sub(r" -p \d+:\d+", "", command).replace("-v odradek:", f"-v {self.name}:"))
        assert words[:2] == ["docker", "run"]
        words[words.index("odradek")] = self._tag
        self._engine.run("run", "--detach", "--name", self.name, "--network", "none", *words[2:])

    def odradek(self, arguments: str) -> str:
        """The output of a command in the container."""
        return self._engine.run("exec", self.name, "odradek", *arguments.split())

    def stop(self) -> None:
        """Stops it; the exit code must be 0."""
        self._engine.run("stop", "--time", "60", self.name)
        assert self._engine.run("inspect", "--format", "{{.State.ExitCode}}", self.name) == "0"

    def remove(self) -> None:
        self._engine.attempt("rm", "--force", "--volumes", self.name)
        self._engine.attempt("volume", "rm", "--force", self.name)


@pytest.fixture
def started(image: Image) -> Iterator[Started]:
    one = Started(image)
    yield one
    one.remove()


@pytest.mark.parametrize("block", OF_THE_BROKER, ids=page)
def test_the_broker_is_built_and_serves(image: Image, started: Started, block: Block) -> None:
    build, run = block.commands()
    built(image, build, "odradek")
    started.start(run)
    started.odradek("health --bootstrap-server localhost:9092 --wait 60000")
    started.stop()


def test_an_image_from_a_wheel_serves(engine: Engine, tmp_path: Path) -> None:
    dockerfile, commands = OF_A_WHEEL
    wheel = build_wheel(tmp_path)
    official, tag = re.findall(r"^FROM (\S+)$", dockerfile.text, re.MULTILINE)[0], f"odradek-wheel-{os.getpid()}"
    (wheel.parent / "Dockerfile").write_text(dockerfile.text.replace(official, TAG))
    build, run, health, stop = commands.commands()
    assert build == "docker build -t odradek ."
    engine.build(wheel.parent, tag)
    started = Started(Image(engine, tag))
    try:
        started.start(run.replace("--rm -d --name kafka ", "").replace("kafka-data:", "odradek:"))
        started.odradek(health.removeprefix("docker exec kafka odradek "))
        assert stop == "docker stop kafka"
        started.stop()
    finally:
        started.remove()
        engine.attempt("image", "rm", "--force", tag)


def test_a_broker_for_tests_serves(started: Started) -> None:
    (run,) = FOR_TESTS.commands()
    started.start(run)
    started.odradek("health --bootstrap-server localhost:9092 --wait 60000")
    started.stop()


@pytest.mark.nightly
@pytest.mark.parametrize("block", OF_THE_JOBS, ids=page)
def test_the_jobs_are_built_and_audit(jobs_image: Image, tmp_path: Path, block: Block) -> None:
    build, audit = block.commands()
    built(jobs_image, build, "odradek-jobs")
    words = shlex.split(audit)
    volume = words.index("-v") + 1
    words[volume] = f"{history_directory(tmp_path / 'data', steps=60)}:{words[volume].partition(':')[2]}"
    words[words.index("odradek-jobs")] = jobs_image.tag
    assert words[:2] == ["docker", "run"]
    said = jobs_image.engine.run("run", "--network", "none", *words[2:], timeout_s=600)
    assert "1 topic" in said, said
