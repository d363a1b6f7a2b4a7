"""A shell for the tests of the commands, our program under Kafka's names, and Kafka's own tools in one JVM."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from odradek.__main__ import asked, run_command
from support.kafka.tools import KafkaTools

from ..command_shell import Shell
from .command_lines import Output, Run


@pytest.fixture
def shell(bootstrap: str, capfdbinary: pytest.CaptureFixture[bytes], tmp_path: Path) -> Shell:
    return Shell(bootstrap, capfdbinary, tmp_path)


@pytest.fixture
def our_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]) -> Run:
    """Runs a command line, such as ``kafka-topics.sh --list``, in this process."""

    def run(words: list[str], given: bytes) -> Output:
        (tmp_path / "standard-input").write_bytes(given)
        with (tmp_path / "standard-input").open() as source:
            monkeypatch.setattr(sys, "stdin", source)
            capfdbinary.readouterr()
            code = run_command(asked(words[0], words[1:]))
            sys.stdout.flush()
        out, err = capfdbinary.readouterr()
        return Output(code, out.decode(), err.decode())

    return run


@pytest.fixture(scope="module")
def tools() -> Iterator[KafkaTools]:
    with KafkaTools() as tools:
        yield tools
