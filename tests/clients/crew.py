"""One member in each of several groups, all in one process that can be killed, so that many groups need few processes.

    python -m clients.crew CLIENT SERVERS SEATS-AS-JSON

After SIGTERM all leave their groups, and the process exits with 0. The Java client's crew is
``tests/java/GroupCrew.java``.
"""

import importlib
import json
import logging
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, NamedTuple

from support.brokers.python_clients import CLIENTS
from support.groups.journal import Journal
from support.kafka.java import java_arguments, java_class

STOP_TIMEOUT_S = 120.0
TESTS = Path(__file__).parent.parent
JAVA = "java"
STRATEGY = "partition_assignment_strategy"


class Seat(NamedTuple):
    """The specification of a member: its topic, its group, and the client's settings."""

    topic: str
    group: str
    journal: Path
    settings: dict[str, Any]


class GroupCrew:
    """The process of a crew, for the test."""

    def __init__(self, client: str, servers: str, seats: list[Seat]) -> None:
        self.client = client
        self._log_file = seats[0].journal.with_suffix(".log")
        described = json.dumps([[seat.topic, seat.group, str(seat.journal), seat.settings] for seat in seats])
        if client == JAVA:
            command = [*java_arguments(heap="256m"), java_class("GroupCrew")]
        else:
            command = [sys.executable, "-m", "clients.crew", client]
        environment = {**os.environ, "PYTHONPATH": str(TESTS)}
        with self._log_file.open("ab") as out:
            self._process = subprocess.Popen(
                [*command, servers, described], stdout=out, stderr=subprocess.STDOUT, env=environment
            )

    @property
    def has_failed(self) -> bool:
        """Whether it has ended with an error, and was not killed."""
        return self._process.poll() not in (None, 0, -signal.SIGKILL)

    def stop(self) -> None:
        """Makes all leave, without waiting."""
        self._process.send_signal(signal.SIGTERM)

    def wait(self) -> None:
        """Waits for the end. Raises AssertionError with the log if the exit code is not 0."""
        code = self._process.wait(STOP_TIMEOUT_S)
        assert code == 0, f"a crew ended with {code}:\n{self.log()[-3000:]}"

    def kill(self) -> None:
        """Sends SIGKILL; does nothing if it has ended."""
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()

    def log(self) -> str:
        """The output so far."""
        return self._log_file.read_text(errors="replace")


def assignor_class(client: str, name: str) -> type:
    """An assignor class of kafka-python or aiokafka, which need the class itself."""
    package = {"kafka-python": "kafka", "aiokafka": "aiokafka"}[client]
    module = {"sticky": "sticky.sticky_assignor", "cooperative-sticky": "cooperative_sticky"}.get(name, name)
    class_name = {
        "range": "RangePartitionAssignor",
        "roundrobin": "RoundRobinPartitionAssignor",
        "sticky": "StickyPartitionAssignor",
        "cooperative-sticky": "CooperativeStickyAssignor",
    }[name]
    found: type = getattr(importlib.import_module(f"{package}.coordinator.assignors.{module}"), class_name)
    return found


def main() -> None:
    """The process of the crew."""
    client, servers, described = sys.argv[1:]
    logging.basicConfig(level="WARNING", format="%(asctime)s %(name)s %(levelname)s %(message)s")
    for coordinator in ("kafka.coordinator", "aiokafka.consumer.group_coordinator"):
        logging.getLogger(coordinator).setLevel(logging.INFO)
    leave = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: leave.set())
    failed: list[BaseException] = []

    def take(topic: str, group: str, journal: str, settings: dict[str, Any]) -> None:
        try:
            CLIENTS[client].consume(servers, topic, group, Journal(Path(journal)), leave, settings)
        except Exception as error:
            logging.exception("%s", group)
            failed.append(error)
            leave.set()

    seats = json.loads(described)
    for *_, settings in seats:
        if STRATEGY in settings:
            settings[STRATEGY] = [assignor_class(client, settings[STRATEGY])]
    threads = [threading.Thread(target=take, args=seat) for seat in seats]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
