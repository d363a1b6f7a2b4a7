"""One directory and one port, which Odradek and a real Kafka use in turn."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from door.continuity import LivingProducer
from door.rules import violations
from support.brokers.our_broker import OurBroker
from support.kafka.java import KAFKA_VERSION
from support.kafka.log import AFTER_A_KILL, SERVING, complaints
from support.kafka.real_kafka import RealKafka

NODE = {"node.id": "1"}
SHORT_SESSION = {"broker.session.timeout.ms": "5000", "broker.heartbeat.interval.ms": "500"}
"""After a kill, Kafka waits this long for the old session to end before it accepts the broker's registration.

With a shorter timeout, a broker on a busy machine is fenced."""


class Way(NamedTuple):
    """The variant of a test: how each broker ends (stop or kill), Kafka's quorum configuration, and the number of log
    directories."""

    ours: str
    theirs: str
    dynamic_quorum: bool
    directories: int = 1


WAYS_OF_GROUPS = (
    pytest.param(Way("stop", "stop", False), id="stop", marks=pytest.mark.nightly),
    pytest.param(Way("kill", "kill", True), id="kill"),
)
"""How the doors of share and streams groups end their brokers. In CI they are killed, which demands more."""


class Door:
    """The two brokers. The first one that starts formats the directory."""

    def __init__(
        self,
        directory: Path,
        way: Way,
        configs: Mapping[str, str],
        *,
        ours: Mapping[str, str],
        theirs: Mapping[str, str],
        version: str = KAFKA_VERSION,
    ) -> None:
        """``configs``: of both brokers. ``ours``, ``theirs``: further ones of Odradek and of Kafka. ``version``: the
        release of Kafka."""
        names = ["logs", *(f"logs-{number}" for number in range(2, way.directories + 1))]
        shared = {**configs, "log.dirs": ",".join(str(directory / name) for name in names)}
        session = SHORT_SESSION if "kill" in way else {}
        self.kafka = RealKafka(
            directory, {**shared, **session, **theirs}, version=version, dynamic_quorum=way.dynamic_quorum
        )
        self.ours = OurBroker(directory, {**shared, **NODE, **ours})
        self.ours.port = self.kafka.port
        self._way = way
        self._logged = 0
        self._ours_has_run = self._kafka_was_first = False

    @property
    def servers(self) -> str:
        """The address of the running broker."""
        return self.ours.bootstrap_servers

    def start_ours(self) -> None:
        """Starts Odradek."""
        self._ours_has_run = True
        self.ours.start()

    def end_ours(self, producer: LivingProducer | None = None) -> None:
        """Stops Odradek, or kills it, during writes of ``producer`` if there is one. Asserts that its directory keeps
        Kafka's rules."""
        is_stopped = self._way.ours == "stop"
        if is_stopped:
            assert self.ours.stop() == 0, self.ours.log()[-3000:]
        else:
            _kill(self.ours, producer)
        found = violations(self.ours.log_dir, clean=is_stopped, others=self.ours.log_dirs[1:])
        if self._kafka_was_first and not self._way.dynamic_quorum:
            # A Kafka with a static quorum names no voter in its directory, and Odradek does not add one.
            found = [line for line in found if "names the voter" not in line]
        assert not found, found

    def start_kafka(self) -> None:
        """Starts Kafka. :meth:`end_kafka` checks its log."""
        self._kafka_was_first |= not self._ours_has_run
        self._logged = len(self.kafka.output)
        self.kafka.start()

    def end_kafka(self, producer: LivingProducer | None = None) -> None:
        """Stops Kafka, or kills it, during writes of ``producer`` if there is one. If it started after Odradek, asserts
        before that its log has no complaint."""
        if self._ours_has_run:
            allowed = (*SERVING, *(AFTER_A_KILL if self._way.ours == "kill" else ()))
            found = complaints(self.kafka.output[self._logged :], *allowed)
            assert not found, found
        if self._way.theirs == "stop":
            self.kafka.stop()
        else:
            _kill(self.kafka, producer)

    def end(self) -> None:
        """Ends the running broker."""
        self.kafka.kill()
        self.ours.__exit__(None, None, None)


def _kill(broker: OurBroker | RealKafka, producer: LivingProducer | None) -> None:
    if producer is None:
        broker.kill()
    else:
        producer.begin()
        broker.kill()
        producer.pause()
