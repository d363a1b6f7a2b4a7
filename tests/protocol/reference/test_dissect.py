"""Dissected frames: the place of each field, and the line with the reason why a frame was refused."""

import pytest

from odradek.protocol import codec
from odradek.protocol.apis import table
from odradek.protocol.codec import header
from odradek.protocol.errors import ProtocolError
from odradek.protocol.messages.groups import HeartbeatRequest
from odradek.protocol.messages.metadata import ApiVersionsResponse
from odradek.protocol.messages.metadata_records import TopicRecord
from odradek.protocol.messages.produce import ProduceRequest
from odradek.protocol.reference.dissect import dissect, explain
from odradek.protocol.show import show

PARTITION = ProduceRequest.PartitionProduceData(3, b"these are the records")
PRODUCE = ProduceRequest(None, -1, 1000, [ProduceRequest.TopicProduceData("spool", partition_data=[PARTITION])])
FRAME = header.encode_request(PRODUCE, 9, 7, "thread")
PRODUCE_SPEC = table.message("ProduceRequest")


def test_every_byte_of_a_frame_belongs_to_one_field() -> None:
    found = dissect(PRODUCE_SPEC, 9, FRAME, frame=True)
    assert found.fault is None
    own = [(n.start, n.content if n.holds_others else n.end) for n in found.notes]
    covered = [position for start, end in own for position in range(start, end or 0)]
    assert covered == list(range(len(FRAME)))
    by_path = {note.path: note for note in found.notes}
    assert by_path["header.client_id"].value == "thread"
    records = by_path["body.topic_data[0].partition_data[0].records"]
    assert FRAME[records.start : records.end] == b"\x16these are the records"
    assert by_path["body.topic_data[0].partition_data[0].index"].value == 3


def test_lines_name_offset_bytes_and_field() -> None:
    printed = show.field_lines(dissect(PRODUCE_SPEC, 9, FRAME, frame=True).notes, FRAME)
    assert printed[0].split() == ["offset", "bytes", "field", "value"]
    assert printed[1].split() == ["0", FRAME[:4].hex(), "size", str(len(FRAME) - 4)]
    (name,) = [line for line in printed if "'spool'" in line]
    assert name.split() == [str(FRAME.index(b"\x06spool")), "0673706f6f6c", "name", "'spool'"]


@pytest.mark.parametrize("length", range(4, len(FRAME) - 4))
def test_every_truncation_is_explained(length: int) -> None:
    line = explain(FRAME[4 : 4 + length])
    assert line.startswith("Produce v9: ")
    assert "at byte" in line
    assert "nothing is wrong" not in line


@pytest.mark.parametrize(
    ("frame", "line"),
    [
        (FRAME[4:], "Produce v9: the reference decoder finds no error"),
        (FRAME[4:] + b"xyz", f"Produce v9: 3 bytes follow the end of the message, at byte {len(FRAME) - 4}"),
        (b"", "0 bytes are too few for a request header"),
        (b"GET / HTTP/1.1\r\n\r\n", "no API has the key 18245"),
        (bytes.fromhex("0000 0063 00000007 ffff"), "Produce v99: ProduceRequest has versions 0-13, not 99"),
        (
            FRAME[4:].replace(b"\x06spool", b"\x7fspool"),
            "Produce v9: topic_data[0].name: the length is 126 bytes, only 35 are left, in the field at byte 25",
        ),
        (
            FRAME[4:].replace(b"spool", b"sp\xffol"),
            "Produce v9: topic_data[0].name: not valid UTF-8: invalid start byte, in the field at byte 25",
        ),
    ],
    ids=["sound", "longer", "empty", "http", "version", "length", "text"],
)
def test_a_refusal_names_the_field(frame: bytes, line: str) -> None:
    assert explain(frame) == line


def test_null_where_none_may_be_is_named() -> None:
    frame = header.encode_request(HeartbeatRequest("g", 1, "m"), 0, 1, None)[4:]
    assert explain(frame.replace(b"\x00\x01m", b"\xff\xff")).startswith("Heartbeat v0: member_id: null in a field")


def test_the_work_of_an_explanation_is_bounded() -> None:
    topic = ProduceRequest.TopicProduceData("t", partition_data=[PARTITION] * 100)
    frame = header.encode_request(ProduceRequest(None, 1, 1, [topic] * 100), 9, 1, None)[4:]
    found = dissect(PRODUCE_SPEC, 9, codec.encode(PRODUCE, 9), limit=5)
    assert len(found.notes) == 5
    assert found.fault
    assert "more than 5 fields" in found.fault
    assert "more than 1000 fields" in explain(frame[:-1])
    refusal = ProtocolError("the bytes end inside the message", "byte 7")
    assert explain(frame[:-1], refusal) == "Produce v9: the bytes end inside the message (byte 7)"
    assert explain(FRAME[4:-1], refusal).startswith("Produce v9: tagged_fields: the bytes end")


def test_a_size_that_is_not_the_frame_s_is_a_fault() -> None:
    wrong = (len(FRAME)).to_bytes(4, "big") + FRAME[4:]
    found = dissect(PRODUCE_SPEC, 9, wrong, frame=True)
    assert found.fault == f"size: the frame says {len(FRAME)} bytes, but has {len(FRAME) - 4}, at byte 0"


def test_the_header_of_an_api_versions_response_is_version_0() -> None:
    frame = b"".join(header.encode_response_parts(ApiVersionsResponse(error_code=35), 3, 77))
    found = dissect(table.message("ApiVersionsResponse"), 3, frame, frame=True)
    assert found.fault is None
    assert [note.path for note in found.notes if note.path.startswith("header")] == ["header", "header.correlation_id"]


def test_a_record_has_no_frame_but_a_place_for_each_field() -> None:
    spec = table.message("TopicRecord")
    data = codec.encode(TopicRecord("spool", bytes(range(16))), 0)
    assert [(n.path, n.value) for n in dissect(spec, 0, data).notes[:2]] == [
        ("name", "spool"),
        ("topic_id", bytes(range(16))),
    ]
    with pytest.raises(ProtocolError, match="no frame"):
        dissect(spec, 0, data, frame=True)
