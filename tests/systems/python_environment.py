"""A separate environment for Python systems whose dependencies conflict with those of the tests."""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path

import pytest

from support.kafka.java import cache_directory, locked

PYTHON_SYSTEMS = ("quixstreams==3.28.1", "celery==5.7.0", "kombu==5.7.0", "confluent-kafka==2.12.2")
"""Quix Streams requires a confluent-kafka before 2.13."""


def python_systems() -> Path:
    """The Python of an environment with Quix Streams and Celery, made once. Without it, the test is skipped, or fails
    in CI.
    """
    try:
        return environment("python-systems", PYTHON_SYSTEMS)
    except subprocess.CalledProcessError as error:
        reason = f"pip could not install {', '.join(PYTHON_SYSTEMS)}: {error.stderr[-800:]}"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)


@cache
def environment(name: str, requirements: Sequence[str]) -> Path:
    """The Python of an environment with ``requirements``, kept in the tests' cache.

    Raises ``subprocess.CalledProcessError`` if it can't be made.
    """
    version = ".".join(map(str, sys.version_info[:2]))
    digest = sha256(" ".join(requirements).encode()).hexdigest()[:12]
    directory = cache_directory() / f"{name}-{version}-{digest}"
    directory.mkdir(parents=True, exist_ok=True)
    python, done = directory / "environment/bin/python", directory / "complete"
    with locked(directory):
        if not done.exists():
            shutil.rmtree(directory / "environment", ignore_errors=True)
            for command in (
                [sys.executable, "-m", "venv", str(directory / "environment")],
                [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *requirements],
            ):
                subprocess.run(command, check=True, capture_output=True, text=True)
            done.touch()
    return python
