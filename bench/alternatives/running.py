"""A broker in a process of its own: started from nothing, replaced by a clean one, stopped."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from support.brokers.free_ports import free_port

from .metadata import wait_for_metadata

STOP_SECONDS = 60


class Broker(Protocol):
    """A broker that has answered a Metadata request."""

    address: str
    pid: int

    def clean(self) -> None:
        """Returns when a clean broker has answered a Metadata request; ``address`` and ``pid`` may be new."""

    def stop(self) -> None:
        """Ends the process."""


class ProgramBroker:
    """A program with a broker inside. It prints an address for each clean broker, and reads a line for the next."""

    def __init__(self, command: list[str], directory: Path) -> None:
        self._log = (directory / "program.log").open("wb")
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log, bufsize=0
        )
        self.pid = self._process.pid
        try:
            self.address = self._next_address()
        except BaseException:
            self._process.kill()
            raise

    def _next_address(self) -> str:
        assert self._process.stdout is not None
        address = self._process.stdout.readline().decode().strip()
        assert address, f"the program ended: see {self._log.name}"
        wait_for_metadata(address)
        return address

    def clean(self) -> None:
        """Asks the program for it."""
        assert self._process.stdin is not None
        self._process.stdin.write(b"\n")
        self.address = self._next_address()

    def stop(self) -> None:
        """Ends the program's input, after which it stops its broker and ends."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(STOP_SECONDS)
        finally:
            self._process.kill()
            self._log.close()


class ServerBroker:
    """A broker's own program. A clean one is a new process with an empty directory, after the old one was killed."""

    def __init__(self, command: Callable[[Path, int, int], list[str]], directory: Path) -> None:
        """``command`` is called with the empty directory, the port to listen on, and another free port."""
        self._command = command
        self._directory = directory
        self._start()

    def _start(self) -> None:
        shutil.rmtree(self._directory)
        self._directory.mkdir()
        port = free_port()
        self.address = f"127.0.0.1:{port}"
        command = self._command(self._directory, port, free_port())
        with (self._directory / "server.log").open("wb") as log:
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.pid = self._process.pid
        try:
            wait_for_metadata(self.address, self._process)
        except BaseException:
            self.stop()
            raise

    def clean(self) -> None:
        """Kills the process, as Testcontainers does with a container, and starts another one."""
        self.stop()
        self._start()

    def stop(self) -> None:
        """Kills the process."""
        self._process.kill()
        self._process.wait()
