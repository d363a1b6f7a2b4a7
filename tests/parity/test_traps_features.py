"""UpdateFeatures: the same requests on Odradek and on a real Kafka, and what they leave behind."""

from collections.abc import Iterator
from typing import Any

import pytest

from odradek.broker.metadata.image.features import BOOTSTRAP_METADATA_VERSION
from odradek.protocol.messages.configs import DescribeConfigsRequest
from odradek.protocol.messages.metadata import ApiVersionsRequest
from odradek.protocol.messages.quorum import UpdateFeaturesRequest
from parity.side import Side
from parity.world import comparable
from support.brokers.our_broker import OurBroker
from support.kafka.java import TABLE_VERSION
from support.kafka.real_kafka import RealKafka
from support.kafka.wire import Wire

pytestmark = [pytest.mark.java, pytest.mark.ci]

UPGRADE, SAFE, UNSAFE = 1, 2, 3
TYPES = (0, UPGRADE, SAFE, UNSAFE, 4)
BROKER_RESOURCE = 4
LEVELS = {
    "metadata.version": (-1, 0, 6, 7, 16, 22, 29, 30, 31, 32, 33, 34, 99),
    "group.version": (-1, 0, 1, 2),
    "transaction.version": (-1, 0, 1, 2, 3),
    "eligible.leader.replicas.version": (-1, 0, 1, 2),
    "kraft.version": (-1, 0, 1, 2),
    "share.version": (-1, 0, 1, 2, 3),
    "streams.version": (-1, 0, 1, 2),
    "unknown.version": (-1, 0, 1),
    "": (0, 1),
}
Update = UpdateFeaturesRequest.FeatureUpdateKey
Change = list[tuple[str, int, int]]
CHANGES: list[Change] = [
    [],
    [("group.version", 0, SAFE)],
    [("group.version", 1, SAFE)],
    [("group.version", 1, UPGRADE)],
    [("transaction.version", 1, UNSAFE), ("group.version", 1, UPGRADE)],
    [("transaction.version", 2, UPGRADE), ("group.version", 7, UPGRADE), ("unknown.version", 1, UPGRADE)],
    [("transaction.version", 2, UPGRADE)],
    [("eligible.leader.replicas.version", 0, SAFE)],
    [("eligible.leader.replicas.version", 1, UPGRADE)],
    [("share.version", 1, SAFE)],
    [("share.version", 0, UNSAFE)],
    [("share.version", 2, UPGRADE)],
    [("streams.version", 0, SAFE)],
    [("streams.version", 1, UPGRADE)],
    [("metadata.version", 30, UPGRADE)],
    [("metadata.version", 29, SAFE)],
    [("metadata.version", 31, UPGRADE)],
    [("metadata.version", 30, SAFE)],
    [("metadata.version", 32, UPGRADE)],
    [("metadata.version", 31, SAFE)],
    [("metadata.version", 33, UPGRADE)],
    [("metadata.version", 32, UNSAFE)],
    [("metadata.version", 34, UPGRADE)],
]
"""Changes that are made, one after the other."""


@pytest.fixture(scope="module")
def sides(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Side, Side]]:
    """Odradek, and a Kafka that was formatted at the same level."""
    features = {"metadata.version": BOOTSTRAP_METADATA_VERSION}
    with (
        Wire() as wire,
        OurBroker(tmp_path_factory.mktemp("ours")) as ours,
        RealKafka(tmp_path_factory.mktemp("kafka"), version=TABLE_VERSION, features=features) as kafka,
    ):
        yield Side(wire, ours.port, True), Side(wire, kafka.port, False)


def update(side: Side, change: Change, version: int, *, validate_only: bool) -> Any:
    """The answer to some changes."""
    updates = [Update(name, level, upgrade_type=kind if version else UPGRADE) for name, level, kind in change]
    request = UpdateFeaturesRequest(60_000, updates, validate_only)
    return comparable(side.ask(request, version))


def finalized(side: Side) -> dict[str, int]:
    """Feature -> finalised level."""
    answer = side.ask(ApiVersionsRequest("wire", "1"), 4)
    return {feature["name"]: feature["maxVersionLevel"] for feature in answer["finalizedFeatures"]}


def cluster_minimum(side: Side) -> Any:
    """The cluster-wide min.insync.replicas."""
    resource = DescribeConfigsRequest.DescribeConfigsResource(BROKER_RESOURCE, "", ["min.insync.replicas"])
    [result] = side.ask(DescribeConfigsRequest([resource]), 4)["results"]
    return [(config["name"], config["value"]) for config in result["configs"]]


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("feature", LEVELS)
def test_requests_that_are_only_checked(sides: tuple[Side, Side], feature: str, version: int) -> None:
    before = [finalized(side) for side in sides]
    for level in LEVELS[feature]:
        for kind in TYPES:
            change = [(feature, level, kind)]
            ours, theirs = (update(side, change, version, validate_only=True) for side in sides)
            assert ours == theirs, change
    assert [finalized(side) for side in sides] == before


def test_changes(sides: tuple[Side, Side]) -> None:
    for number, change in enumerate(CHANGES):
        version = number % 3 if all(kind == UPGRADE for *_, kind in change) else 1 + number % 2
        ours, theirs = (update(side, change, version, validate_only=False) for side in sides)
        assert ours == theirs, change
        assert finalized(sides[0]) == finalized(sides[1]), change
        assert cluster_minimum(sides[0]) == cluster_minimum(sides[1]), change
