"""Our broker in a process of its own, started as a user starts it, on a port of the system's choice."""

import json
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from support.eventually import eventually

START_TIMEOUT_S = 180.0
STOP_TIMEOUT_S = 120.0


def resident_bytes(pid: int) -> int:
    """The memory that a process has in use (Linux)."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise AssertionError("no VmRSS in /proc")


class OurBroker:
    """``odradek serve`` on ``directory``; may be stopped, killed and started again on the same data and port."""

    program: tuple[str, ...] = ("-m", "odradek", "serve")
    """The arguments of Python that start a broker."""

    def __init__(
        self, directory: Path, configs: Mapping[str, str] | None = None, *, command_prefix: Sequence[str] = ()
    ) -> None:
        """``command_prefix``: words before the command, such as those that enter a namespace."""
        self.directory = directory
        self.log_dir = directory / "logs"
        self.log_file = directory / "odradek.log"
        self.port = 0
        self.configs = dict(configs or {})
        """Configs that are added at each start."""
        self._command_prefix = tuple(command_prefix)
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def bootstrap_servers(self) -> str:
        """The address that clients connect to."""
        return f"127.0.0.1:{self.port}"

    def ports(self) -> dict[str, int]:
        """The ports by listener name."""
        listeners = json.loads(self._ready_file.read_text())["listeners"]
        return {name: one["port"] for name, one in listeners.items()}

    @property
    def log_dirs(self) -> list[Path]:
        """Its log directories; the first one is ``log_dir``."""
        return [Path(text) for text in self.keys()["log.dirs"].split(",")]

    def holder(self, topic: str, index: int = 0) -> Path:
        """The log directory that has a partition."""
        [found] = [path for path in self.log_dirs if (path / f"{topic}-{index}").is_dir()]
        return found

    @property
    def pid(self) -> int:
        """The broker's process id."""
        assert self._process is not None
        return self._process.pid

    @property
    def running_pid(self) -> int | None:
        """The process id; None before a start and after a stop or kill. Any thread may call this."""
        process = self._process
        return None if process is None else process.pid

    @property
    def process(self) -> subprocess.Popen[bytes]:
        """The broker's process. A test that ends it without :meth:`stop` or :meth:`kill` must also wait for it."""
        assert self._process is not None
        return self._process

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is not None:
            self.kill()

    def keys(self) -> dict[str, str]:
        """Its configuration."""
        return {
            "listeners": f"PLAINTEXT://127.0.0.1:{self.port}",
            "log.dirs": str(self.log_dir),
            "process.roles": "broker,controller",
            **self.configs,
        }

    def start(self, timeout_s: float = START_TIMEOUT_S) -> None:
        """Starts it and waits until it serves."""
        process = self.launch()
        ready = self._ready_file

        def is_ready() -> bool:
            code = process.poll()
            assert code is None, f"our broker ended with {code}:\n{self.log()[-3000:]}"
            return ready.exists()

        try:
            eventually(
                lambda: f"our broker serves\n{self.log()[-3000:]}", is_ready, patience_s=timeout_s, every_s=0.005
            )
        except AssertionError:
            self.kill()
            raise
        self.port = _port(json.loads(ready.read_text())["listeners"])

    @property
    def _ready_file(self) -> Path:
        return self.directory / "ready.json"

    def launch(self) -> subprocess.Popen[bytes]:
        """Starts the process without waiting."""
        self._ready_file.unlink(missing_ok=True)
        overrides = [part for key, value in self.keys().items() for part in ("--override", f"{key}={value}")]
        command = [
            *self._command_prefix,
            sys.executable,
            *self.program,
            *overrides,
            "--ready-file",
            str(self._ready_file),
        ]
        with self.log_file.open("ab") as out:
            self._process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
        return self._process

    def stop(self) -> int:
        """Sends SIGTERM; returns the exit code."""
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)
        code = self._process.wait(STOP_TIMEOUT_S)
        self._process = None
        return code

    def kill(self) -> None:
        """Sends SIGKILL, as a crash."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()
        self._process = None

    def log(self) -> str:
        """The broker's log so far."""
        return self.log_file.read_text(errors="replace")


def _port(listeners: Mapping[str, Mapping[str, int]]) -> int:
    """The port of the listener PLAINTEXT, or of the first one."""
    return (listeners.get("PLAINTEXT") or next(iter(listeners.values())))["port"]
