"""Headers by version, and whole frames."""

import random
from collections.abc import Callable

import pytest

from odradek.protocol.apis.api_keys import ApiKey, api
from odradek.protocol.codec import decode, encode
from odradek.protocol.codec.header import (
    decode_request_header,
    encode_request,
    encode_response_parts,
    request_head_decoder,
    request_header_version,
    response_header_version,
)
from odradek.protocol.errors import ProtocolError
from odradek.protocol.framing.frames import FrameReader
from odradek.protocol.messages.fetch import FetchResponse
from odradek.protocol.messages.groups import HeartbeatRequest
from odradek.protocol.messages.headers import RequestHeader, ResponseHeader
from odradek.protocol.messages.metadata import ApiVersionsRequest, ApiVersionsResponse
from support.each import each


def test_header_versions_follow_the_flexible_versions() -> None:
    for key in ApiKey:
        low, high = api(key).versions
        for version in range(low, high + 1):
            flexible = version >= api(key).flexible_since
            assert request_header_version(key, version) == (2 if flexible else 1)
            expected = 1 if flexible and key != ApiKey.API_VERSIONS else 0
            assert response_header_version(key, version) == expected


def test_api_versions_of_an_unknown_version_has_a_flexible_header() -> None:
    assert request_header_version(ApiKey.API_VERSIONS, 30) == 2
    assert response_header_version(ApiKey.API_VERSIONS, 30) == 0


@pytest.mark.parametrize("client_id", ["client", "", None, "ключ"])
@pytest.mark.parametrize("version", [3, 4])
def test_a_request_frame_is_read_back(version: int, client_id: str | None) -> None:
    request = HeartbeatRequest("g", 3, "m")
    frame = encode_request(request, version, 77, client_id)
    assert int.from_bytes(frame[:4]) == len(frame) - 4
    header, body = decode_request_header(memoryview(frame)[4:])
    assert header == RequestHeader(ApiKey.HEARTBEAT, version, 77, client_id)
    assert decode(HeartbeatRequest, version, frame, body + 4) == (request, len(frame))
    assert frame[4:] == encode(header, request_header_version(ApiKey.HEARTBEAT, version)) + encode(request, version)


@pytest.mark.parametrize("version", [3, 4])
@each("seed", range(100))
def test_a_head_is_what_the_header_says(seed: int, version: int) -> None:
    """Complete and truncated, with and without tagged fields, with any byte changed: an equal result or an equal
    refusal.
    """
    chance = random.Random(seed)
    head = RequestHeader(ApiKey.HEARTBEAT, version, chance.getrandbits(31), chance.choice([None, "", "client", "ключ"]))
    header_version = request_header_version(ApiKey.HEARTBEAT, version)
    if header_version == 2 and chance.random() < 0.5:
        head.unknown_tagged_fields = [(7, b"seven")]
    frame = bytearray(encode(head, header_version) + chance.randbytes(chance.choice([0, 5])))
    if chance.random() < 0.5:
        frame[chance.randrange(4, len(frame))] = chance.choice([0, 1, 0x7F, 0x80, 0xFF])
    frame = frame[: chance.choice([len(frame), chance.randrange(4, len(frame))])]

    def read(decoded: Callable[[], object]) -> object:
        try:
            return decoded()
        except ProtocolError as error:
            return str(error)

    def whole() -> object:
        header, position = decode_request_header(memoryview(frame))
        return header.correlation_id, header.client_id, position

    decode_head = request_head_decoder(ApiKey.HEARTBEAT, version)
    assert read(lambda: decode_head(memoryview(frame))) == read(whole), f"seed {seed}"


def test_the_client_id_is_not_compact_in_a_flexible_header() -> None:
    frame = encode_request(ApiVersionsRequest(), 3, 1, "ab")
    assert frame[4:].hex().startswith("00120003000000010002616200")


@pytest.mark.parametrize(("version", "header_version"), [(11, 0), (12, 1)])
def test_a_response_in_parts_is_one_frame(version: int, header_version: int) -> None:
    partition = FetchResponse.PartitionData(records=b"records")
    topic = FetchResponse.FetchableTopicResponse("t", partitions=[partition])
    parts = encode_response_parts(FetchResponse(responses=[topic]), version, 5)
    assert b"records" in parts
    frame = b"".join(parts)
    assert int.from_bytes(frame[:4]) == len(frame) - 4
    header, body = decode(ResponseHeader, header_version, frame, 4)
    assert header.correlation_id == 5
    response, end = decode(FetchResponse, version, frame, body)
    assert (response.responses, end) == ([topic], len(frame))


def test_an_api_versions_response_has_no_tagged_fields_in_its_header() -> None:
    (frame,) = encode_response_parts(ApiVersionsResponse(error_code=35), 3, 5)
    assert frame[4:10].hex() == "000000050023"


def test_frames_go_through_the_framing() -> None:
    reader = FrameReader(1000)
    sent = [encode_request(HeartbeatRequest("g"), 4, correlation_id, "c") for correlation_id in (1, 2)]
    frames = reader.feed(memoryview(b"".join(sent)))
    assert [decode_request_header(frame)[0].correlation_id for frame in frames] == [1, 2]


@pytest.mark.parametrize(
    "frame", [b"", b"\0", b"\0\x0c\0", bytes.fromhex("000c00040000"), bytes.fromhex("005d0000000000010000")]
)
def test_what_is_no_request_header(frame: bytes) -> None:
    with pytest.raises(ProtocolError):
        decode_request_header(frame)


def test_a_client_id_that_cannot_be_written() -> None:
    with pytest.raises(ProtocolError, match="client id"):
        encode_request(HeartbeatRequest(), 4, 1, "x" * 40_000)
    with pytest.raises(ProtocolError, match="client id"):
        encode_request(HeartbeatRequest(), 4, 1, "\ud800")
