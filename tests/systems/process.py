"""A program that a test starts, watches and ends. Its output goes to a file."""

import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

from support.eventually import eventually

PATIENCE_S = 300.0
Seen = TypeVar("Seen")


class SystemProcess:
    """One process of another system. It ends with the block."""

    def __init__(
        self, command: Sequence[str | Path], directory: Path, name: str, environment: Mapping[str, str] | None = None
    ) -> None:
        """``environment`` is added to the variables of the tests' own process."""
        self.log_file = directory / f"{name}.log"
        self.name = name
        with self.log_file.open("ab") as out:
            self._process = subprocess.Popen(
                [str(part) for part in command],
                cwd=directory,
                env={**os.environ, **(environment or {})},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()

    def wait_for(self, what: str, look: Callable[[], Seen]) -> Seen:
        """Polls until the result is true, and returns it. Raises AssertionError with the end of the output if the
        process ends.
        """

        def seen() -> Seen:
            found = look()
            assert found or self._process.poll() is None, f"{self.name} ended before {what}\n{self.log()[-5000:]}"
            return found

        return eventually(lambda: f"{what}\n{self.log()[-5000:]}", seen, patience_s=PATIENCE_S)

    def wait(self) -> int:
        """Waits until it has ended; returns its exit code."""
        return self._process.wait(PATIENCE_S)

    def stop(self) -> None:
        """Sends SIGTERM, and waits."""
        self._process.terminate()
        self._process.wait(PATIENCE_S)

    def kill(self) -> None:
        """Sends SIGKILL, as a crash; does nothing if it has ended."""
        self._process.kill()
        self._process.wait()

    def log(self) -> str:
        """Its output so far."""
        return self.log_file.read_text(errors="replace")
