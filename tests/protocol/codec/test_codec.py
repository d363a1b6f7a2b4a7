"""The codec writes the right bytes and refuses malformed ones, case by case. test_java_parity compares every message
with Kafka."""

import linecache
import traceback
from typing import Any

import pytest

from odradek.protocol.codec import Message, decode, decoder, encode, encode_parts, encoder, parts_encoder
from odradek.protocol.codec.runtime import read_unsigned_varint, unsigned_varint
from odradek.protocol.errors import ProtocolError
from odradek.protocol.messages.fetch import FetchRequest, FetchResponse
from odradek.protocol.messages.group_records import ConsumerGroupMemberMetadataValue
from odradek.protocol.messages.groups import HeartbeatRequest, JoinGroupRequest, OffsetFetchRequest
from odradek.protocol.messages.metadata import (
    ApiVersionsResponse,
    DescribeTopicPartitionsRequest,
    MetadataRequest,
    MetadataResponse,
)
from odradek.protocol.messages.offsets import ListOffsetsRequest
from odradek.protocol.messages.produce import ProduceRequest
from odradek.protocol.messages.topics import CreateTopicsRequest
from odradek.protocol.messages.transactions import InitProducerIdRequest


def refused(message: Message, version: int) -> ProtocolError:
    with pytest.raises(ProtocolError) as caught:
        encode(message, version)
    return caught.value


def unreadable(cls: type[Message], version: int, data: bytes) -> ProtocolError:
    with pytest.raises(ProtocolError) as caught:
        decode(cls, version, data)
    return caught.value


def test_known_bytes() -> None:
    # Apache Kafka's HeartbeatRequestData, written by its own class.
    message = HeartbeatRequest("g", 3, "m")
    assert encode(message, 4).hex() == "026700000003026d0000"
    assert encode(message, 0).hex() == "0001670000000300016d"
    assert decode(HeartbeatRequest, 4, bytes.fromhex("026700000003026d0000")) == (message, 10)


def test_the_end_is_where_the_message_ends() -> None:
    data = encode(HeartbeatRequest("g", 3, "m"), 4)
    message, end = decode(HeartbeatRequest, 4, b"head" + data + b"tail", 4)
    assert (message.member_id, end) == ("m", 4 + len(data))


def test_functions_are_cached_and_their_source_is_shown_in_tracebacks() -> None:
    assert decoder(HeartbeatRequest, 3) is decoder(HeartbeatRequest, 3)
    assert encoder(HeartbeatRequest, 3) is encoder(HeartbeatRequest, 3)
    assert parts_encoder(HeartbeatRequest, 3) is parts_encoder(HeartbeatRequest, 3)
    try:
        encode(HeartbeatRequest(group_id=7), 3)  # type: ignore[arg-type]  # a programmer's error
    except AttributeError as error:
        shown = "".join(traceback.format_exception(error))
    assert "encode_heartbeat_request_v3" in shown
    assert ".encode()" in shown
    assert any("decode_heartbeat_request_v3" in name for name in linecache.cache)


@pytest.mark.parametrize("version", [-1, 5, 100])
def test_versions_that_the_table_lacks(version: int) -> None:
    assert "has no version" in refused(HeartbeatRequest(), version).what
    assert "has no version" in unreadable(HeartbeatRequest, version, b"").what


# Values that a version does not have


def test_a_value_in_a_version_without_the_field_is_refused_unless_ignorable() -> None:
    assert refused(HeartbeatRequest(group_instance_id="i"), 2).where == "group_instance_id"
    # JoinGroup's reason is ignorable.
    assert encode(JoinGroupRequest(reason="because"), 7) == encode(JoinGroupRequest(), 7)
    # In inner structures: ListOffsets' current_leader_epoch is ignorable, timestamps in v0 need max_num_offsets.
    partition = ListOffsetsRequest.ListOffsetsPartition(0, max_num_offsets=5)
    request = ListOffsetsRequest(topics=[ListOffsetsRequest.ListOffsetsTopic("t", [partition])])
    assert decode(ListOffsetsRequest, 0, encode(request, 0))[0] == request
    assert refused(request, 1).where == "topics.partitions.max_num_offsets"


def test_default_values_go_into_every_version() -> None:
    low, high = CreateTopicsRequest.VERSIONS
    for version in range(low, high + 1):
        assert decode(CreateTopicsRequest, version, encode(CreateTopicsRequest(), version))[0] == CreateTopicsRequest()


def test_null_only_where_it_may_be() -> None:
    assert decode(MetadataRequest, 1, encode(MetadataRequest(topics=None), 1))[0].topics is None
    assert refused(MetadataRequest(topics=None), 0).where == "topics"
    assert refused(HeartbeatRequest(group_id=None), 4).where == "group_id"  # type: ignore[arg-type]
    offsets = OffsetFetchRequest(topics=None)
    assert decode(OffsetFetchRequest, 7, encode(offsets, 7))[0].topics is None
    assert refused(offsets, 1).where == "topics"


@pytest.mark.parametrize("value", [1 << 31, -(1 << 31) - 1, 1 << 70])
def test_numbers_out_of_range(value: int) -> None:
    assert "out of range" in refused(HeartbeatRequest(generation_id=value), 4).what


def test_strings_that_are_too_long_or_no_text() -> None:
    for version in (3, 4):
        assert decode(HeartbeatRequest, version, encode(HeartbeatRequest("x" * 32767), version))
        assert refused(HeartbeatRequest("x" * 32768), version).where == "group_id"
        assert "cannot be encoded" in refused(HeartbeatRequest("\ud800"), version).what


def test_ids_have_16_bytes() -> None:
    topic = MetadataRequest.MetadataRequestTopic(topic_id=b"short", name=None)
    assert refused(MetadataRequest(topics=[topic]), 12).where == "topics.topic_id"


# Malformed bytes


def test_refusals_say_what_and_where() -> None:
    assert (
        str(unreadable(HeartbeatRequest, 4, bytes.fromhex("00"))) == "null in a field that is not nullable (group_id)"
    )
    assert str(unreadable(HeartbeatRequest, 0, b"\x00\x05abc")) == "the length is 5 bytes, only 3 are left (group_id)"
    assert str(unreadable(HeartbeatRequest, 0, b"\x00\x01a\x00")) == "the bytes end inside the message (byte 4)"
    assert str(unreadable(HeartbeatRequest, 0, b"\x00\x01\xff")) == "a string is not valid UTF-8 (byte 2)"
    array = unreadable(MetadataRequest, 0, b"\x7f\xff\xff\xff")
    assert str(array) == "an array of 2147483647 elements does not fit into 0 bytes (topics)"
    assert str(unreadable(MetadataRequest, 0, b"\xff\xff\xff\xff")) == "null in a field that is not nullable (topics)"


def test_a_string_in_compact_form_is_not_longer_than_any_other() -> None:
    data = unsigned_varint(32769) + b"x" * 32768 + bytes(100)
    assert "the limit is 32767" in unreadable(HeartbeatRequest, 4, data).what


@pytest.mark.parametrize(
    ("value", "data"),
    [(0, "00"), (1, "01"), (127, "7f"), (128, "8001"), (300, "ac02"), (16383, "ff7f"), (2**32 - 1, "ffffffff0f")],
)
def test_unsigned_varints(value: int, data: str) -> None:
    assert unsigned_varint(value) == bytes.fromhex(data)
    assert read_unsigned_varint(b"\xee" + bytes.fromhex(data), 1) == (value, 1 + len(data) // 2)


def test_a_varint_has_five_bytes_at_most() -> None:
    with pytest.raises(ProtocolError, match="longer than 5 bytes"):
        read_unsigned_varint(b"\xff" * 200_000, 0)


# Tagged fields


def test_tagged_fields_are_written_only_with_a_value_and_by_tag() -> None:
    empty = encode(FetchRequest(), 12)
    assert empty.endswith(b"\0")
    named = encode(FetchRequest(cluster_id="c"), 12)
    assert named == empty[:-1] + bytes.fromhex("0100020263")
    assert decode(FetchRequest, 12, named)[0].cluster_id == "c"


def test_unknown_tagged_fields_are_kept_in_order_among_known_ones() -> None:
    key = ApiVersionsResponse.SupportedFeatureKey("f", 1, 2)
    response = ApiVersionsResponse(supported_features=[key])
    response.unknown_tagged_fields = [(9, b"nine"), (300, b"")]
    data = encode(response, 3)
    assert data.endswith(bytes.fromhex("09046e696e65ac0200"))
    again, end = decode(ApiVersionsResponse, 3, data)
    assert (again, end) == (response, len(data))
    assert again.unknown_tagged_fields == [(9, b"nine"), (300, b"")]


@pytest.mark.parametrize(
    "fields", [[(9, b""), (8, b"")], [(9, b""), (9, b"")], [(0, b"")], [(-1, b"")], [(1 << 32, b"")]]
)
def test_unknown_tagged_fields_that_cannot_be(fields: list[tuple[int, bytes]]) -> None:
    request = FetchRequest()
    request.unknown_tagged_fields = fields
    assert refused(request, 12).where == "unknown_tagged_fields"


def test_tagged_fields_need_a_flexible_version() -> None:
    request = HeartbeatRequest()
    request.unknown_tagged_fields = [(9, b"")]
    assert refused(request, 3).where == "unknown_tagged_fields"


def test_a_tag_of_another_version_is_refused_as_kafka_refuses_it() -> None:
    # FetchRequest's tag 1 (replica_state) came with version 15.
    data = encode(FetchRequest(), 12)[:-1] + bytes.fromhex("010100")
    assert "tag 1 is not valid in version 12" in unreadable(FetchRequest, 12, data).what


def test_the_size_of_a_tagged_field_must_fit() -> None:
    data = encode(FetchRequest(), 12)[:-1]
    for tagged in ("01000302630000", "010001026300"):
        assert unreadable(FetchRequest, 12, data + bytes.fromhex(tagged))
    assert "tagged fields do not fit into" in unreadable(FetchRequest, 12, data + b"\x7f").what


def test_nullable_structures_and_their_defaults() -> None:
    member = ConsumerGroupMemberMetadataValue(classic_member_metadata=None)
    again = decode(ConsumerGroupMemberMetadataValue, 0, encode(member, 0))[0]
    assert again.classic_member_metadata is None
    # As Apache Kafka's class writes it: null in a tagged field is the varint 0, not the byte -1 as in other fields.
    written = ConsumerGroupMemberMetadataValue("", "", subscribed_topic_regex="", server_assignor="")
    written.classic_member_metadata = None
    assert encode(written, 0).hex() == "010101010101ffffffff0101000100"
    written.classic_member_metadata = ConsumerGroupMemberMetadataValue.ClassicMemberMetadata(5)
    assert encode(written, 0).hex() == "010101010101ffffffff0101000701000000050100"
    cursor = DescribeTopicPartitionsRequest(cursor=None)
    assert encode(cursor, 0).endswith(b"\xff\x00")
    # Kafka's default is a structure of defaults, not null. An absent tag stands for it.
    absent = ConsumerGroupMemberMetadataValue()
    assert absent.classic_member_metadata == ConsumerGroupMemberMetadataValue.ClassicMemberMetadata()
    assert len(encode(absent, 0)) < len(encode(member, 0))
    assert decode(ConsumerGroupMemberMetadataValue, 0, encode(absent, 0))[0] == absent


# Records


class Region:
    """A part of a file: it has a length, and the sender reads its bytes."""

    def __len__(self) -> int:
        return 1000


def fetched(records: Any) -> FetchResponse:
    partition = FetchResponse.PartitionData(7, high_watermark=9, records=records)
    return FetchResponse(responses=[FetchResponse.FetchableTopicResponse("t", partitions=[partition, partition])])


def test_records_pass_through_untouched_as_parts() -> None:
    region = Region()
    parts = encode_parts(fetched(region), 11)
    assert [part for part in parts if part is region] == [region, region]
    assert len(parts) == 4
    payload = b"r" * 1000
    whole = encode(fetched(payload), 11)
    assert b"".join(payload if part is region else part for part in parts) == whole
    for nothing in (None, b""):
        assert b"".join(encode_parts(fetched(nothing), 11)) == encode(fetched(nothing), 11)


@pytest.mark.parametrize("version", [3, 8, 9, 12])
def test_records_are_views_into_what_was_decoded(version: int) -> None:
    partition = ProduceRequest.PartitionProduceData(0, b"batch")
    request = ProduceRequest(topic_data=[ProduceRequest.TopicProduceData("t", partition_data=[partition])])
    data = bytearray(encode(request, version))
    again = decode(ProduceRequest, version, memoryview(data))[0]
    records = again.topic_data[0].partition_data[0].records
    assert isinstance(records, memoryview)
    assert bytes(records) == b"batch"
    at = data.index(b"batch")
    data[at : at + 5] = b"BATCH"
    assert bytes(records) == b"BATCH"


# The classes


def test_classes_have_slots_defaults_and_equality() -> None:
    request = JoinGroupRequest("g", protocols=[JoinGroupRequest.JoinGroupRequestProtocol("range", b"x")])
    assert not hasattr(request, "__dict__")
    assert request == JoinGroupRequest("g", protocols=[JoinGroupRequest.JoinGroupRequestProtocol("range", b"x")])
    assert request != JoinGroupRequest("g")
    assert repr(request.protocols[0]) == "JoinGroupRequest.JoinGroupRequestProtocol(name='range', metadata=b'x')"
    assert JoinGroupRequest().protocols is not JoinGroupRequest().protocols
    assert InitProducerIdRequest().producer_epoch == -1
    assert MetadataRequest().topics == []
    assert MetadataRequest(topics=None).topics is None
    assert MetadataResponse.MetadataResponseTopic().topic_id == bytes(16)
    assert (JoinGroupRequest.API_KEY, JoinGroupRequest.VERSIONS, JoinGroupRequest.FLEXIBLE_SINCE) == (11, (0, 9), 6)
