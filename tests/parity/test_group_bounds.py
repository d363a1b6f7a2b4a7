"""Configs of a group that are outside of the broker's bounds, because these were changed after the group's were set.

Both brokers keep and describe the group's own value, and use the nearest one within the bounds.
"""

from pathlib import Path
from typing import Any

import pytest

from odradek.protocol.messages.configs import DescribeConfigsRequest
from parity.consumer_members import Members
from parity.sharers import GROUP_RESOURCE, Sharers
from parity.side import Side, batch
from parity.world import comparable
from support.brokers.our_broker import OurBroker
from support.kafka.java import TABLE_VERSION
from support.kafka.real_kafka import RealKafka
from support.kafka.wire import Wire

pytestmark = [pytest.mark.java, pytest.mark.ci]

GROUP, CONSUMERS, TOPIC = "bounded", "bounded-consumers", "bounded-topic"
OWN = {
    "consumer.heartbeat.interval.ms": "29000",
    "consumer.session.timeout.ms": "110000",
    "share.assignment.interval.ms": "80000",
    "share.delivery.count.limit": "15",
    "share.heartbeat.interval.ms": "1000",
    "share.partition.max.record.locks": "8000",
    "share.record.lock.duration.ms": "100000",
    "streams.heartbeat.interval.ms": "2000",
    "streams.num.standby.replicas": "4",
    "streams.num.warmup.replicas": "40",
    "streams.task.offset.interval.ms": "2000",
}
WIDE = {
    "group.consumer.max.heartbeat.interval.ms": "30000",
    "group.consumer.max.session.timeout.ms": "120000",
    "group.share.max.assignment.interval.ms": "90000",
    "group.share.max.delivery.count.limit": "20",
    "group.share.min.heartbeat.interval.ms": "1000",
    "group.share.max.partition.max.record.locks": "9000",
    "group.share.max.record.lock.duration.ms": "120000",
    "group.streams.min.heartbeat.interval.ms": "1000",
    "group.streams.max.standby.replicas": "5",
    "group.streams.max.warmup.replicas": "50",
    "group.streams.min.task.offset.interval.ms": "1000",
}
"""Bounds that allow OWN. The defaults allow none of its values."""
COMMON = {"offsets.topic.num.partitions": "1", "share.coordinator.state.topic.num.partitions": "1"}
RECORDS = 150


def described(side: Side) -> Any:
    resource = DescribeConfigsRequest.DescribeConfigsResource(GROUP_RESOURCE, GROUP, None)
    [found] = side.ask(DescribeConfigsRequest([resource], True, False), 4)["results"]
    assert found["errorCode"] == 0, found
    return {one["name"]: comparable(one) for one in found["configs"] if one["name"] in OWN}


def first_life(side: Side) -> Any:
    side.topic(TOPIC)
    side.produce(TOPIC, batch(*range(RECORDS)))
    group = Sharers(side, GROUP, TOPIC)
    group.configure(share_auto_offset_reset="earliest", **{name.replace(".", "_"): text for name, text in OWN.items()})
    group.initialize()
    consumers = Sharers(side, CONSUMERS, TOPIC)
    consumers.configure(**{name.replace(".", "_"): text for name, text in OWN.items() if name.startswith("consumer")})
    return described(side)


def second_life(side: Side) -> Any:
    """The configs as they are shown, and as they are used."""
    side.learn_ids()
    shown = described(side)
    group = Sharers(side, GROUP, TOPIC)
    fetched = group.fetch("a", max_wait_ms=500, min_bytes=1)
    while not fetched["partitions"].get(0, {}).get("acquired"):
        fetched = group.fetch("a", max_wait_ms=500, min_bytes=1)
    group.heartbeat("a", 0, [TOPIC])
    while (share_ms := group.heartbeat("a")["heartbeatIntervalMs"]) <= 1_000:
        pass  # ours has a short one for as long as it waits for partitions
    side.group(CONSUMERS)
    used = {
        "lock": fetched["lock"],
        "acquired": fetched["partitions"][0]["acquired"],
        "share": share_ms,
        "consumer": Members(side, CONSUMERS).join("a", TOPIC)["heartbeatIntervalMs"],
    }
    return shown, used


def test_values_outside_of_the_bounds_are_shown_and_not_used(tmp_path: Path) -> None:
    found = []
    with Wire() as wire:
        for kind, name in ((OurBroker, "ours"), (RealKafka, "kafka")):
            options: Any = {"version": TABLE_VERSION} if kind is RealKafka else {}
            lives = []
            (tmp_path / name).mkdir()
            for configs, life in ((WIDE, first_life), ({}, second_life)):
                with kind(tmp_path / name, COMMON | configs, **options) as broker:
                    lives.append(life(Side(wire, broker.port, kind is OurBroker)))
            found.append(lives)
    ours, kafka = found
    assert ours == kafka
    shown, used = kafka[1]
    assert {name: one["value"] for name, one in shown.items()} == OWN
    assert used == {"lock": 60_000, "acquired": [(0, 149, 1)], "share": 5_000, "consumer": 15_000}
