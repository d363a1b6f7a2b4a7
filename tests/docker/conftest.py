"""The images, each built once for the tests that run it."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.docker.engine import Engine, EngineMissingError, docker_engine

from .base import TAG, base_image
from .container import Image

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture(scope="session")
def engine() -> Iterator[Engine]:
    """An engine with the base image. If they are not available, the test is skipped with the reason, or fails in CI."""
    try:
        with docker_engine() as engine:
            base_image(engine)
            yield engine
            engine.attempt("image", "rm", "--force", TAG)
    except EngineMissingError as error:
        if os.environ.get("CI") == "true":
            pytest.fail(f"needs a Docker engine: {error}")
        pytest.skip(f"needs a Docker engine: {error}")


def built(engine: Engine, dockerfile: str, tag: str) -> Iterator[Image]:
    """The image of a Dockerfile, which is removed after its tests."""
    engine.build(ROOT, tag, "--file", str(ROOT / dockerfile), "--build-arg", f"BASE={TAG}")
    try:
        yield Image(engine, tag)
    finally:
        engine.attempt("image", "rm", "--force", tag)


@pytest.fixture(scope="session")
def image(engine: Engine) -> Iterator[Image]:
    """The broker's image."""
    yield from built(engine, "docker/Dockerfile", "odradek-under-test")


@pytest.fixture(scope="session")
def jobs_image(engine: Engine) -> Iterator[Image]:
    """The image of the jobs, with Spark."""
    yield from built(engine, "docker/jobs/Dockerfile", "odradek-jobs-under-test")
