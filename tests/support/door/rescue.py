"""Runs ``odradek storage adopt`` in its own process, and compares a directory's bytes before and after."""

import hashlib
import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from types import TracebackType

from support.eventually import eventually

START_TIMEOUT_S = 180.0
STOP_TIMEOUT_S = 120.0


def adopt(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Runs the command to its end."""
    command = [sys.executable, "-m", "odradek", "storage", "adopt", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=START_TIMEOUT_S, check=False)


class Adopted:
    """The command while it serves."""

    def __init__(self, work_directory: Path, *arguments: str | Path) -> None:
        """``work_directory``: for the ready file and the output, beside the data."""
        self._ready = work_directory / "adopted.json"
        self._log = work_directory / "adopted.log"
        self._arguments = [str(argument) for argument in arguments]
        self._process: subprocess.Popen[bytes] | None = None
        self.port = 0

    @property
    def bootstrap_servers(self) -> str:
        """The address that clients connect to."""
        return f"127.0.0.1:{self.port}"

    @property
    def output(self) -> str:
        """The broker's output and log."""
        return self._log.read_text(errors="replace")

    def __enter__(self) -> "Adopted":
        self._ready.unlink(missing_ok=True)
        command = [sys.executable, "-m", "odradek", "storage", "adopt", *self._arguments]
        command += ["--override", "listeners=PLAINTEXT://127.0.0.1:0", "--ready-file", str(self._ready)]
        command += ["--override", "group.initial.rebalance.delay.ms=0"]
        with self._log.open("wb") as out:
            self._process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
        process = self._process

        def is_ready() -> bool:
            assert process.poll() is None, f"adopt has ended:\n{self.output[-3000:]}"
            return self._ready.exists()

        try:
            eventually(lambda: f"adopt serves\n{self.output[-3000:]}", is_ready, patience_s=START_TIMEOUT_S)
        except AssertionError:
            process.kill()
            raise
        self.port = json.loads(self._ready.read_text())["listeners"]["PLAINTEXT"]["port"]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)
        code = self._process.wait(STOP_TIMEOUT_S)
        assert code == 0, self.output[-3000:]


def lose_metadata(log_dir: Path) -> None:
    """Removes the files that name the topics: the metadata log and meta.properties."""
    shutil.rmtree(log_dir / "__cluster_metadata-0")
    (log_dir / "meta.properties").unlink()
    (log_dir / "bootstrap.checkpoint").unlink(missing_ok=True)


def fingerprint(directory: Path) -> dict[str, tuple[int, int, str]]:
    """Mode, time of the last change (ns) and content of everything below a directory, by name."""
    found = {}
    for path in sorted([directory, *directory.rglob("*")]):
        facts = path.stat()
        content = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "directory"
        found[str(path.relative_to(directory))] = (facts.st_mode, facts.st_mtime_ns, content)
    return found
