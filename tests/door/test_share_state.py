"""A directory with the state of share partitions goes from Kafka 4.4.0 to Odradek and back.

Both read what the other has written, and delete what no state needs.
"""

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from door.two_brokers import WAYS_OF_GROUPS, Door, Way
from odradek.protocol.internal_records.share_batches import StateBatch
from parity.side import Side
from support.eventually import eventually
from support.kafka.java import TABLE_VERSION
from support.kafka.share_states import States, stored
from support.kafka.wire import Wire

pytestmark = [pytest.mark.java, pytest.mark.ci]

TOPIC = "shared"
PARTITIONS = 3
KEYS: Mapping[str, str] = {
    "share.coordinator.snapshot.update.records.per.snapshot": "3",
    "share.coordinator.state.topic.num.partitions": "5",
    "share.coordinator.state.topic.prune.interval.ms": "500",
}
OUR_KEYS = {"share.coordinator.cold.partition.snapshot.interval.ms": "700"}
"""Kafka logs an error if this comes while it loads."""


def share_partitions(side: Side) -> list[States]:
    side.learn_ids()
    topic_id = side.topic_ids[TOPIC]
    return [States(side.ask, group, topic_id, index) for group in ("g", "h:i") for index in range(PARTITIONS)]


def change(side: Side, rng: random.Random, state_epoch: int) -> None:
    """Random changes of each share partition; some are begun anew or deleted."""
    for states in share_partitions(side):
        if states.summarize()["stateEpoch"] == 0 or rng.random() < 0.3:
            assert states.initialize(state_epoch, rng.choice((-1, 0, 5)))["errorCode"] == 0
        for _ in range(rng.randrange(6)):
            first = rng.randrange(30)
            batch = StateBatch(first, first + rng.randrange(9), rng.choice((0, 2, 3, 4)), rng.randrange(1, 4))
            written = states.write(state_epoch, state_epoch, rng.randrange(-1, 9), rng.randrange(4), [batch])
            assert written["errorCode"] == 0, written
        assert states.read(state_epoch)["errorCode"] == 0
    assert share_partitions(side)[0].delete()["errorCode"] == 0


def seen(side: Side, leader_epoch: int) -> list[Any]:
    """The summary of each share partition, and its state if it has one: Kafka logs an error otherwise."""
    found = []
    for states in share_partitions(side):
        summary = states.summarize()
        found.append((summary, states.read(leader_epoch) if summary["stateEpoch"] else None))
    return found


@pytest.mark.parametrize("way", WAYS_OF_GROUPS)
def test_states_go_through_the_door(tmp_path: Path, way: Way) -> None:
    rng = random.Random(way.ours)
    door = Door(tmp_path, way, KEYS, ours=OUR_KEYS, theirs={}, version=TABLE_VERSION)
    try:
        with Wire() as wire:
            side = Side(wire, door.kafka.port, False)
            door.start_kafka()
            side.topic(TOPIC, PARTITIONS)
            first = share_partitions(side)[0]
            # Kafka's coordinator learns of topics shortly after its broker.
            eventually("the topic is known", lambda: not first.initialize(1, 0)["errorCode"])
            for turn in range(1, 4):
                change(side, rng, 2 * turn)
                expected = seen(side, 2 * turn)
                door.end_kafka()
                wire.close(door.kafka.port, "main")
                door.start_ours()
                assert seen(side, 2 * turn) == expected, f"turn {turn}: ours"
                change(side, rng, 2 * turn + 1)
                expected = seen(side, 2 * turn + 1)
                assert "can't be used" not in door.ours.log()
                assert "is lost" not in door.ours.log()
                door.end_ours()
                wire.close(door.kafka.port, "main")
                door.start_kafka()
                assert seen(side, 2 * turn + 1) == expected, f"turn {turn}: Kafka"
            door.end_kafka()
    finally:
        door.end()
    assert len(list(stored(door.ours.log_dir))) > 20
