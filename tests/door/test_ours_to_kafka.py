"""A directory that clients filled under Odradek moves to a real Kafka and back.

Odradek is stopped or killed. Kafka starts on its directory with each of the two quorum configurations. It shows every
record, committed offset, config and id, and no aborted record to read_committed consumers. An idempotent producer
continues, as do groups of both protocols, whether their members stay or return. A transaction that was open under
Odradek ends under Kafka. Then Odradek starts on the directory again.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from door.cleaned import CLEANER, fill_cleaned
from door.continuity import LivingProducer, assert_groups_go_on, assert_one_sequence
from door.living_group import LONG_SESSIONS, PROTOCOLS, LivingGroup
from door.snapshot import differences
from door.topics import LIVING
from door.transactions import Seen, assert_shown_right, end_the_open_one, fill_with_transactions, look
from door.two_brokers import Door, Way
from door.workload import CONFIGS, fill, fill_more
from odradek.protocol.common.wall_clock import clock_ms
from support.eventually import eventually
from support.kafka.java import FORMER_KAFKA_VERSION, KAFKA_VERSION, java_or_skip
from support.kafka.real_kafka import CLUSTER_ID

pytestmark = pytest.mark.java

ROUNDS = 3
STOPS, KILLS = Way("stop", "stop", False, 2), Way("kill", "kill", True)
LONG_WAYS = (Way("stop", "kill", True), Way("kill", "stop", False, 2), STOPS, KILLS)


def pass_the_door(directory: Path, way: Way, rounds: int, version: str = KAFKA_VERSION) -> None:
    """Fills Odradek, then moves its directory to Kafka and back ``rounds`` times.

    With several rounds, each broker also gets new data. A directory for another release of Kafka than the newest is
    formatted for it.
    """
    door = Door(directory, way, CONFIGS | CLEANER | LONG_SESSIONS, ours={}, theirs={}, version=version)
    if version != KAFKA_VERSION:
        format_for(version, door)
    try:
        door.start_ours()
        servers = door.servers
        producer = LivingProducer(servers)
        fill(servers, seed=1, now_ms=clock_ms())
        fill_cleaned(servers, door.ours.log_dirs)
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
            assert_one_sequence(door.ours.holder(LIVING))
            door.start_ours()
            seen = same_after(servers, seen, producer, groups, open_ended=True)
            if rounds > 1:
                fill_more(servers, seed=200 + round_, now_ms=clock_ms())
                seen = settled(servers, door, way)
        for group in groups:
            group.close()
        door.end_ours(producer)
        assert_one_sequence(door.ours.holder(LIVING))
    finally:
        door.end()


def format_for(release: str, door: Door) -> None:
    """Formats the directory of a door by `odradek storage format`, with the levels of a release."""
    path = door.ours.directory / "format.properties"
    path.write_text("".join(f"{key}={value}\n" for key, value in door.ours.configs.items()))
    words = ["storage", "format", "-c", str(path), "-t", CLUSTER_ID, "--release-version", release]
    subprocess.run([sys.executable, "-m", "odradek", *words], check=True, capture_output=True)


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
    checkpoint = door.ours.holder("records-deleted") / "log-start-offset-checkpoint"
    if "kill" in way:
        eventually(
            "the log start offsets to be written down", lambda: "records-deleted 0 37\n" in checkpoint.read_text()
        )
    return look(servers)


@pytest.mark.ci
@pytest.mark.parametrize("way", [pytest.param(STOPS, marks=pytest.mark.nightly), KILLS], ids=["stop-stop", "kill-kill"])
def test_kafka_takes_our_directory_over_and_we_have_it_again(tmp_path: Path, way: Way) -> None:
    java_or_skip()
    pass_the_door(tmp_path, way, rounds=1)


@pytest.mark.nightly
@pytest.mark.ci
@pytest.mark.parametrize(
    "dynamic_quorum", [pytest.param(True, id="dynamic"), pytest.param(False, id="static", marks=pytest.mark.nightly)]
)
def test_a_directory_formatted_for_the_former_kafka_goes_there_and_comes_back(
    tmp_path: Path, dynamic_quorum: bool
) -> None:
    java_or_skip(FORMER_KAFKA_VERSION)
    pass_the_door(tmp_path, Way("stop", "stop", dynamic_quorum), rounds=1, version=FORMER_KAFKA_VERSION)


@pytest.mark.long
@pytest.mark.parametrize("way", LONG_WAYS, ids=lambda way: f"{way.ours}-{way.theirs}-{way.dynamic_quorum}")
def test_the_door_three_times_round(tmp_path: Path, way: Way) -> None:
    java_or_skip()
    pass_the_door(tmp_path, way, rounds=ROUNDS)
