"""Configs of groups that a broker with narrower bounds finds: what DescribeConfigs shows, at Kafka and at Odradek."""

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from odradek.broker.metadata.image.image import ResourceType
from odradek.protocol.messages.configs import DescribeConfigsRequest, IncrementalAlterConfigsRequest
from parity.side import Side
from support.brokers.our_broker import OurBroker
from support.eventually import eventually
from support.kafka.real_kafka import RealKafka
from support.kafka.wire import Wire

pytestmark = [pytest.mark.java, pytest.mark.ci]

WIDE = {
    f"group.{kind}.{bound}.{what}.ms": str(value)
    for kind in ("consumer", "share", "streams")
    for what in ("session.timeout", "heartbeat.interval")
    for bound, value in (("min", 1), ("max", 3_600_000))
} | {"group.share.max.delivery.count.limit": "10", "group.streams.max.standby.replicas": "2"}
CHANGED = {
    "consumer.session.timeout.ms": "100000",
    "consumer.heartbeat.interval.ms": "2",
    "share.session.timeout.ms": "100000",
    "share.heartbeat.interval.ms": "2",
    "share.record.lock.duration.ms": "16000",
    "share.delivery.count.limit": "10",
    "streams.session.timeout.ms": "2000000",
    "streams.heartbeat.interval.ms": "2",
    "streams.num.standby.replicas": "2",
}
"""What a group has itself. In the second start all but one of them are outside the broker's bounds."""
NARROW = {"group.streams.max.standby.replicas": "1", "group.share.max.delivery.count.limit": "6"}


def change(side: Side, group: str) -> None:
    """Sets the configs of the group."""
    kind = IncrementalAlterConfigsRequest
    changes = [kind.AlterableConfig(name, 0, value) for name, value in CHANGED.items()]
    [result] = side.ask(kind([kind.AlterConfigsResource(ResourceType.GROUP, group, changes)]), 1)["responses"]
    assert not result["errorCode"], result
    eventually("the broker knows the configs", lambda: CHANGED.items() <= shown(side, group).items())


def described(side: Side, group: str) -> list[dict[str, Any]]:
    """The changed configs in DescribeConfigs, in their order."""
    resource = DescribeConfigsRequest.DescribeConfigsResource(ResourceType.GROUP, group, sorted(CHANGED))
    request = DescribeConfigsRequest([resource], include_synonyms=True)
    [result] = side.ask(request, 4)["results"]
    return sorted(result["configs"], key=lambda config: str(config["name"]))


def shown(side: Side, group: str) -> dict[str, str]:
    """The values that DescribeConfigs shows."""
    return {config["name"]: config["value"] for config in described(side, group)}


def test_what_describe_configs_shows(tmp_path: Path) -> None:
    found = []
    for kind in (OurBroker, RealKafka):
        directory = tmp_path / kind.__name__
        directory.mkdir()
        for configs in (WIDE, NARROW):
            with kind(directory, configs) as broker, Wire() as wire:
                side = Side(wire, broker.port, kind is OurBroker)
                if configs is WIDE:
                    change(side, "g")
                else:
                    found.append(eventually("the broker shows configs", partial(described, side, "g")))
    ours, kafka = found
    assert ours == kafka
    assert {config["name"]: config["value"] for config in kafka} == CHANGED, "the stored values, not those in use"
