"""A directory that clients filled under Odradek moves to a real Kafka and back.

Odradek is stopped or killed. Kafka starts on its directory with each of the two quorum configurations. It shows every
record, committed offset, config and id, and no aborted record to read_committed consumers. An idempotent producer
continues, as do groups of both protocols, whether their members stay or return. A transaction that was open under
Odradek ends under Kafka. Then Odradek starts on the directory again.
"""

from pathlib import Path
from typing import NamedTuple

import pytest

from door.cleaned import CLEANER, fill_cleaned
from door.continuity import LivingProducer, assert_groups_go_on, assert_one_sequence
from door.living_group import LONG_SESSIONS, PROTOCOLS, LivingGroup
from door.rules import violations
from door.snapshot import differences
from door.topics import LIVING
from door.transactions import Seen, assert_shown_right, end_the_open_one, fill_with_transactions, look
from door.workload import CONFIGS, fill, fill_more
from odradek.protocol.wall_clock import clock_ms
from support.brokers.our_broker import OurBroker
from support.eventually import eventually
from support.kafka.java import java_or_skip
from support.kafka.log import AFTER_A_KILL, SERVING, complaints
from support.kafka.real_kafka import RealKafka

pytestmark = pytest.mark.java

NODE = {"node.id": "1"}
SHORT_SESSION = {"broker.session.timeout.ms": "5000", "broker.heartbeat.interval.ms": "500"}
"""After a kill, Kafka waits this long for the old session to end before it accepts the broker's registration.

With a shorter timeout, a broker on a busy machine is fenced."""
ROUNDS = 3


class Way(NamedTuple):
    """The variant of a test: how each broker ends, Kafka's quorum configuration, and the number of log directories."""

    ours: str
    dynamic_quorum: bool
    theirs: str
    directories: int


CI_WAYS = (Way("stop", False, "stop", 2), Way("kill", True, "kill", 1))
LONG_WAYS = (Way("stop", True, "kill", 1), Way("kill", False, "stop", 2), *CI_WAYS)


class Door:
    """One directory and one port, and the two brokers that use them in turn."""

    def __init__(self, directory: Path, way: Way) -> None:
        self.others = [directory / f"logs-{number}" for number in range(2, way.directories + 1)]
        log_dirs = {"log.dirs": ",".join(str(path) for path in (directory / "logs", *self.others))}
        self.ours = OurBroker(directory, CONFIGS | CLEANER | LONG_SESSIONS | NODE | log_dirs)
        session = SHORT_SESSION if "kill" in way else {}
        configs = CONFIGS | CLEANER | LONG_SESSIONS | session | log_dirs
        self.kafka = RealKafka(directory, configs, dynamic_quorum=way.dynamic_quorum)
        self._way = way
        self._logged = 0

    def log_dir_of(self, topic: str) -> Path:
        """The directory of the first partition of a topic."""
        [found] = [path for path in (self.ours.log_dir, *self.others) if (path / f"{topic}-0").is_dir()]
        return found

    def start_ours(self) -> None:
        """Starts Odradek on the common port."""
        self.ours.start()
        self.kafka.port = self.ours.port

    def end_ours(self, producer: LivingProducer) -> None:
        """Stops Odradek, or kills it during writes. Asserts that its directory keeps Kafka's rules."""
        if self._way.ours == "stop":
            assert self.ours.stop() == 0, self.ours.log()[-3000:]
        else:
            producer.begin()
            self.ours.kill()
            producer.pause()
        found = violations(self.ours.log_dir, clean=self._way.ours == "stop", others=self.others)
        assert not found, found

    def start_kafka(self) -> None:
        """Starts Kafka. :meth:`end_kafka` checks its log."""
        self._logged = len(self.kafka.output)
        self.kafka.start()

    def end_kafka(self, producer: LivingProducer) -> None:
        """Asserts that Kafka's log has no complaint, then stops Kafka, or kills it during writes."""
        allowed = (*SERVING, *(AFTER_A_KILL if "kill" in self._way else ()))
        found = complaints(self.kafka.output[self._logged :], *allowed)
        assert not found, found
        if self._way.theirs == "stop":
            self.kafka.stop()
        else:
            producer.begin()
            self.kafka.kill()
            producer.pause()

    def end(self) -> None:
        """Ends the running broker."""
        self.kafka.kill()
        self.ours.__exit__(None, None, None)


def pass_the_door(directory: Path, way: Way, rounds: int) -> None:
    """Fills Odradek, then moves its directory to Kafka and back ``rounds`` times.

    With several rounds, each broker also gets new data.
    """
    door = Door(directory, way)
    try:
        door.start_ours()
        servers = door.ours.bootstrap_servers
        producer = LivingProducer(servers)
        fill(servers, seed=1, now_ms=clock_ms())
        fill_cleaned(servers, [door.ours.log_dir, *door.others])
        fill_with_transactions(servers)
        groups = [LivingGroup(servers, protocol) for protocol in PROTOCOLS]
        for group in groups:
            group.go_on()
        producer.send()
        seen = settled(servers, door, way)
        for round_ in range(rounds):
            door.end_ours(producer)
            door.start_kafka()
            seen = same_after(servers, seen, producer, groups, open_ended=round_ > 0)
            if round_ == 0:
                end_the_open_one(servers)
                seen = look(servers)
            if rounds > 1:
                fill_more(servers, seed=100 + round_, now_ms=clock_ms())
                seen = settled(servers, door, way)
            door.end_kafka(producer)
            assert_one_sequence(door.log_dir_of(LIVING))
            door.start_ours()
            seen = same_after(servers, seen, producer, groups, open_ended=True)
            if rounds > 1:
                fill_more(servers, seed=200 + round_, now_ms=clock_ms())
                seen = settled(servers, door, way)
        for group in groups:
            group.close()
        door.end_ours(producer)
        assert_one_sequence(door.log_dir_of(LIVING))
    finally:
        door.end()


def same_after(
    servers: str, before: Seen, producer: LivingProducer, groups: list[LivingGroup], *, open_ended: bool
) -> Seen:
    """Asserts that a broker shows the same as the previous one, and that clients continue. Returns its snapshot."""
    producer.finish()
    seen = look(servers)
    for one, other in zip(before, seen, strict=True):
        # The producer's records that were sent during a kill arrived after the first snapshot.
        lines = [line for line in differences(one, other) if not line.startswith(f"{LIVING}-0: ")]
        assert not lines, "\n".join(lines)
    assert_shown_right(*seen, open_is_there=not open_ended)
    assert {seen.uncommitted.groups[group.name].state for group in groups} == {"STABLE"}
    producer.assert_all_there(seen.uncommitted)
    assert_groups_go_on(servers, seen.uncommitted)
    for group in groups:
        group.go_on()
    producer.send()
    seen = look(servers)
    producer.assert_all_there(seen.uncommitted)
    return seen


def settled(servers: str, door: Door, way: Way) -> Seen:
    """A snapshot. Before a kill, waits until the periodic checkpoint contains the log start offsets.

    Without it, deleted records would reappear after the kill of either broker."""
    checkpoint = door.log_dir_of("records-deleted") / "log-start-offset-checkpoint"
    if "kill" in way:
        eventually(
            "the log start offsets to be written down", lambda: "records-deleted 0 37\n" in checkpoint.read_text()
        )
    return look(servers)


@pytest.mark.ci
@pytest.mark.parametrize("way", CI_WAYS, ids=lambda way: f"{way.ours}-{way.theirs}")
def test_kafka_takes_our_directory_over_and_we_have_it_again(tmp_path: Path, way: Way) -> None:
    java_or_skip()
    pass_the_door(tmp_path, way, rounds=1)


@pytest.mark.long
@pytest.mark.parametrize("way", LONG_WAYS, ids=lambda way: f"{way.ours}-{way.theirs}-{way.dynamic_quorum}")
def test_the_door_three_times_round(tmp_path: Path, way: Way) -> None:
    java_or_skip()
    pass_the_door(tmp_path, way, rounds=ROUNDS)
