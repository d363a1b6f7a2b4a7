"""Messages of format 0 and 1: headers, records in every codec, wrappers as Kafka takes them, malformed bytes."""

import random

import pytest

from odradek.protocol.errors import KafkaError
from odradek.protocol.records.batch import (
    check_crc,
    iterate_headers,
    leader_epoch_at,
    read_header,
)
from odradek.protocol.records.builder import encode_batch
from odradek.protocol.records.compression import CompressionType, compress
from odradek.protocol.records.errors import CorruptRecordError, InvalidRecordError
from odradek.protocol.records.legacy import encode_message
from odradek.protocol.records.record import Record, decode_records, first_offset, iterate_in_parts, iterate_outlines
from odradek.protocol.records.record_facts import iterate_facts
from odradek.protocol.records.up_conversion import up_convert
from support.data.legacy_messages import LEGACY_CODECS, as_read, messages


def random_records(rng: random.Random, first: int = 0) -> list[Record]:
    """Records with gaps, as compaction leaves them, null and empty keys and values, falling timestamps."""
    found = []
    offset = first
    for _ in range(rng.randrange(1, 30)):
        key = rng.choice((None, b"", rng.randbytes(rng.randrange(20))))
        value = rng.choice((None, b"", rng.randbytes(rng.randrange(2000))))
        found.append(Record(offset, rng.randrange(0, 1 << 41), key, value, []))
        offset += rng.choice((1, 1, 1, rng.randrange(1, 100)))
    return found


@pytest.mark.parametrize("seed", range(40))
def test_records_are_read_as_they_were_written(seed: int) -> None:
    rng = random.Random(seed)
    magic, codec = rng.randrange(2), rng.choice(LEGACY_CODECS)
    records = random_records(rng, rng.choice((0, 7, 1 << 40)))
    append_time = rng.choice((None, 5)) if magic else None
    data = messages(magic, records, codec, append_time)
    expected = as_read(magic, records, append_time)
    found = list(iterate_headers(data))
    assert sum(header.size_in_bytes for _, header in found) == len(data)
    for position, header in found:
        check_crc(data, position, header)
        assert (header.magic, header.partition_leader_epoch, header.producer_id) == (magic, -1, -1)
        assert leader_epoch_at(data, position) == -1
        assert header.is_wrapper == (codec is not CompressionType.NONE)
    assert [r for position, header in found for r in decode_records(data, header, position)] == expected
    assert found[-1][1].last_offset == records[-1].offset
    assert first_offset(data) == records[0].offset
    facts = [fact for position, header in found for fact in iterate_facts(data, header, position)]
    assert facts == [(record.offset, record.timestamp, record.key is not None) for record in expected]
    outlines = [record for position, header in found for record in iterate_outlines(data, header, position)]
    assert outlines == [record._replace(value=record.value and b"") for record in expected]
    whole = [record for position, header in found for record, _ in iterate_in_parts(data, header, position)]
    assert whole == expected


@pytest.mark.parametrize("seed", range(40))
def test_a_batch_of_the_same_records_is_made_of_each_message(seed: int) -> None:
    rng = random.Random(seed)
    magic, codec = rng.randrange(2), rng.choice(LEGACY_CODECS)
    records = random_records(rng, rng.randrange(1000))
    append_time = rng.choice((None, 5)) if magic else None
    data = messages(magic, records, codec, append_time)
    batches = b"".join(up_convert(data, header, position) for position, header in iterate_headers(data))
    made = list(iterate_headers(batches))
    assert [record for at, header in made for record in decode_records(batches, header, at)] == as_read(
        magic, records, append_time
    )
    for at, header in made:
        check_crc(batches, at, header)
        assert (header.magic, header.compression_type) == (2, codec)
        assert header.is_log_append_time == (append_time is not None)
    assert (made[0][1].base_offset, made[-1][1].last_offset) == (records[0].offset, records[-1].offset)


def test_formats_may_follow_each_other_in_one_buffer() -> None:
    one = [Record(0, 1, b"k", b"v", [])]
    parts = [
        messages(0, one),
        encode_batch([Record(1, 1, b"k", b"v", [])], base_offset=1),
        messages(1, [Record(2, 1, None, None, [])]),
    ]
    data = b"".join(parts)
    assert [(header.magic, header.last_offset) for _, header in iterate_headers(data)] == [(0, 0), (2, 1), (1, 2)]
    assert [len(parts[0]), len(parts[2])] == [26 + 2, 34]  # shorter than the header of a batch
    for cut in range(len(data)):
        whole = [position for position, _ in iterate_headers(data[:cut])]
        assert whole == [start for start, end in ((0, 28), (28, 28 + len(parts[1]))) if end <= cut]


def inner(magic: int, offsets: list[int], codec: int = 0) -> bytes:
    return b"".join(encode_message(magic, codec, offset, 5, b"k", b"v") for offset in offsets)


def wrapper(magic: int, offset: int, content: bytes | None, codec: CompressionType = CompressionType.GZIP) -> bytes:
    return encode_message(magic, codec, offset, 9, None, None if content is None else compress(codec, content))


def offsets_of(data: bytes) -> list[int]:
    return [record.offset for record in decode_records(data)]


def test_wrappers_are_taken_as_kafka_takes_them() -> None:
    assert offsets_of(wrapper(1, 12, inner(1, [0, 1, 2]))) == [10, 11, 12]
    assert offsets_of(wrapper(1, 12, inner(1, [0, 5, 7]))) == [5, 10, 12], "compaction keeps relative offsets"
    assert offsets_of(wrapper(1, 0, inner(1, [0, 1, 2]))) == [0, 1, 2], "of some versions of librdkafka"
    assert offsets_of(wrapper(0, 12, inner(0, [10, 11, 12]))) == [10, 11, 12]
    assert offsets_of(wrapper(1, 12, inner(0, [1, 2]))) == [11, 12], "KAFKA-4298: another format inside"
    assert offsets_of(wrapper(1, 12, inner(1, [1, 2]) + inner(1, [3])[:-1])) == [11, 12], "cut inside the last one"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (wrapper(1, 5, None), "null value"),
        (wrapper(1, 5, b""), "no inner records"),
        (wrapper(1, 2, inner(1, [0, 3])), "wrapper offset '2' is less than the last inner message offset '3'"),
        (wrapper(0, 5, inner(0, [5], codec=1)), "Inner messages must not be compressed"),
        (wrapper(0, 5, bytes(8) + b"\0\0\0\5" + bytes(30)), "less than the minimum record overhead"),
        (wrapper(1, 5, inner(1, [1]), CompressionType.ZSTD), "zstd"),
        (encode_message(1, 1, 5, 9, None, b"no gzip"), "gzip"),
        (messages(1, [Record(0, 1, b"k", b"v", [])])[:-1] + b"v", None),
    ],
)
def test_malformed_messages_are_refused(data: bytes, reason: str | None) -> None:
    if reason is None:
        assert decode_records(data)[0].value == b"v"
        return
    with pytest.raises(InvalidRecordError, match=reason):
        decode_records(data)


@pytest.mark.parametrize("seed", range(30))
def test_mutated_bytes_raise_only_the_errors_of_records(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(200):
        magic, codec = rng.randrange(2), rng.choice(LEGACY_CODECS)
        data = bytearray(messages(magic, random_records(rng)[:6], codec))
        for _ in range(rng.choice((1, 1, 3))):
            data[rng.randrange(len(data))] = rng.randrange(256)
        data = data[: rng.choice((len(data), rng.randrange(len(data) + 1)))]
        try:
            for position, header in iterate_headers(data):
                decode_records(data, header, position, max_decompressed_size=1 << 20)
                up_convert(data, header, position, max_decompressed_size=1 << 20)
        except KafkaError:
            continue


def test_a_wrong_crc_is_found() -> None:
    data = bytearray(messages(1, [Record(0, 1, b"k", b"value", [])]))
    data[-1] ^= 1
    with pytest.raises(CorruptRecordError, match="stored crc"):
        check_crc(data, 0, read_header(data))
