"""Clients of other languages for the restart matrix: Java's (tests/java/RestartedClient.java) and franz-go.

A program prints ``ready``, reads a number in a line, and prints ``done`` when it has written or read it. Before that it
prints ``middle`` while the action is under way, and ``write`` if it wants the number in IN; each waits for a line.
"""

import shutil
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path
from queue import Queue
from threading import Thread

import pytest

from support.eventually import PATIENCE_S
from support.kafka.java import cache_directory, java_arguments, java_class, java_or_skip, locked
from systems.libraries.installed import run

FRANZ_GO = "v1.22.3"
GO_SOURCE = Path(__file__).parent / "restarted_client.go"
KINDS_OF_PROGRAMS = (
    "plain producer",
    "idempotent producer",
    "transactions",
    "classic group",
    "consumer group",
    "copies, classic group",
    "copies, consumer group",
    "share group",
)


class ProgramClient:
    """One process of such a program."""

    def __init__(self, command: list[str], address: str, kind: str, write: Callable[[str, int], None]) -> None:
        """``write`` writes a number to IN."""
        self._address = address
        self._write = write
        self._process = subprocess.Popen(
            [*command, address, kind], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._lines: Queue[str] = Queue()
        Thread(target=self._read, daemon=True).start()
        assert self._next() == "ready"

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line.strip())
        self._lines.put("its end")

    def _next(self) -> str:
        return self._lines.get(timeout=PATIENCE_S)

    def _say(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()

    def act(self, number: int, middle: Callable[[], object]) -> None:
        """Writes, reads or copies a number."""
        self._say(str(number))
        while (line := self._next()) != "done":
            assert line in ("middle", "write"), line
            if line == "middle":
                middle()
            else:
                self._write(self._address, number)
            self._say("go on")

    def close(self) -> None:
        """Closes the client."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        assert self._process.wait(PATIENCE_S) == 0

    def kill(self) -> None:
        """Ends the process of a test that failed."""
        self._process.kill()
        self._process.wait()


def java_client() -> list[str]:
    """The command of Java's client, which is compiled once. Without Java the test is skipped."""
    java_or_skip()
    return [*java_arguments(heap="128m"), java_class("RestartedClient")]


@cache
def go_client() -> list[str]:
    """The command of franz-go's client, which is built once. Without Go the test is skipped."""
    go = shutil.which("go")
    if go is None:
        pytest.skip("needs go")
    directory = cache_directory() / f"franz-go-{FRANZ_GO}"
    directory.mkdir(parents=True, exist_ok=True)
    with locked(directory):
        if not (directory / "go.mod").exists():
            run([go, "mod", "init", "example.com/restarted"], directory)
            run([go, "get", f"github.com/twmb/franz-go/pkg/kgo@{FRANZ_GO}"], directory)
        (directory / "main.go").write_bytes(GO_SOURCE.read_bytes())
        run([go, "build", "-mod=mod", "-o", "client", "."], directory)
    return [str(directory / "client")]
