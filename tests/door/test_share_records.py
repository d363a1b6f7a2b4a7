"""Members of a share group read on while a directory goes from Kafka 4.4.0 to Odradek and back.

Each turn leaves records accepted, rejected, released and held. What was accepted or rejected never comes back, the
others do, with their counts; and each rejected record has a dead letter.
"""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from door.two_brokers import WAYS_OF_GROUPS, Door, Way
from parity.sharers import Sharers
from parity.side import DEADLINE_S, Side, batch
from support.kafka.java import KAFKA_VERSION
from support.kafka.wire import Wire

pytestmark = [pytest.mark.java, pytest.mark.ci]

TOPIC, LETTERS, GROUP = "shared", "dlq.shared", "sharing"
KEYS: Mapping[str, str] = {
    "offsets.topic.num.partitions": "1",
    "share.coordinator.state.topic.num.partitions": "1",
    "errors.deadletterqueue.auto.create.topics.enable": "true",
}
RECORD_LIMIT = 1
ACCEPT, RELEASE, REJECT = 1, 2, 3
TURNS = 6
A_TURN = 10


class History:
    """The offsets that are done, those that were rejected, and the delivery counts."""

    def __init__(self) -> None:
        self.done: set[int] = set()
        self.rejected: set[int] = set()
        self.counts: dict[int, int] = {}

    def take(self, acquired: list[tuple[int, int, int]]) -> list[int]:
        """Notes records that a member has got."""
        offsets = []
        for first, last, count in acquired:
            for offset in range(first, last + 1):
                assert offset not in self.done, f"{offset} was done, and comes back"
                offsets.append(offset)
                self.counts[offset] = count
        return offsets


def fetched(group: Sharers, who: str, most: int) -> list[tuple[int, int, int]]:
    """Records for a member, in as many requests as the broker needs to load the state."""
    deadline = time.monotonic() + DEADLINE_S
    while True:
        body = group.fetch(who, max_wait_ms=500, min_bytes=1, max_records=most, share_acquire_mode=RECORD_LIMIT)
        acquired: list[tuple[int, int, int]] = [got for one in body["partitions"].values() for got in one["acquired"]]
        if acquired:
            return acquired
        assert time.monotonic() < deadline, body


def turn(side: Side, number: int, history: History) -> None:
    """A member takes ten records: four are accepted, two rejected, two released, and two held until the end."""
    side.learn_ids()
    group = Sharers(side, GROUP, TOPIC)
    who = f"m{number}"
    offsets: list[int] = []
    while len(offsets) < A_TURN:
        offsets += history.take(fetched(group, who, A_TURN - len(offsets)))
    kinds = [ACCEPT] * 4 + [REJECT] * 2 + [RELEASE] * 2
    acks: list[Any] = [(offset, offset, [kind]) for offset, kind in sorted(zip(offsets, kinds, strict=False))]
    body = group.acknowledge(who, {0: acks})
    assert [one["error"] for one in body["partitions"].values()] == [0], body
    history.done.update(offsets[:6])
    history.rejected.update(offsets[4:6])
    until_letters(side, history)


def letters(side: Side) -> list[bytes]:
    """The offsets that dead letters name."""
    side.learn_ids()
    if LETTERS not in side.topic_ids:
        return []
    records = [record for one in side.batches(LETTERS) for record in one["records"]]
    return [dict(headers)["__dlq.errors.offset"] for _, _, _, headers in records]


def until_letters(side: Side, history: History) -> None:
    """Waits until each rejected record has a letter."""
    deadline = time.monotonic() + DEADLINE_S
    wanted = {b"%d" % offset for offset in history.rejected}
    while not wanted <= set(letters(side)):
        assert time.monotonic() < deadline, (wanted, letters(side))


@pytest.mark.parametrize("way", WAYS_OF_GROUPS)
def test_records_go_through_the_door(tmp_path: Path, way: Way) -> None:
    door = Door(tmp_path, way, KEYS, ours={}, theirs={}, version=KAFKA_VERSION)
    history = History()
    try:
        with Wire() as wire:
            side = Side(wire, door.kafka.port, False)
            door.start_kafka()
            side.topic(TOPIC)
            group = Sharers(side, GROUP, TOPIC)
            group.initialize()
            group.configure(share_auto_offset_reset="earliest", errors_deadletterqueue_topic_name=LETTERS)
            for _ in range(TURNS):
                side.produce(TOPIC, batch(*range(A_TURN)))
            for number in range(TURNS):
                turn(side, number, history)
                ours_is_next = number % 2 == 0
                (door.end_kafka if ours_is_next else door.end_ours)()
                wire.close(door.kafka.port, "main")
                (door.start_ours if ours_is_next else door.start_kafka)()
            assert set(letters(side)) == {b"%d" % offset for offset in history.rejected}
            door.end_kafka()
    finally:
        door.end()
    assert len(history.done) == TURNS * 6
    assert max(history.counts.values()) > 1, "nothing that was released came back"
