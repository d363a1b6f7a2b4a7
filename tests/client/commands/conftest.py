"""A shell for the tests of the commands, and Kafka's own tools in one JVM for each module."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.kafka.tools import KafkaTools

from ..command_shell import Shell


@pytest.fixture
def shell(bootstrap: str, capfdbinary: pytest.CaptureFixture[bytes], tmp_path: Path) -> Shell:
    return Shell(bootstrap, capfdbinary, tmp_path)


@pytest.fixture(scope="module")
def tools() -> Iterator[KafkaTools]:
    with KafkaTools() as tools:
        yield tools
