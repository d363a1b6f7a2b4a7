"""Odradek refuses requests as a Kafka without the feature: no authorizer, share and streams groups at level 0."""

from collections.abc import Iterator
from typing import Any

import pytest

from odradek.broker.dispatch.served import served_versions
from odradek.protocol.codec.header import encode_request
from odradek.protocol.messages.metadata import ApiVersionsRequest
from odradek.protocol.messages.quorum import UpdateFeaturesRequest
from odradek.protocol.messages.security import CreateAclsRequest, DeleteAclsRequest, DescribeAclsRequest
from odradek.protocol.messages.share_groups import (
    AlterShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequest,
    ShareAcknowledgeRequest,
    ShareFetchRequest,
    ShareGroupDescribeRequest,
    ShareGroupHeartbeatRequest,
)
from odradek.protocol.messages.streams_groups import (
    StreamsGroupDescribeRequest,
    StreamsGroupHeartbeatRequest,
    StreamsGroupTopologyDescriptionUpdateRequest,
)
from odradek.protocol.messages.structure import Message
from parity.side import Side, same
from parity.two_brokers import TwoBrokers
from parity.world import comparable
from support.brokers.our_broker import OurBroker
from support.kafka.java import TABLE_VERSION
from support.kafka.real_kafka import RealKafka
from support.kafka.wire import Wire

pytestmark = pytest.mark.java

ANY = 1
SAFE_DOWNGRADE = 2
GOOD = CreateAclsRequest.AclCreation(2, "orders", 3, "User:me", "*", 3, 3)
FILTER = DeleteAclsRequest.DeleteAclsFilter(2, None, 3, None, None, ANY, ANY)
UNKNOWN_OPERATION = DeleteAclsRequest.DeleteAclsFilter(2, None, 3, None, None, 0, 1)
STRANGE = CreateAclsRequest.AclCreation(77, "", 77, "", "", 77, 77)
ACL_REQUESTS: dict[str, Message] = {
    "describe": DescribeAclsRequest(2, "orders", 3, "User:me", "*", ANY, ANY),
    "describe-nulls": DescribeAclsRequest(2, None, 3, None, None, ANY, ANY),
    "describe-codes-that-are-none": DescribeAclsRequest(77, None, 77, None, None, 77, 77),
    "describe-unknown-type": DescribeAclsRequest(0, None, 3, None, None, ANY, ANY),
    "describe-unknown-pattern": DescribeAclsRequest(2, None, 0, None, None, ANY, ANY),
    "describe-unknown-operation": DescribeAclsRequest(2, None, 3, None, None, 0, 1),
    "describe-unknown-permission": DescribeAclsRequest(2, None, 3, None, None, 1, 0),
    "create-none": CreateAclsRequest(),
    "create": CreateAclsRequest([GOOD, STRANGE]),
    "create-unknown": CreateAclsRequest([GOOD, CreateAclsRequest.AclCreation()]),
    "delete-none": DeleteAclsRequest(),
    "delete": DeleteAclsRequest([FILTER, FILTER]),
    "delete-unknown": DeleteAclsRequest([FILTER, UNKNOWN_OPERATION]),
}


@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize("name", ACL_REQUESTS)
def test_acls_without_an_authorizer(both: TwoBrokers, name: str, version: int) -> None:
    """Answers are equal byte for byte, including error messages."""
    frame = encode_request(ACL_REQUESTS[name], version, 7, "wire")
    answered = same(both, lambda side: [one.hex() for one in side.exchange(frame)])
    assert len(answered) == (0 if "unknown" in name else 1)


def test_acls_are_announced_as_kafka_does(both: TwoBrokers) -> None:
    for request in (DescribeAclsRequest, CreateAclsRequest, DeleteAclsRequest):
        assert both.versions(request) == (1, 3)


@pytest.fixture(scope="module")
def without_features(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Side, Side]]:
    """Odradek with share.version and streams.version 0, and a Kafka that was formatted so."""
    features = {"share.version": 0, "streams.version": 0}
    with (
        Wire() as wire,
        OurBroker(tmp_path_factory.mktemp("ours")) as ours,
        RealKafka(tmp_path_factory.mktemp("kafka"), version=TABLE_VERSION, features=features) as kafka,
    ):
        side = Side(wire, ours.port, True)
        lowered = [UpdateFeaturesRequest.FeatureUpdateKey(name, 0, upgrade_type=SAFE_DOWNGRADE) for name in features]
        assert not side.ask(UpdateFeaturesRequest(60_000, lowered), 1)["errorCode"]
        yield side, Side(wire, kafka.port, False)


MEMBER = "AAAAAAAAAAAAAAAAAAAAAA"
OFFSETS_OF = DescribeShareGroupOffsetsRequest.DescribeShareGroupOffsetsRequestGroup
REQUESTS_OF_DISABLED: list[Message] = [
    ShareGroupHeartbeatRequest(group_id="g", member_id=MEMBER, subscribed_topic_names=["t"]),
    ShareGroupDescribeRequest(group_ids=["g", "h"]),
    ShareFetchRequest(group_id="g", member_id=MEMBER),
    ShareAcknowledgeRequest(group_id="g", member_id=MEMBER),
    DescribeShareGroupOffsetsRequest(groups=[OFFSETS_OF("g"), OFFSETS_OF("h")]),
    AlterShareGroupOffsetsRequest(group_id="g"),
    DeleteShareGroupOffsetsRequest(group_id="g"),
    StreamsGroupHeartbeatRequest(group_id="g", member_id="m"),
    StreamsGroupDescribeRequest(group_ids=["g", "h"]),
    StreamsGroupTopologyDescriptionUpdateRequest("g", "m", 1),
]


@pytest.mark.ci
def test_share_and_streams_groups_where_their_features_are_off(without_features: tuple[Side, Side]) -> None:
    ours, kafka = without_features
    announced = {one["apiKey"]: one for one in kafka.ask(ApiVersionsRequest("wire", "1"), 4)["apiKeys"]}
    for request in REQUESTS_OF_DISABLED:
        versions = announced[request.API_KEY]
        assert served_versions(request.API_KEY)[1] == versions["maxVersion"]
        for version in range(versions["minVersion"], versions["maxVersion"] + 1):
            answers: list[Any] = [comparable(side.ask(request, version)) for side in (ours, kafka)]
            assert answers[0] == answers[1], f"{request.NAME} {version}"
            assert "35" in str(answers[0]), "UNSUPPORTED_VERSION"
