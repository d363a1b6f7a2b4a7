"""Runs the commands of ``odradek`` in this process against one broker."""

import json
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from odradek.__main__ import COMMANDS, run_command

WAIT_S = 60.0


class Shell:
    """Runs commands in this process against one broker."""

    def __init__(self, bootstrap: str, capture: pytest.CaptureFixture[bytes], directory: Path) -> None:
        self.bootstrap = bootstrap
        self._capture = capture
        self._directory = directory

    def run(self, command: str, *arguments: str) -> tuple[int, str, str]:
        """Runs a command; returns exit code, standard output and standard error."""
        module, _, function = COMMANDS[command][0].partition(":")
        self._capture.readouterr()
        code = getattr(import_module(module), function)(["--bootstrap-server", self.bootstrap, *arguments])
        out, err = self._capture.readouterr()
        return code, out.decode(), err.decode()

    def run_words(self, *words: str) -> tuple[int, str, str]:
        """As :meth:`run`, with the broker's address at the end: a word follows the command."""
        self._capture.readouterr()
        code = run_command([*words, "--bootstrap-server", self.bootstrap])
        out, err = self._capture.readouterr()
        return code, out.decode(), err.decode()

    def out(self, command: str, *arguments: str) -> str:
        """Standard output of a command that must succeed."""
        code, out, err = self.run(command, *arguments)
        assert code == 0, err
        return out

    def json(self, command: str, *arguments: str) -> Any:
        """The JSON that a command prints."""
        return json.loads(self.out(command, "--json", *arguments))

    def until(self, holds: Callable[[], bool]) -> None:
        """Waits for a condition: a real Kafka's broker learns of topics and configs after its controller's answer."""
        deadline = time.monotonic() + WAIT_S
        while not holds():
            assert time.monotonic() < deadline, "the broker does not learn of it"

    def create(self, topic: str, *arguments: str) -> None:
        """Creates a topic, and waits until the broker knows it."""
        assert self.out("topics", "--create", "--topic", topic, *arguments) == f"Created topic {topic}.\n"
        self.until(lambda: topic in self.out("topics", "--list").splitlines())

    def produce(self, topic: str, text: str, *arguments: str) -> None:
        """Sends the lines of a text."""
        path = self._directory / "input"
        path.write_text(text)
        self.out("produce", "--topic", topic, "--file", str(path), *arguments)
