"""The versions that came with Kafka 4.4: ApiVersions 5, TxnOffsetCommit 6, DeleteGroups 3."""

import base64
from itertools import product
from typing import Any

import pytest

from odradek.protocol.codec import decode, encode
from odradek.protocol.messages.groups import DeleteGroupsRequest
from odradek.protocol.messages.metadata import ApiVersionsRequest, ApiVersionsResponse, MetadataRequest
from odradek.protocol.messages.transactions import TxnOffsetCommitRequest
from parity.consumer_members import Members
from parity.side import Side, frame, same
from parity.transactional import Transactional
from parity.two_brokers import TwoBrokers
from parity.world import UNKNOWN_TOPIC_ID, ZERO_UUID

pytestmark = pytest.mark.java

REBOOTSTRAP_REQUIRED = 129
INVALID_REQUEST = 42


@pytest.mark.parametrize("version", [6, 7, 99, 32767, -1])
@pytest.mark.parametrize(
    "body", [b"", encode(ApiVersionsRequest("kgo", "1.22"), 5), b"\xff" * 50], ids=["empty", "v5", "noise"]
)
def test_api_versions_of_an_unknown_version(both: TwoBrokers, version: int, body: bytes) -> None:
    """The answer has the layout of version 0, UNSUPPORTED_VERSION, and one entry, which tells franz-go the versions."""
    seen = same(both, lambda side: side.exchange(frame(18, version, body, flexible=version >= 3)))
    response, end = decode(ApiVersionsResponse, 0, seen[0], 4)
    assert end == len(seen[0])
    assert response == ApiVersionsResponse(35, [ApiVersionsResponse.ApiVersion(18, 0, 5)])


@pytest.mark.parametrize("name", ["wire", "", "a b"])
@pytest.mark.parametrize("version", [4, 5])
def test_api_versions_from_a_client_that_expects_another_node(both: TwoBrokers, name: str, version: int) -> None:
    """Every combination of right, wrong and missing cluster id and node id."""

    def scene(side: Side) -> Any:
        known = side.ask(MetadataRequest(), 12)
        cluster_ids = (None, "", " ", known["clusterId"], known["clusterId"].lower(), "another")
        node_ids = (-1, known["brokers"][0]["nodeId"], 77, -2, 2**31 - 1)
        asked = [ApiVersionsRequest(name, "1", *pair) for pair in product(cluster_ids, node_ids)]
        answers = [side.ask(request, version) for request in asked]
        # The connection stays open, whatever was refused on it.
        assert side.ask(ApiVersionsRequest("wire", "1"), 5)["errorCode"] == 0
        return [
            (answer["errorCode"], bool(answer["apiKeys"]), bool(answer.get("finalizedFeatures"))) for answer in answers
        ]

    codes = [code for code, _, _ in same(both, scene)]
    assert {INVALID_REQUEST, 0, REBOOTSTRAP_REQUIRED} >= set(codes)
    assert (REBOOTSTRAP_REQUIRED in codes) == (version == 5 and name == "wire")


def test_the_apis_and_their_versions(both: TwoBrokers) -> None:
    """Odradek announces no API that Kafka lacks, and the same newest version of each."""

    def scene(side: Side) -> Any:
        return {key["apiKey"]: key["maxVersion"] for key in side.ask(ApiVersionsRequest("wire", "1"), 5)["apiKeys"]}

    sides = [Side(both.wire, names.port, names is both.ours) for names in (both.ours, both.kafka)]
    ours, kafka = map(scene, sides)
    assert ours.items() <= kafka.items()


@pytest.mark.parametrize("version", [2, 3])
def test_groups_are_deleted(both: TwoBrokers, version: int) -> None:
    def scene(side: Side) -> Any:
        topic = side.topic(f"deleted-{version}")
        side.learn_ids()
        group = Members(side, side.group(f"deleted-groups-{version}"))
        group.join("a", topic)
        asked = DeleteGroupsRequest([group.name, "no-such-group", ""])
        with_member = side.ask(asked, version)
        group.leave("a")
        return [texts(with_member), texts(side.ask(asked, version))]

    def texts(body: Any) -> Any:
        results = body["results"]
        return sorted((one["groupId"], one["errorCode"], str(one.get("errorMessage", "none"))) for one in results)

    same(both, scene)


@pytest.mark.parametrize("version", [5, 6])
def test_offsets_in_a_transaction(both: TwoBrokers, version: int) -> None:
    """Members and strangers of consumer groups, and of no group, commit for topics that exist or not."""
    partition = TxnOffsetCommitRequest.TxnOffsetCommitRequestPartition
    topic_of = TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic

    def scene(side: Side) -> Any:
        topics = [side.topic(f"transactional-{name}-{version}", 2) for name in ("a", "b")]
        side.learn_ids()
        group = Members(side, side.group(f"transactional-group-{version}"))
        other = side.group(f"no-group-yet-{version}")
        seen: list[Any] = [group.join("m", topics[0])["memberEpoch"]]
        member_id = group.ids.get("m", "m")
        transactional = Transactional(side, f"transactional-{version}", topic=topics[1])
        transactional.init()
        producer = transactional.who("a")
        names = [*topics, "nowhere"]
        asked = [
            topic_of(name, side.topic_ids.get(name, UNKNOWN_TOPIC_ID), [partition(0, 1), partition(9, 1)])
            for name in names
        ]
        asked.append(topic_of("", ZERO_UUID, [partition(0, 1), partition(1, 1, -1, "m" * 5000)]))
        for group_id, who, epoch in product((group.name, other), (member_id, "", "ghost"), (-1, 0, 1, 2, 5)):
            request = TxnOffsetCommitRequest(
                transactional.name, group_id, producer.producer_id, producer.producer_epoch, epoch, who, None, asked
            )
            answers = side.ask(request, version)["topics"]
            # Kafka names the topics that it refuses by itself after the others, or before them.
            codes = sorted(str([(p["partitionIndex"], p["errorCode"]) for p in one["partitions"]]) for one in answers)
            named = sorted(one.get("name") or str(one.get("topicId") in ids_of(side)) for one in answers)
            seen.append((group_id, who == member_id, epoch, codes, named))
        return seen

    def ids_of(side: Side) -> set[str]:
        return {base64.urlsafe_b64encode(topic_id).decode().rstrip("=") for topic_id in side.topic_ids.values()}

    same(both, scene)
