"""Edge cases of connections: unknown APIs and versions, odd frames and headers, the order of answers."""

import struct
from typing import Any

import pytest

from odradek.protocol.codec.header import encode_request
from odradek.protocol.messages.configs import DescribeConfigsRequest
from odradek.protocol.messages.groups import HeartbeatRequest
from odradek.protocol.messages.metadata import ApiVersionsRequest, MetadataRequest
from odradek.protocol.messages.structure import Message
from parity.side import Side, batch, frame, produce_request, same
from parity.two_brokers import TwoBrokers

pytestmark = pytest.mark.java


@pytest.mark.parametrize(
    ("name", "version"), [("", "1"), ("a b", "1"), ("kgo", ""), ("-kgo", "1"), ("kgo", "1.0-"), ("ä", "1")]
)
def test_api_versions_from_software_without_a_proper_name(both: TwoBrokers, name: str, version: str) -> None:
    seen = same(both, lambda side: side.ask(ApiVersionsRequest(name, version), 4))
    assert seen["errorCode"] == 42  # INVALID_REQUEST


def test_api_versions_twice_on_one_connection(both: TwoBrokers) -> None:
    def scene(side: Side) -> Any:
        return [side.ask(ApiVersionsRequest("wire", "1"), version)["errorCode"] for version in (4, 3, 0)]

    assert same(both, scene) == [0, 0, 0]


UNSERVED = [
    ("an-api-key-that-is-none", 999, 0),
    ("a-negative-api-key", -1, 0),
    ("produce-above-13", 0, 14),
    ("fetch-above-18", 1, 19),
    ("metadata-above-13", 3, 14),
    ("metadata-negative", 3, -1),
    ("create-topics-above-7", 19, 8),
    ("join-group-above-9", 11, 10),
    ("leader-and-isr-gone-since-4", 4, 0),
    ("update-metadata-gone-since-4", 6, 0),
    ("controlled-shutdown-gone-since-4", 7, 0),
    ("vote-of-the-controller-listener", 52, 0),
]


@pytest.mark.parametrize(("api_key", "version"), [case[1:] for case in UNSERVED], ids=[case[0] for case in UNSERVED])
def test_what_is_not_served_closes_the_connection(both: TwoBrokers, api_key: int, version: int) -> None:
    assert same(both, lambda side: side.exchange(frame(api_key, version, b"\0\1" + bytes(40)))) == []


FRAMES = [
    ("a-size-of-none", struct.pack(">i", 0)),
    ("a-negative-size", struct.pack(">i", -1) + bytes(20)),
    ("a-size-above-the-limit", struct.pack(">i", 2_000_000_000) + bytes(20)),
    ("two-bytes", struct.pack(">ih", 2, 3)),
    ("a-header-cut-short", struct.pack(">ihhi", 8, 3, 1, 9)),
    ("a-client-id-that-is-longer-than-the-frame", struct.pack(">ihhih", 10, 3, 1, 9, 500)),
    ("a-body-cut-short", frame(3, 1, struct.pack(">i", 1))),
    ("an-array-of-two-billion", frame(3, 1, struct.pack(">i", 2_000_000_000) + bytes(8))),
    ("a-negative-array-where-none-may-be-null", frame(42, 0, struct.pack(">i", -1))),
    ("http", b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"),
    ("tls", bytes.fromhex("16030100f5010000f10303") + bytes(240)),
]


@pytest.mark.parametrize("data", [case[1] for case in FRAMES], ids=[case[0] for case in FRAMES])
def test_a_malformed_frame_closes_the_connection(both: TwoBrokers, data: bytes) -> None:
    assert same(both, lambda side: side.exchange(data)) == []


@pytest.mark.parametrize("version", [4, 5, 12])
@pytest.mark.parametrize("client_id", [None, "", "x" * 249])
def test_any_client_id_will_do(both: TwoBrokers, client_id: str | None, version: int) -> None:
    request = encode_request(MetadataRequest([], False), version, 7, client_id)
    assert len(same(both, lambda side: [bytes(4) for _ in side.exchange(request)])) == 1


@pytest.mark.parametrize(
    ("request_", "version"),
    [
        (HeartbeatRequest("nobody", 1, "m"), 0),
        (HeartbeatRequest("nobody", 1, "m"), 4),
    ],
)
def test_bytes_behind_a_request_are_left_unread(both: TwoBrokers, request_: Message, version: int) -> None:
    data = encode_request(request_, version, 7, "raw") + b"\0\1\2\3"
    data = struct.pack(">i", len(data) - 4) + data[4:]
    side_frames = same(both, lambda side: (side.group("nobody"), side.exchange(data))[1])
    assert len(side_frames) == 1


def test_unknown_tagged_fields_are_ignored(both: TwoBrokers) -> None:
    request = HeartbeatRequest("nobody", 1, "m")
    request.unknown_tagged_fields = [(5, b"abc"), (1000, b"")]
    data = encode_request(request, 4, 7, "raw")
    assert len(same(both, lambda side: (side.group("nobody"), side.exchange(data))[1])) == 1


def test_pipelined_requests_are_answered_in_order(both: TwoBrokers) -> None:
    """The first request is slow (a Fetch that waits), so the requests after it wait too."""

    def scene(side: Side) -> Any:
        name = side.topic("trap-pipeline")
        requests: list[tuple[Message, int]] = [
            (produce_request(name, batch(1)), 9),
            (MetadataRequest([MetadataRequest.MetadataRequestTopic(name=name)], False), 4),
            (HeartbeatRequest("nobody", 1, "m"), 0),
            (produce_request(name, batch(2, 3)), 3),
            (DescribeConfigsRequest([]), 1),
            (produce_request("nowhere", batch(2, 3)), 3),
        ]
        frames = [encode_request(asked, version, 100 + n, "raw") for n, (asked, version) in enumerate(requests * 5)]
        data = b"".join(frames)
        return [struct.unpack_from(">i", answer)[0] for answer in side.exchange(data, len(requests) * 5)]

    assert same(both, scene) == list(range(100, 130))


def test_a_refused_frame_comes_after_the_answers_before_it(both: TwoBrokers) -> None:
    first = encode_request(MetadataRequest([], False), 4, 1, "raw")
    seen = same(both, lambda side: [bytes(4) for _ in side.exchange(first * 3 + frame(999, 0), 4)])
    assert len(seen) == 3
