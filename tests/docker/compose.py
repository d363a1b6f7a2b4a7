"""``docker compose`` on one of the project's files, with a unique project name and without building."""

import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from support.docker.engine import Engine, EngineMissingError, compose_environment


class Project:
    """The services that run during :func:`project`."""

    def __init__(self, engine: Engine, file: Path, environment: Mapping[str, str]) -> None:
        self._engine = engine
        self._environment = environment
        self._prefix = ("compose", "--project-name", f"odradek{uuid.uuid4().hex[:8]}", "--file", str(file))

    def run(self, *arguments: str) -> str:
        """The output of ``docker compose ARGUMENTS``, which must succeed."""
        return self._engine.run(*self._prefix, *arguments, environment=self._environment)


@contextmanager
def project(engine: Engine, file: Path, variables: Mapping[str, str]) -> Iterator[Project]:
    """A project that is removed at the end. Skips the test, with the reason, if compose is missing."""
    try:
        environment = compose_environment(engine)
    except EngineMissingError as error:
        pytest.skip(f"needs docker compose: {error}")
    composed = Project(engine, file, {**environment, **variables})
    try:
        yield composed
    finally:
        composed.run("down", "--volumes", "--timeout", "10")
