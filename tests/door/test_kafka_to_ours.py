"""A directory that clients filled under a real Kafka moves to Odradek and back.

Kafka is stopped or killed, with each of the two quorum configurations. Odradek shows every record, committed offset,
config and id, and no aborted record to read_committed consumers. An idempotent producer and groups continue. Then Kafka
starts on the directory again, with its ACLs, SCRAM users and quotas.
"""

from pathlib import Path

import pytest

from door.cleaned import CLEANER, fill_cleaned
from door.continuity import LivingProducer, assert_groups_go_on, assert_one_sequence
from door.security import AUTHORIZER, set_up, what_is_there
from door.snapshot import differences
from door.transactions import Seen, assert_shown_right, end_the_open_one, fill_with_transactions, look
from door.two_brokers import Door, Way
from door.workload import CONFIGS, fill, fill_more
from odradek.protocol.common.wall_clock import clock_ms
from support.door.metadata import SNAPSHOTS, latest_snapshot, metadata_end_offset
from support.eventually import eventually
from support.kafka.java import FORMER_KAFKA_VERSION, KAFKA_VERSION, java_or_skip

pytestmark = pytest.mark.java

ROUNDS = 3
STOPS, KILLS = Way("stop", "stop", True), Way("kill", "kill", False)
LONG_WAYS = (Way("kill", "stop", False), Way("stop", "kill", True), STOPS, KILLS)


def pass_the_door(directory: Path, way: Way, rounds: int, version: str = KAFKA_VERSION) -> None:
    """Fills a Kafka, then moves its directory to Odradek and back ``rounds`` times."""
    door = Door(directory, way, CONFIGS | CLEANER, ours=SNAPSHOTS, theirs=AUTHORIZER, version=version)
    try:
        door.start_kafka()
        producer = LivingProducer(door.servers)
        fill(door.servers, seed=3, now_ms=clock_ms())
        fill_with_transactions(door.servers)
        fill_cleaned(door.servers, [door.kafka.log_dir])
        set_up(door.servers)
        producer.send()
        secured = what_is_there(door.servers)
        assert all(secured.values()), secured
        seen = settled(door)
        for round_ in range(rounds):
            door.end_kafka()
            end_offset = metadata_end_offset(door.ours.log_dir)
            door.start_ours()
            seen = same_after(door, seen, producer, open_ended=round_ > 0)
            if rounds > 1:
                fill_more(door.servers, seed=300 + round_, now_ms=clock_ms())
                seen = settled(door)
            door.end_ours()
            assert latest_snapshot(door.ours.log_dir) > end_offset, "Kafka reads what we have made of all its records"
            assert_one_sequence(door.ours.log_dir)
            door.start_kafka()
            seen = same_after(door, seen, producer, open_ended=round_ > 0)
            assert what_is_there(door.servers) == secured
            if round_ == 0:
                end_the_open_one(door.servers)
            if rounds > 1:
                fill_more(door.servers, seed=400 + round_, now_ms=clock_ms())
            seen = settled(door)
        door.end_kafka()
        assert_one_sequence(door.kafka.log_dir)
    finally:
        door.end()


def same_after(door: Door, before: Seen, producer: LivingProducer, *, open_ended: bool) -> Seen:
    """Asserts that a broker shows the same as the previous one, and that clients continue. Returns its snapshot."""
    seen = look(door.servers)
    for one, other in zip(before, seen, strict=True):
        assert not differences(one, other), "\n".join(differences(one, other))
    assert_shown_right(*seen, open_is_there=not open_ended)
    assert_groups_go_on(door.servers, seen.uncommitted)
    producer.send()
    seen = look(door.servers)
    producer.assert_all_there(seen.uncommitted)
    return seen


def settled(door: Door) -> Seen:
    """A snapshot, taken after the periodic checkpoint contains the log start offsets."""
    checkpoint = door.kafka.log_dir / "log-start-offset-checkpoint"
    eventually("the log start offsets to be written down", lambda: "records-deleted 0 37\n" in checkpoint.read_text())
    return look(door.servers)


@pytest.mark.ci
@pytest.mark.parametrize("version", [KAFKA_VERSION, pytest.param(FORMER_KAFKA_VERSION, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("way", [pytest.param(STOPS, marks=pytest.mark.nightly), KILLS], ids=["stop-stop", "kill-kill"])
def test_we_take_the_directory_of_a_kafka_over_and_it_has_it_again(tmp_path: Path, way: Way, version: str) -> None:
    java_or_skip(version)
    pass_the_door(tmp_path, way, rounds=1, version=version)


@pytest.mark.long
@pytest.mark.parametrize("way", LONG_WAYS, ids=lambda way: f"{way.theirs}-{way.ours}-{way.dynamic_quorum}")
def test_the_door_three_times_round_from_kafka(tmp_path: Path, way: Way) -> None:
    java_or_skip()
    pass_the_door(tmp_path, way, rounds=ROUNDS)
