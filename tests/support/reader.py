"""A reader of our pages, who runs their commands in a directory."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from support.eventually import eventually
from support.pages import Block
from support.pipeline.wheel import ROOT
from support.shell import Shell

START_TIMEOUT_S = 180.0
PAGE_ADDRESS = "127.0.0.1:9092"
Instead = tuple[str, str]
"""A text of a page, and what the reader writes there."""


def written(command: str, *instead: Instead) -> str:
    """A command with the reader's own texts, each of which it must have."""
    for text, own in instead:
        assert text in command, f"{command} has no {text}"
        command = command.replace(text, own)
    return command


class Reader:
    """Runs commands of pages in a directory. ``server``: the broker that they connect to by default."""

    def __init__(self, directory: Path, server: str | None = None) -> None:
        self.directory = directory
        self.server = server
        self._shell = Shell(directory)

    def run(self, command: str, typed: str = "") -> str:
        """The output and the errors of a command, which must succeed."""
        variable = f"export ODRADEK_BOOTSTRAP_SERVER={self.server}; " if self.server else ""
        return self._shell.run(variable + command, typed)

    def run_block(self, block: Block, *instead: Instead) -> list[str]:
        """The output of each command of a block. Each text of ``instead`` must be in it."""
        assert all(text in block.text for text, _ in instead), f"{block.page}:{block.line} has not all of {instead}"
        return [self.run(_replaced(command, instead)) for command in block.commands()]

    def run_of(self, page: str, command: str, *instead: Instead) -> str:
        """The output of a command that a page has, also in its text."""
        assert command in re.sub(r"\s+", " ", (ROOT / page).read_text()), f"{page} has no {command}"
        return self.run(written(command, *instead))

    @contextmanager
    def serving(self, command: str) -> Iterator[str]:
        """A command that serves until SIGTERM and must end cleanly; the address of its broker."""
        ready = self.directory / "ready.json"
        ready.unlink(missing_ok=True)
        if "--ready-file" not in command:
            command += f" --ready-file {ready}"
        log = self.directory / "serving.log"
        with self._shell.start(f"exec {command} >{log} 2>&1") as process:
            try:

                def serves() -> bool:
                    assert process.poll() is None, f"{command}\n{log.read_text()}"
                    return ready.exists()

                eventually(lambda: f"{command}\n{log.read_text()}", serves, patience_s=START_TIMEOUT_S)
                yield json.loads(ready.read_text())["bootstrap_servers"]
                process.terminate()
                assert process.wait() == 0, log.read_text()
            finally:
                process.kill()


def _replaced(command: str, instead: tuple[Instead, ...]) -> str:
    for text, own in instead:
        command = command.replace(text, own)
    return command
