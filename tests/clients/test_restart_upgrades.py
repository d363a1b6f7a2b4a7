"""Every kind of client of each library goes on while the only broker is replaced by another one, as in a new image.

One directory and one address: Apache Kafka 4.3.1 becomes Odradek, goes back, becomes Odradek again, whose feature
levels are raised to those of Kafka 4.4, then Apache Kafka 4.4.0, and Odradek again. docs/operating.md has the table.
"""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from support.brokers.our_broker import OurBroker
from support.kafka.java import FORMER_KAFKA_VERSION, KAFKA_VERSION, java_or_skip
from support.kafka.real_kafka import RealKafka

from .restart_kinds import WITHOUT_HELP, check, living
from .restart_topics import create_topics

pytestmark = [pytest.mark.nightly, pytest.mark.java]

ACTIONS = 11
COMPLAINTS = (" ERROR ", "Traceback")


def raise_levels(address: str) -> None:
    """Raises the feature levels to those of Kafka 4.4, with our command."""
    command = [sys.executable, "-m", "odradek", "features", "--bootstrap-server", address, "upgrade"]
    subprocess.run([*command, "--release-version", "4.4"], check=True, capture_output=True)


class Upgrades:
    """The brokers of one directory, of which one runs."""

    def __init__(self, directory: Path) -> None:
        self._former = RealKafka(directory, version=FORMER_KAFKA_VERSION)
        self._newer = RealKafka(directory, version=KAFKA_VERSION)
        self._newer.port, self._newer.controller_port = self._former.port, self._former.controller_port
        self._ours = OurBroker(directory, {"node.id": "1", "group.initial.rebalance.delay.ms": "0"})
        self._ours.port = self._former.port
        self.address = self._former.bootstrap_servers
        self.steps: dict[int, Callable[[], object]] = {
            1: lambda: self._replace(self._former, self._ours),
            3: lambda: self._replace(self._ours, self._former),
            5: lambda: self._replace(self._former, self._ours),
            6: lambda: raise_levels(self.address),
            7: lambda: self._replace(self._ours, self._newer),
            9: lambda: self._replace(self._newer, self._ours),
        }
        """What happens during which action."""

    def __enter__(self) -> "Upgrades":
        self._former.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._former.kill()
        self._newer.kill()
        self._ours.__exit__(None, None, None)
        assert not [word for word in COMPLAINTS if word in self._ours.log()], self._ours.log()

    def _replace(self, one: OurBroker | RealKafka, other: OurBroker | RealKafka) -> None:
        assert one.stop() in (0, 143)
        other.start()


@pytest.mark.parametrize(("library", "kind"), WITHOUT_HELP)
def test_it_goes_on_over_upgrades(library: str, kind: str, tmp_path: Path) -> None:
    for version in (FORMER_KAFKA_VERSION, KAFKA_VERSION):
        java_or_skip(version)
    with Upgrades(tmp_path) as upgrades:
        create_topics(upgrades.address)
        with living(WITHOUT_HELP[library, kind], upgrades.address) as client:
            for number in range(ACTIONS):
                client.act(number, upgrades.steps.get(number, lambda: None))
        check(upgrades.address, library, kind, ACTIONS)
