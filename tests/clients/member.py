"""A member of a consumer group in its own process, so that it can be killed.

    python -m clients.member CLIENT SERVERS TOPIC GROUP JOURNAL SETTINGS-AS-JSON

After SIGTERM it leaves the group and exits with 0.
"""

import json
import logging
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from support.brokers.python_clients import CLIENTS
from support.groups.journal import Journal

STOP_TIMEOUT_S = 180.0
TESTS = Path(__file__).parent.parent


class GroupMember:
    """The process of a member, for the test."""

    def __init__(
        self, client: str, servers: str, topic: str, group: str, journal: Path, settings: dict[str, Any]
    ) -> None:
        self.journal = journal
        self.log_file = journal.with_suffix(".log")
        module = "clients.member"
        command = [sys.executable, "-m", module, client, servers, topic, group, str(journal), json.dumps(settings)]
        environment = {**os.environ, "PYTHONPATH": str(TESTS)}
        with self.log_file.open("ab") as out:
            self._process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, env=environment)

    def leave(self) -> None:
        """Makes it leave the group. Raises AssertionError with its log if the exit code is not 0."""
        self._process.send_signal(signal.SIGTERM)
        code = self._process.wait(STOP_TIMEOUT_S)
        assert code == 0, f"a member ended with {code}:\n{self.log()[-3000:]}"

    def kill(self) -> None:
        """Sends SIGKILL; does nothing if it has ended."""
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()

    def log(self) -> str:
        """The output so far."""
        return self.log_file.read_text(errors="replace")


def main() -> None:
    """The process of the member."""
    client, servers, topic, group, journal, settings = sys.argv[1:]
    logging.basicConfig(level="WARNING", format="%(asctime)s %(name)s %(levelname)s %(message)s")
    leave = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: leave.set())
    CLIENTS[client].consume(servers, topic, group, Journal(Path(journal)), leave, json.loads(settings))


if __name__ == "__main__":
    main()
