"""Consumer groups and a real Kafka: its serde reads and writes our records, and a live group moves to it and back."""

import json
from pathlib import Path
from typing import Any

import pytest

from parity.consumer_members import Members
from parity.side import Side
from support.brokers.our_broker import OurBroker
from support.kafka.java import java_class, java_or_skip, run_class
from support.kafka.real_kafka import RealKafka
from support.kafka.wire import Wire

pytestmark = [pytest.mark.java, pytest.mark.ci]

CONFIGS = {
    "group.consumer.assignment.interval.ms": "0",
    # Longer than a slow machine needs to change brokers.
    "group.consumer.max.session.timeout.ms": "600000",
    "group.consumer.session.timeout.ms": "600000",
    "offsets.topic.num.partitions": "3",
    "group.initial.rebalance.delay.ms": "0",
}
TOPIC, OTHER = "cg-live", "cg-more"


def a_life(group: Members) -> None:
    """Runs members of both protocols, a static one and one with a regular expression, of which some leave."""
    whole = {TOPIC: [0, 1, 2, 3]}
    group.join("a", TOPIC, instance_id="i", rack_id="r", server_assignor="range")
    group.join("b", TOPIC)
    group.heartbeat("a", owned={TOPIC: [0, 1]}, instance_id="i")
    group.heartbeat("b", owned={})
    group.commit("b", TOPIC, group.epochs["b"], partition=2)
    group.join("r", subscribed_topic_names=None, subscribed_topic_regex="cg-m.*")
    group.until_assigned("r", {OTHER: [0]}, owned={})
    group.classic_join("c", TOPIC)
    group.classic_sync("c")
    group.leave("a", -2, instance_id="i")
    group.join("d", TOPIC)
    group.leave("d")
    assert group.heartbeat("b", owned=whole)["errorCode"] == 0


def told(group: Members) -> Any:
    """The description of the group, without fields that a heartbeat may change."""
    described = group.describe()["groups"][0]
    assert described["errorCode"] == 0, described
    return described


def test_kafkas_serde_writes_the_bytes_that_we_wrote(tmp_path: Path) -> None:
    java_or_skip()
    with Wire() as wire, OurBroker(tmp_path, CONFIGS) as ours:
        side = Side(wire, ours.port, True)
        side.topic(TOPIC, 4)
        side.topic(OTHER, 1)
        group = Members(side, "cg-bytes")
        a_life(group)
        records = [(record.key_bytes(), record.value_bytes()) for record in group.records()]
    lines = "".join(f"{key.hex()} {'-' if value is None else value.hex()}\n" for key, value in records)
    result = run_class(java_class("GroupRecords"), standard_input=lines)
    assert result.returncode == 0, result.stderr
    shown = [json.loads(line) for line in result.stdout.splitlines()]
    assert {key[1] for key, _ in records} >= {1, 3, 5, 6, 7, 8, 16}, "a record of every type"
    assert [(line["keyBytes"], line["valueBytes"]) for line in shown] == [
        (key.hex(), None if value is None else value.hex()) for key, value in records
    ]


def test_a_live_group_moves_to_ours_and_back(tmp_path: Path) -> None:
    kafka = RealKafka(tmp_path, CONFIGS)
    ours = OurBroker(tmp_path, {**CONFIGS, "node.id": "1"})
    ours.port = kafka.port
    with Wire() as wire:
        with kafka:
            side = Side(wire, kafka.port, False)
            side.topic(TOPIC, 4)
            side.topic(OTHER, 1)
            group = Members(side, "cg-door")
            a_life(group)
            before = told(group)
        wire.close(kafka.port, "main")
        with ours:
            side.group(group.name)
            assert told(group) == before
            goes_on(group)
            before = told(group)
            ours.stop()
        wire.close(kafka.port, "main")
        with kafka:
            side.group(group.name)
            assert told(group) == before
            goes_on(group)


def goes_on(group: Members) -> None:
    """Asserts that members and epochs are known: another member joins and leaves, the static one returns, offsets
    exist.
    """
    for who in "br":
        assert group.heartbeat(who)["errorCode"] == 0
    assert group.classic_heartbeat("c") in (0, 27)
    assert group.fetch(None, -1)["groups"][0]["topics"][0]["partitions"][0]["committedOffset"] == 5
    returned = group.join("a", TOPIC, instance_id="i")
    assert returned["errorCode"] == 0
    group.leave("a", -2, instance_id="i")
    group.join("e", TOPIC)
    group.leave("e")
