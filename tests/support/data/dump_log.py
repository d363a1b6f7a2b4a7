"""Runs ``odradek dump-log`` in the test's process, and Kafka's DumpLogSegments to compare with."""

import json
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from odradek.storage.dump.command import dump_log
from support.kafka.java import java_arguments

KAFKA_TOOL = "org.apache.kafka.tools.DumpLogSegments"


class Dumped(NamedTuple):
    """The output of a dump, and its exit code."""

    code: int
    out: list[str]
    err: list[str]

    @property
    def documents(self) -> list[dict[str, Any]]:
        """The lines of ``--json``."""
        return [json.loads(line) for line in self.out]


Dump = Callable[..., Dumped]


def dump_in_process(capture: pytest.CaptureFixture[bytes]) -> Dump:
    """A function that runs our command with the arguments given to it."""

    def run(*arguments: str | Path) -> Dumped:
        capture.readouterr()
        code = dump_log([str(argument) for argument in arguments])
        out, err = capture.readouterr()
        return Dumped(code, split_lines(out.decode()), split_lines(err.decode()))

    return run


def kafka_dump(*arguments: str | Path) -> Dumped:
    """The output of Kafka's tool."""
    java, *options = java_arguments()
    utf8 = ["-Dfile.encoding=UTF-8", "-Dstdout.encoding=UTF-8"]  # the second since Java 18, the first before
    command = [java, *utf8, *options, KAFKA_TOOL, *map(str, arguments)]
    result = subprocess.run(
        command, capture_output=True, timeout=300, check=False
    )  # bytes: the text mode would replace carriage returns
    return Dumped(result.returncode, split_lines(result.stdout.decode()), split_lines(result.stderr.decode()))


def split_lines(text: str) -> list[str]:
    """Splits at line feeds only: a key may contain other characters at which ``splitlines`` splits."""
    return text.removesuffix("\n").split("\n") if text else []


def comma_separated(paths: Iterable[Path]) -> str:
    """The paths as one argument of ``--files``, sorted."""
    return ",".join(str(path) for path in sorted(paths))
