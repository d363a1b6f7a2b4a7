"""The image, built once for the tests that run it."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.docker_base import TAG, base_image
from support.docker_container import Image
from support.docker_engine import EngineMissingError, docker_engine

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture(scope="session")
def image() -> Iterator[Image]:
    """The project's image; skipped with the reason where no engine or no base image can be had (failed in CI)."""
    tag = "odradek-under-test"
    try:
        with docker_engine() as engine:
            engine.build(
                ROOT, tag, "--file", str(ROOT / "docker/Dockerfile"), "--build-arg", f"BASE={base_image(engine)}"
            )
            try:
                yield Image(engine, tag)
            finally:
                engine.attempt("image", "rm", "--force", tag, TAG)
    except EngineMissingError as error:
        if os.environ.get("CI") == "true":
            pytest.fail(f"needs a Docker engine: {error}")
        pytest.skip(f"needs a Docker engine: {error}")
