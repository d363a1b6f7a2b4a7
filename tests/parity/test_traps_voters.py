"""The voters' APIs, and UnregisterController, at a broker that is its own controller: refused as by a Kafka with one
voter."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from odradek.protocol.messages.quorum import (
    AddRaftVoterRequest,
    DescribeQuorumRequest,
    RemoveRaftVoterRequest,
    UnregisterControllerRequest,
)
from odradek.protocol.messages.structure import Message
from parity.side import Side
from support.brokers.our_broker import OurBroker
from support.kafka.real_kafka import CLUSTER_ID, RealKafka
from support.kafka.wire import Wire

pytestmark = [pytest.mark.java, pytest.mark.ci]

NODE_ID, OTHER = 1, 2
DIRECTORY = bytes(15) + b"\1"
Listener = AddRaftVoterRequest.Listener
LISTENERS = [Listener("CONTROLLER", "127.0.0.1", 9999)]
ELSEWHERE = [Listener("ELSEWHERE", "127.0.0.1", 9999)]
WITHOUT_VOTERS: Mapping[str, Message] = {
    "add": AddRaftVoterRequest(None, 500, OTHER, DIRECTORY, LISTENERS),
    "add-to-another-cluster": AddRaftVoterRequest("another", 500, -1, DIRECTORY, []),
    "add-to-no-cluster": AddRaftVoterRequest("", 500, OTHER, DIRECTORY, LISTENERS),
    "add-nobody": AddRaftVoterRequest(CLUSTER_ID, 500, -1, DIRECTORY, LISTENERS),
    "add-without-a-directory": AddRaftVoterRequest(CLUSTER_ID, 500, OTHER, bytes(16), LISTENERS),
    "add-without-an-address": AddRaftVoterRequest(CLUSTER_ID, 500, OTHER, DIRECTORY, []),
    "add-on-another-listener": AddRaftVoterRequest(CLUSTER_ID, 500, OTHER, DIRECTORY, ELSEWHERE),
    "add-itself": AddRaftVoterRequest(CLUSTER_ID, 500, NODE_ID, DIRECTORY, LISTENERS),
    "remove": RemoveRaftVoterRequest(None, OTHER, DIRECTORY),
    "remove-from-another-cluster": RemoveRaftVoterRequest("another", -1, DIRECTORY),
    "remove-nobody": RemoveRaftVoterRequest(CLUSTER_ID, -1, DIRECTORY),
    "remove-without-a-directory": RemoveRaftVoterRequest(CLUSTER_ID, NODE_ID, bytes(16)),
    "remove-itself": RemoveRaftVoterRequest(CLUSTER_ID, NODE_ID, DIRECTORY),
    "unregister": UnregisterControllerRequest(OTHER),
    "unregister-nobody": UnregisterControllerRequest(-1),
    "unregister-itself": UnregisterControllerRequest(NODE_ID),
}
WITH_VOTERS = {name: request for name, request in WITHOUT_VOTERS.items() if name != "add"}
"""To add another node, Kafka asks it; a broker of ours refuses."""


@pytest.fixture(scope="module", params=[True, False], ids=["kraft.version 1", "kraft.version 0"])
def sides(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Side, Side]]:
    """Odradek on a directory of Kafka, and that Kafka on another one."""
    features = {"share.version": 0, "streams.version": 0}
    dynamic_quorum: bool = request.param
    with Wire() as wire:
        formatted = RealKafka(tmp_path_factory.mktemp("ours"), features=features, dynamic_quorum=dynamic_quorum)
        with formatted:
            pass
        with (
            OurBroker(formatted.directory) as ours,
            RealKafka(tmp_path_factory.mktemp("kafka"), features=features, dynamic_quorum=dynamic_quorum) as kafka,
        ):
            yield Side(wire, ours.port, True), Side(wire, kafka.port, False)


def directory_of(side: Side) -> str:
    """The id of the voter's directory, as text."""
    topic = DescribeQuorumRequest.TopicData("__cluster_metadata", [DescribeQuorumRequest.PartitionData(0)])
    answer = side.ask(DescribeQuorumRequest([topic]), 2)
    return str(answer["topics"][0]["partitions"][0]["currentVoters"][0]["replicaDirectoryId"])


def answer(side: Side, request: Message) -> Any:
    """The answer without the side's own directory id."""
    answer = side.ask(request, 0)
    return answer["errorCode"], str(answer["errorMessage"]).replace(directory_of(side), "DIRECTORY")


def test_refusals(sides: tuple[Side, Side], request: pytest.FixtureRequest) -> None:
    has_voters = "kraft.version 1" in request.node.name
    for name, asked in (WITH_VOTERS if has_voters else WITHOUT_VOTERS).items():
        ours, theirs = (answer(side, asked) for side in sides)
        assert ours == theirs, name
    if has_voters:
        assert answer(sides[0], WITHOUT_VOTERS["add"]) == (35, OWN_SENTENCE)


OWN_SENTENCE = "This broker is its own controller, and replicates its metadata log to no other node."
