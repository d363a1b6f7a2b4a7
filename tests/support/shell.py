"""Runs the commands of our pages as a reader of them does, in a directory."""

import subprocess
import sys
from pathlib import Path


class Shell:
    """Runs commands in a directory, with this environment's ``odradek``."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._bin = Path(sys.executable).parent

    def start(self, command: str) -> "subprocess.Popen[str]":
        """Starts a command. It reads a pipe, and writes output and errors to another."""
        program = f'PATH="{self._bin}:$PATH"; {command}'
        pipe = subprocess.PIPE
        return subprocess.Popen(
            ["sh", "-c", program], cwd=self._directory, stdin=pipe, stdout=pipe, stderr=subprocess.STDOUT, text=True
        )

    def run(self, command: str, standard_input: str = "") -> str:
        """Runs a command to its end. Returns its output and errors. AssertionError if it fails."""
        with self.start(command) as process:
            said, _ = process.communicate(standard_input)
        assert process.returncode == 0, f"{command}\n{said}"
        return said
