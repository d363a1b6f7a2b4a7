"""The wire types with their bounds: what each accepts and refuses, and the position that its error names."""

import pytest
from construct import Construct, ConstructError, Int8sb, Struct
from hypothesis import given
from hypothesis import strategies as st

from odradek.protocol.errors import ProtocolError
from odradek.protocol.reference import primitives as p
from odradek.protocol.reference.wire import parse


@pytest.mark.parametrize(
    ("kind", "value", "data"),
    [
        (p.UNSIGNED_VARINT, 0, "00"),
        (p.UNSIGNED_VARINT, 127, "7f"),
        (p.UNSIGNED_VARINT, 300, "ac02"),
        (p.UNSIGNED_VARINT, 2**32 - 1, "ffffffff0f"),
        (p.VARINT, 0, "00"),
        (p.VARINT, -1, "01"),
        (p.VARINT, 1, "02"),
        (p.VARINT, -(2**31), "ffffffff0f"),
        (p.VARINT, 2**31 - 1, "feffffff0f"),
        (p.VARLONG, 2**63 - 1, "feffffffffffffffff01"),
        (p.VARLONG, -(2**63), "ffffffffffffffffff01"),
        (p.FIXED["float64"], -1.5, "bff8000000000000"),
        (p.FIXED["uint16"], 65535, "ffff"),
        (p.FIXED["bool"], True, "01"),
        (p.UUID, bytes(range(16)), bytes(range(16)).hex()),
        (p.Utf8(p.SizedBytes(p.COMPACT_LENGTH, nullable=True)), None, "00"),
        (p.Utf8(p.SizedBytes(p.COMPACT_LENGTH, nullable=True)), "", "01"),
        (p.Utf8(p.SizedBytes(p.COMPACT_LENGTH, nullable=True)), "é", "03c3a9"),
        (p.Utf8(p.SizedBytes(p.FIXED["int16"], nullable=True)), None, "ffff"),
    ],
)
def test_values_and_their_bytes(kind: Construct, value: object, data: str) -> None:
    assert kind.build(value).hex() == data
    assert parse(kind, bytes.fromhex(data)) == value


@given(st.integers(-(2**63), 2**63 - 1))
def test_varlong_round_trip(value: int) -> None:
    data = p.VARLONG.build(value)
    assert len(data) <= 10
    assert parse(p.VARLONG, data) == value


@pytest.mark.parametrize(("kind", "most"), [(p.UNSIGNED_VARINT, 5), (p.VARINT, 5), (p.VARLONG, 10)])
def test_a_varint_ends(kind: Construct, most: int) -> None:
    stream = p.Reader(b"\xff" * 200_000 + b"\x01")
    with pytest.raises(ConstructError, match=f"more than {most} bytes"):
        kind.parse_stream(stream)
    assert stream.tell() == most


def test_a_count_is_held_against_the_bytes_left() -> None:
    pairs = p.Elements(p.FIXED["int32"], Struct("a" / Int8sb, "b" / Int8sb), 2, "Pair", nullable=False)
    assert len(parse(pairs, bytes.fromhex("0000000201020304"))) == 2
    with pytest.raises(ProtocolError, match="1000000 elements do not fit into 4 bytes"):
        parse(pairs, bytes.fromhex("000f424001020304"))


@pytest.mark.parametrize("size", [2**31 - 1, 5])
def test_a_length_is_held_against_the_bytes_left(size: int) -> None:
    kind = p.SizedBytes(p.FIXED["int32"], nullable=False)
    with pytest.raises(ProtocolError, match=f"the length is {size} bytes, only 4 are left"):
        parse(kind, size.to_bytes(4, "big") + b"abcd")


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (p.UNSIGNED_VARINT, -1),
        (p.UNSIGNED_VARINT, 2**32),
        (p.UNSIGNED_VARINT, "1"),
        (p.VARINT, 2**31),
        (p.VARINT, None),
        (p.FIXED["int8"], 128),
        (p.FIXED["int32"], "1"),
        (p.UUID, bytes(15)),
        (p.SizedBytes(p.FIXED["int32"], nullable=False), None),
        (p.SizedBytes(p.FIXED["int32"], nullable=False), "text"),
        (p.Utf8(p.SizedBytes(p.FIXED["int16"], nullable=True)), b"bytes"),
        (p.Utf8(p.SizedBytes(p.FIXED["int16"], nullable=True)), "\ud800"),
        (p.Utf8(p.SizedBytes(p.COMPACT_LENGTH, nullable=True, limit=p.MAX_STRING_BYTES)), "x" * 0x8000),
        (p.Elements(p.FIXED["int32"], Int8sb, 1, "int8", nullable=False), None),
        (p.Elements(p.FIXED["int32"], Int8sb, 1, "int8", nullable=False), 3),
        (p.Elements(p.FIXED["int32"], Int8sb, 1, "int8", nullable=False), [1, 300]),
    ],
)
def test_what_cannot_be_written_is_refused(kind: Construct, value: object) -> None:
    with pytest.raises(ConstructError):
        kind.build(value)
