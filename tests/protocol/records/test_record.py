"""Encoding and decoding of records in a batch, and of their variable-length integers."""

import random
from collections.abc import Callable
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.protocol.records.batch import BATCH_HEADER_SIZE, NO_TIMESTAMP, check_crc, read_header
from odradek.protocol.records.builder import BatchBuilder, assemble_batch, encode_batch
from odradek.protocol.records.compression import CompressionType
from odradek.protocol.records.errors import InvalidRecordError
from odradek.protocol.records.record import RECORDS_A_STEP, Record, decode_records, iterate_records, iterate_rows
from odradek.protocol.records.varint import decode_varint, decode_varlong, encode_varlong

optional_bytes = st.none() | st.binary(max_size=200)
headers = st.lists(st.tuples(st.text(max_size=20), optional_bytes), max_size=4)
records = st.lists(
    st.tuples(st.integers(-1, 2**62), optional_bytes, optional_bytes, headers),
    min_size=1,
    max_size=30,
).map(lambda rows: [Record(i, *row) for i, row in enumerate(rows)])


@given(records, st.sampled_from(CompressionType), st.integers(0, 2**62))
def test_what_goes_in_comes_out(original: list[Record], compression: CompressionType, base_offset: int) -> None:
    shifted = [record._replace(offset=base_offset + record.offset) for record in original]
    batch = encode_batch(shifted, compression=compression, base_offset=base_offset)
    header = read_header(batch)
    check_crc(batch, 0, header)
    assert header.size_in_bytes == len(batch)
    assert header.records_count == len(original) == header.last_offset_delta + 1
    assert header.base_timestamp == original[0].timestamp
    assert header.max_timestamp == max(record.timestamp for record in original)
    assert decode_records(batch) == shifted
    assert decode_records(memoryview(b"12345" + batch), None, 5) == shifted


@given(records, st.sampled_from(CompressionType), st.integers(0, 40))
def test_rows_are_the_records_without_their_class(
    original: list[Record], compression: CompressionType, copies: int
) -> None:
    every = [record._replace(offset=at) for at, record in enumerate(original * (copies + 1))]
    batch = encode_batch(every, compression=compression)
    rows = list(iterate_rows(batch, read_header(batch)))
    assert all(1 <= len(some) <= RECORDS_A_STEP for some in rows)
    assert [Record(*row) for some in rows for row in some] == every


def test_rows_before_a_malformed_record_come_first() -> None:
    batch = bytearray(encode_batch([Record(at, 0, None, b"value", []) for at in range(100)]))
    batch[-1] = 2  # the last record has a header that ends after the batch
    rows = iterate_rows(bytes(batch), read_header(batch))
    found = [row[0] for some in islice(rows, 3) for row in some]  # 16, 32, 51 of 64
    assert found == list(range(99))
    with pytest.raises(InvalidRecordError, match="number of record headers"):
        next(rows)


@given(st.integers(-(2**63), 2**63 - 1))
def test_varlongs(number: int) -> None:
    encoded = encode_varlong(number)
    assert len(encoded) <= 10
    assert decode_varlong(encoded, 0) == (number, len(encoded))
    assert decode_varlong(b"\xff" + encoded + b"\xff", 1) == (number, len(encoded) + 1)
    if -(2**31) <= number < 2**31:
        assert len(encoded) <= 5
        assert decode_varint(encoded, 0) == (number, len(encoded))
    for cut in range(len(encoded)):
        with pytest.raises(InvalidRecordError, match="end inside"):
            decode_varlong(encoded[:cut], 0)


@pytest.mark.parametrize(("decode", "longest"), [(decode_varint, 5), (decode_varlong, 10)])
def test_varints_are_bounded(decode: Callable[[bytes, int], tuple[int, int]], longest: int) -> None:
    with pytest.raises(InvalidRecordError, match=f"more than {longest} bytes"):
        decode(b"\xff" * 1_000_000, 0)
    with pytest.raises(InvalidRecordError, match="end inside"):
        decode(b"\xff" * (longest - 1), 0)
    # All bits of the last byte beyond the width are dropped, as in ByteUtils.
    assert decode(b"\xff" * (longest - 1) + b"\x7f", 0) == decode(
        b"\xff" * (longest - 1) + (b"\x0f" if longest == 5 else b"\x01"), 0
    )


def test_offsets_may_have_gaps_and_a_later_last_offset() -> None:
    builder = BatchBuilder(base_offset=100)
    assert builder.last_offset == 99
    assert [builder.append(5, None, b"a"), builder.append(5, None, b"b", offset=130)] == [100, 130]
    assert builder.append(5, None, None) == 131
    batch = builder.build(last_offset=199)
    assert [record.offset for record in iterate_records(batch)] == [100, 130, 131]
    assert read_header(batch).next_offset == 200
    assert read_header(builder.build()).next_offset == 132


def test_size_is_known_before_building() -> None:
    builder = BatchBuilder()
    assert builder.size_in_bytes == BATCH_HEADER_SIZE
    for index in range(200):
        builder.append(index * 1000, b"key" * index, None, [("h", None)])
        assert builder.size_in_bytes == len(builder.build())


def test_a_producer_is_set_when_the_batch_is_sent() -> None:
    builder = BatchBuilder(compression=CompressionType.ZSTD)
    builder.append(1, b"k", b"v")
    builder.producer_id, builder.producer_epoch, builder.base_sequence = 11, 0, 40
    first = builder.build()
    builder.producer_epoch, builder.base_sequence = 1, 0
    second = builder.build()
    assert read_header(first)[9:12] == (11, 0, 40)
    assert read_header(second)[9:12] == (11, 1, 0)
    assert decode_records(first) == decode_records(second) == [Record(0, 1, b"k", b"v", [])]


def test_log_append_time_replaces_every_timestamp() -> None:
    batch = encode_batch([Record(0, 5, b"a", None, []), Record(1, 9, b"b", None, [])], log_append_time_ms=1234)
    header = read_header(batch)
    assert header.is_log_append_time
    assert (header.base_timestamp, header.max_timestamp) == (5, 1234)
    assert [record.timestamp for record in decode_records(batch)] == [1234, 1234]


def test_a_delete_horizon_is_the_base_timestamp_and_timestamps_stay() -> None:
    original = [Record(0, 5, b"a", None, []), Record(1, 9, b"b", None, [])]
    batch = encode_batch(original, delete_horizon_ms=1_000_000)
    header = read_header(batch)
    assert header.has_delete_horizon
    assert header.delete_horizon_ms == header.base_timestamp == 1_000_000
    assert header.max_timestamp == 9
    assert decode_records(batch) == original


def test_without_records_there_is_no_batch() -> None:
    assert BatchBuilder().build() == b""
    assert encode_batch([]) == b""


@pytest.mark.parametrize(
    ("timestamp", "offset", "message"),
    [(-2, 10, "negative timestamp"), (0, 9, "Illegal offset"), (0, 10 + 2**31, "Illegal offset")],
)
def test_wrong_arguments_add_nothing(timestamp: int, offset: int, message: str) -> None:
    builder = BatchBuilder(base_offset=10)
    with pytest.raises(ValueError, match=message):
        builder.append(timestamp, None, None, offset=offset)
    assert builder.build() == b""
    builder.append(7, None, None)
    assert decode_records(builder.build()) == [Record(10, 7, None, None, [])]


def test_producer_fields_must_fit_together() -> None:
    for fields in (
        {"is_transactional": True},
        {"producer_id": 1, "base_sequence": 0},
        {"producer_id": 1, "producer_epoch": 0},
    ):
        builder = BatchBuilder(**fields)
        builder.append(0, None, None)
        with pytest.raises(ValueError, match=r"producer|sequence"):
            builder.build()


def test_header_keys_that_are_no_text() -> None:
    batch = encode_batch([Record(0, 0, None, None, [("a\udcffb", b"v")])])
    assert decode_records(batch)[0].headers == [("a?b", b"v")]
    body = b"\0\0\0\x01\x01\x02" + b"\x04\xff\xfe" + b"\x01"
    assert decode_records(section_batch(encode_varlong(len(body)) + body))[0].headers == [("\ufffd\ufffd", None)]


def section_batch(section: bytes, count: int = 1, base_offset: int = 0, base_timestamp: int = 0) -> bytes:
    return assemble_batch(
        section,
        records_count=count,
        attributes=0,
        base_offset=base_offset,
        last_offset=base_offset,
        base_timestamp=base_timestamp,
        max_timestamp=NO_TIMESTAMP,
        partition_leader_epoch=0,
        producer_id=-1,
        producer_epoch=-1,
        base_sequence=-1,
    )


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"\0\0\0\x01\x01\0\0", "ends at"),  # a byte more than the fields
        (b"\0\0\0\x01\x02\0", "end inside a record|ends at"),  # the value's length reaches into the headers
        (b"\0\0\0\x01\x01\x01", "number of record headers -1"),
        (b"\0\0\0\x01\x01\x7e", "number of record headers 63"),
        (b"\0\0\0\x01\x01\x02\x01\x01", "header key size -1"),
        (b"\0\0\0\x01\x01\x02\x7e\x01", "header key size 63"),
        (b"\0\0\0\xfe\xff\xff\xff\x0f\x01\0", "end inside a record|ends at"),  # a key of 2 GiB
        (b"\0" + b"\x80" * 10 + b"\0\x01\x01\0", "more than 10 bytes"),
        (b"\0\0" + b"\x80" * 5 + b"\0\x01\x01\0", "more than 5 bytes"),
    ],
)
def test_malformed_records(body: bytes, message: str) -> None:
    with pytest.raises(InvalidRecordError, match=message):
        decode_records(section_batch(encode_varlong(len(body)) + body))


def test_counts_that_do_not_fit_the_bytes() -> None:
    one = b"\x0c\0\0\0\x01\x01\0"
    assert len(decode_records(section_batch(one * 2, 2))) == 2
    with pytest.raises(InvalidRecordError, match="7 bytes remain after the 1 records"):
        decode_records(section_batch(one * 2, 1))
    with pytest.raises(InvalidRecordError, match="records end inside a record"):
        decode_records(section_batch(one * 2, 3))
    with pytest.raises(InvalidRecordError, match="records end inside a record"):
        decode_records(section_batch(one, 2**31 - 1))
    with pytest.raises(InvalidRecordError, match="invalid record count -1"):
        decode_records(section_batch(one, -1))
    assert decode_records(section_batch(one, 0)) == []  # as in Kafka, a count of 0 is an empty batch, even with bytes


def test_a_negative_length_of_any_size_is_null() -> None:
    body = b"\0\0\0" + encode_varlong(-5) + encode_varlong(-(2**31)) + b"\0"
    assert decode_records(section_batch(encode_varlong(len(body)) + body)) == [Record(0, 0, None, None, [])]


def test_numbers_at_the_end_of_their_range() -> None:
    one = b"\x0c\0\0\0\x01\x01\0"
    for fields in ({"base_offset": 2**63 - 1}, {"base_offset": -(2**63)}):
        with pytest.raises(InvalidRecordError, match="is out of range"):
            decode_records(section_batch(one, **fields))
    # A sum beyond 64 bits wraps around, as Java's does.
    delta = encode_varlong(2**63 - 1)
    body = b"\0" + delta + b"\0\x01\x01\0"
    wrapped = decode_records(section_batch(encode_varlong(len(body)) + body, base_timestamp=1000))
    assert wrapped[0].timestamp == -(2**63) + 999


@pytest.mark.parametrize("seed", range(5))
def test_large_values_and_many_records(seed: int) -> None:
    rng = random.Random(seed)
    original = [
        Record(i, 1_700_000_000_000 + rng.randrange(10**9), b"%d" % i, rng.randbytes(rng.choice((0, 9000, 70_000))), [])
        for i in range(300)
    ]
    for compression in CompressionType:
        assert decode_records(encode_batch(original, compression=compression)) == original
