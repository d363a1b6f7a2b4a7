"""Large requests to a running broker: their memory is bounded, and others are answered in between."""

import socket
from pathlib import Path
from typing import Any

import pytest

from odradek.protocol.codec import decode
from odradek.protocol.codec.header import encode_request, response_header_version
from odradek.protocol.codec.runtime import unsigned_varint
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages import message_class
from odradek.protocol.messages.consumer_groups import ConsumerGroupDescribeRequest
from odradek.protocol.messages.groups import (
    DescribeGroupsRequest,
    FindCoordinatorRequest,
    JoinGroupRequest,
    OffsetFetchRequest,
)
from odradek.protocol.messages.metadata import ApiVersionsRequest
from odradek.protocol.messages.structure import Message
from odradek.protocol.messages.transactions import (
    AddPartitionsToTxnRequest,
    DescribeTransactionsRequest,
    TxnOffsetCommitRequest,
    WriteTxnMarkersRequest,
)
from odradek.testing.broker.in_process import InProcessBroker
from support.brokers.neighbour import Line, Neighbour
from support.brokers.our_broker import OurBroker

PATIENCE_S = 60.0


def names(count: int) -> list[str]:
    return [f"{number:x}" for number in range(count)]


def ask(line: Line, request: Message, version: int) -> Any:
    answer = line.exchange(encode_request(request, version, 7, "client"))
    response_class = message_class(request.NAME.replace("Request", "Response"))
    return decode(response_class, version, answer, 4 + response_header_version(request.API_KEY, version))[0]


def test_many_names_are_answered_in_their_order(tmp_path: Path) -> None:
    asked = [*names(5_000), *names(300)]
    with InProcessBroker(tmp_path) as broker:
        line = Line(int(broker.bootstrap_servers.rpartition(":")[2]))
        described = ask(line, DescribeGroupsRequest(asked), 5)
        assert [group.group_id for group in described.groups] == asked
        assert {group.group_state for group in described.groups} == {"Dead"}
        found = ask(line, FindCoordinatorRequest(key_type=0, coordinator_keys=asked), 4)
        assert [one.key for one in found.coordinators] == asked
        groups = [OffsetFetchRequest.OffsetFetchRequestGroup(name, topics=[]) for name in asked]
        fetched = ask(line, OffsetFetchRequest(groups=groups), 8)
        assert [group.group_id for group in fetched.groups] == asked
        described = ask(line, ConsumerGroupDescribeRequest(asked), 1)
        assert [group.group_id for group in described.groups] == asked
        states = ask(line, DescribeTransactionsRequest(asked), 0)
        assert len(states.transaction_states) == 5_000


def test_many_partitions_of_transactions_are_answered_each(tmp_path: Path) -> None:
    count = 1_500
    with InProcessBroker(tmp_path) as broker:
        line = Line(int(broker.bootstrap_servers.rpartition(":")[2]))
        topic = AddPartitionsToTxnRequest.AddPartitionsToTxnTopic("none", list(range(count)))
        added = ask(line, AddPartitionsToTxnRequest([], "t", 1, 0, [topic]), 3)
        [result] = added.results_by_topic_v3_and_below
        unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert [(one.partition_index, one.partition_error_code) for one in result.results_by_partition] == [
            (index, unknown) for index in range(count)
        ]
        marked_topic = WriteTxnMarkersRequest.WritableTxnMarkerTopic("none", list(range(count)))
        marker = WriteTxnMarkersRequest.WritableTxnMarker(1, 0, False, [marked_topic], 0)
        marked = ask(line, WriteTxnMarkersRequest([marker]), 1)
        assert {one.error_code for one in marked.markers[0].topics[0].partitions} == {unknown}
        partition = TxnOffsetCommitRequest.TxnOffsetCommitRequestPartition
        committed_topic = TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic(
            "none", partitions=[partition(index, 0) for index in range(count)]
        )
        committed = ask(line, TxnOffsetCommitRequest("t", "g", 1, 0, topics=[committed_topic]), 3)
        [answered] = committed.topics
        assert [(one.partition_index, one.error_code) for one in answered.partitions] == [
            (index, unknown) for index in range(count)
        ]


def frame_with_tags(count: int) -> bytes:
    """An ApiVersions request with unknown tagged fields."""
    plain = encode_request(ApiVersionsRequest("c", "1"), 3, 7, "client")[4:]
    fields = b"".join(unsigned_varint(1_000 + number) + b"\x01x" for number in range(count))
    body = plain[:-1] + unsigned_varint(count) + fields
    return len(body).to_bytes(4) + body


def test_tagged_fields_without_a_meaning_are_passed_over(tmp_path: Path) -> None:
    with InProcessBroker(tmp_path) as broker:
        line = Line(int(broker.bootstrap_servers.rpartition(":")[2]))
        answer = line.exchange(frame_with_tags(20_000))
        response = decode(message_class("ApiVersionsResponse"), 3, answer, 4)[0]
        assert response.error_code == 0


def test_a_request_beyond_its_memory_closes_its_connection_only(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with InProcessBroker(tmp_path, {"odradek.request.decoded.max.bytes": str(1 << 20)}) as broker:
        port = int(broker.bootstrap_servers.rpartition(":")[2])
        other = Line(port)
        with pytest.raises(ConnectionError):
            ask(Line(port), DescribeGroupsRequest(names(20_000)), 5)
        assert "more than 2382 elements (odradek.request.decoded.max.bytes=1048576)" in caplog.text
        ask(other, DescribeGroupsRequest(names(2_000)), 5)


def test_requests_wait_for_the_memory_of_others(tmp_path: Path) -> None:
    total = {"odradek.request.decoded.total.bytes": str(1 << 20)}  # one of them at a time
    with InProcessBroker(tmp_path, total) as broker:
        port = int(broker.bootstrap_servers.rpartition(":")[2])
        frame = encode_request(DescribeGroupsRequest(names(2_500)), 5, 7, "client")
        sockets = [socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S) for _ in range(12)]
        for one in sockets:
            one.sendall(frame)
        for one in sockets[::3]:
            one.close()  # while it waits, or is served
        for one in sockets:
            if one.fileno() >= 0:
                assert len(one.recv(4, socket.MSG_WAITALL)) == 4
                one.close()
        ask(Line(port), DescribeGroupsRequest(names(2_500)), 5)


def test_others_are_answered_beside_large_requests(tmp_path: Path) -> None:
    with OurBroker(tmp_path, {"group.initial.rebalance.delay.ms": "0"}) as broker:
        line = Line(broker.port)
        large = [
            (DescribeGroupsRequest(names(40_000)), 5),
            (FindCoordinatorRequest(key_type=0, coordinator_keys=names(40_000)), 4),
        ]
        for request, version in large:
            ask(line, request, version)  # imports modules and creates codecs
        metadata = JoinGroupRequest.JoinGroupRequestProtocol("range", bytes(20_000_000))
        with Neighbour(broker.port, broker.pid) as neighbour:
            for request, version in large:
                ask(line, request, version)
            line.exchange(frame_with_tags(40_000))
            with pytest.raises(ConnectionError):
                ask(line, DescribeGroupsRequest(names(700_000)), 5)
            for number in range(4):
                fat = JoinGroupRequest(f"fat-{number}", 30_000, 30_000, "", None, "consumer", [metadata])
                with pytest.raises(ConnectionError):
                    ask(Line(broker.port), fat, 3)
        assert neighbour.seen.refused_heartbeats == 0
        assert neighbour.seen.longest_cpu_ms < 150, neighbour.seen  # without slices it takes 400 ms or more
        assert neighbour.seen.memory_growth < 100_000_000, neighbour.seen
