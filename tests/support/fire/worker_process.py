"""A worker's process, for the test: it can be killed, paused and ended, and its journal shows its progress."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

from support.eventually import eventually
from support.fire.worker import END_TIMEOUT_S, TRANSACTION_TIMEOUT_MS, Specification

TESTS = Path(__file__).parent.parent.parent
PYTHON_WORKER = [sys.executable, "-m", "support.fire.worker"]
AIOKAFKA_MEMBER = [sys.executable, "-m", "support.fire.aiokafka_member"]
GETTING_ON = (b'"acked"', b'"committed"', b'"poll"', b'"told"', b'"glimpse"', b'"ends"')
BETWEEN_TRANSACTIONS = ("started", "committed", "aborted", "told")


class FireWorker:
    """The process of a worker."""

    def __init__(self, servers: str, journal: Path, specification: Specification, command: list[str]) -> None:
        """``command``: the program; servers, journal and specification are its arguments."""
        self.specification = specification
        self.journal = journal
        self._is_python = command == PYTHON_WORKER
        self.log_file = journal.with_suffix(".log")
        journal.touch()
        environment = {**os.environ, "PYTHONPATH": str(TESTS)}
        arguments = [*command, servers, str(journal), json.dumps(specification)]
        with self.log_file.open("ab") as out:
            self._process = subprocess.Popen(arguments, stdout=out, stderr=subprocess.STDOUT, env=environment)

    @property
    def is_alive(self) -> bool:
        """Whether it has not ended."""
        return self._process.poll() is None

    def has_got_on(self, since: int) -> bool:
        """Whether it has made progress since its journal had ``since`` bytes."""
        with self.journal.open("rb") as journal:
            journal.seek(since)
            written = journal.read()
        return any(word in written for word in GETTING_ON)

    def outlasted_its_transaction(self, clocks_were_wrong_until_ns: int) -> bool:
        """Whether it was fenced because its last transaction exceeded its timeout by the coordinator's clock, which may
        have been ahead."""
        if self.is_alive:
            return False
        last_ns = 0
        for line in self.journal.read_text().splitlines():
            at_ns, event, *_ = json.loads(line)
            if event in BETWEEN_TRANSACTIONS:
                last_ns = at_ns
            elif event == "fenced":
                return bool(
                    at_ns - last_ns > TRANSACTION_TIMEOUT_MS * 1_000_000 or last_ns < clocks_were_wrong_until_ns
                )
        return False

    def log_threads(self) -> None:
        """Lets a running worker that is written in Python write where each of its threads is into its log."""
        if not self._is_python or not self.is_alive:
            return
        size = self.log_file.stat().st_size
        self._process.send_signal(signal.SIGUSR1)
        with contextlib.suppress(AssertionError):  # a paused process writes nothing
            eventually("its threads are in the log", lambda: self.log_file.stat().st_size > size, patience_s=5)

    def pause(self) -> None:
        """Pauses the process (SIGSTOP)."""
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Continues the process (SIGCONT)."""
        self._process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        """Sends SIGKILL; does nothing if it has ended."""
        if self.is_alive:
            self._process.kill()
        self._process.wait()

    def end(self) -> None:
        """Sends SIGTERM, without waiting."""
        self._process.send_signal(signal.SIGTERM)

    def wait(self) -> None:
        """Waits for its end. Raises AssertionError with its log if the exit code is not 0."""
        code = self._process.wait(END_TIMEOUT_S)
        assert code == 0, f"{self.specification} ended with {code}:\n{self.log_file.read_text()[-3000:]}"
