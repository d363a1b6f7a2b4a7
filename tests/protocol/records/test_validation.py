"""A leader checks a batch by its header before it appends it."""

import pytest

from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.records.batch import LOG_APPEND_TIME_FLAG, BatchHeader, check_crc, read_header
from odradek.protocol.records.builder import encode_batch
from odradek.protocol.records.compression import CompressionType
from odradek.protocol.records.record import Record
from odradek.protocol.records.validation import (
    read_produced_header,
    validate_client_batch,
)

from .refused_records import refused_records

RECORDS = [Record(i, 1000 + i, b"key", b"value", []) for i in range(3)]
BATCH = encode_batch(RECORDS)
HEADER = read_header(BATCH)
OLD_ENTRY = bytes(8) + (22).to_bytes(4, "big") + bytes(4) + b"\x01\x00" + bytes(8) + b"\xff" * 8


@pytest.mark.parametrize(
    ("records", "version", "code"),
    [
        (b"", 9, ErrorCode.INVALID_RECORD),
        (BATCH[:-1], 9, ErrorCode.INVALID_RECORD),
        (BATCH + BATCH, 9, ErrorCode.INVALID_RECORD),
        (BATCH + OLD_ENTRY, 9, ErrorCode.INVALID_RECORD),
        (OLD_ENTRY, 9, ErrorCode.INVALID_RECORD),
        (BATCH[:16] + b"\x03" + BATCH[17:], 9, ErrorCode.CORRUPT_MESSAGE),
        (BATCH[:8] + bytes(4) + BATCH[12:], 9, ErrorCode.CORRUPT_MESSAGE),
        (encode_batch(RECORDS, compression=CompressionType.ZSTD), 6, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE),
    ],
)
def test_what_a_produce_request_may_not_carry(records: bytes, version: int, code: ErrorCode) -> None:
    with pytest.raises(KafkaError) as caught:
        read_produced_header(records, version)
    assert caught.value.error_code == code


def test_what_a_produce_request_may_carry() -> None:
    assert read_produced_header(memoryview(BATCH), 3) == HEADER
    assert read_produced_header(BATCH + BATCH[:30], 3) == HEADER  # an incomplete second batch is trimmed
    zstd = encode_batch(RECORDS, compression=CompressionType.ZSTD)
    assert read_produced_header(zstd, 7) == read_header(zstd)


def test_crc() -> None:
    buffer = bytearray(b"12" + BATCH)
    check_crc(buffer, 2, HEADER)
    buffer[-1] ^= 1
    with pytest.raises(KafkaError, match="crc") as caught:
        check_crc(buffer, 2, HEADER)
    assert caught.value.error_code == ErrorCode.CORRUPT_MESSAGE


@pytest.mark.parametrize(
    "header",
    [
        HEADER._replace(base_offset=1),
        HEADER._replace(last_offset_delta=-1),
        HEADER._replace(records_count=0),
        HEADER._replace(records_count=-1),
        HEADER._replace(records_count=4),
        HEADER._replace(last_offset_delta=3),
        HEADER._replace(attributes=0x20),
        HEADER._replace(producer_id=1, producer_epoch=0),
    ],
)
def test_headers_that_no_client_may_send(header: BatchHeader) -> None:
    with pytest.raises(KafkaError) as caught:
        validate_client_batch(header)
    assert caught.value.error_code == ErrorCode.INVALID_RECORD


def test_headers_that_a_client_may_send() -> None:
    validate_client_batch(HEADER)
    validate_client_batch(HEADER._replace(producer_id=1, producer_epoch=0, base_sequence=0, attributes=0x10))
    validate_client_batch(HEADER._replace(attributes=-0x8000))  # the high bits have no meaning


@pytest.mark.parametrize("compression", list(CompressionType))
def test_records_that_the_topic_refuses(compression: CompressionType) -> None:
    records = [Record(i, 10 * i - 1, None if i % 3 else b"", b"v", []) for i in range(7)]
    batch = encode_batch(records, compression=compression)
    header = read_header(batch)

    def refused(
        is_compacted: bool, before: int, after: int, header: BatchHeader = header, *, stamps: bool = False
    ) -> list[tuple[int, str]]:
        limits = {"now_ms": 40, "before_max_ms": before, "after_max_ms": after}
        found = refused_records(batch, header, is_compacted=is_compacted, is_log_append_time=stamps, **limits)
        return [(record.batch_index, record.error_code.name) for record in found]

    assert refused(False, 10**9, 10**9) == []
    assert refused(True, 10**9, 10**9) == [(i, "INVALID_RECORD") for i in (1, 2, 4, 5)]
    # The first record's timestamp is -1 (none), which is never out of range.
    assert refused(False, 21, 9) == [(1, "INVALID_TIMESTAMP"), (6, "INVALID_TIMESTAMP")]
    assert refused(True, 21, 9) == [(i, "INVALID_RECORD") for i in (1, 2, 4, 5)] + [(6, "INVALID_TIMESTAMP")]
    assert refused(False, 21, 9, stamps=True) == []
    claims = header._replace(attributes=header.attributes | LOG_APPEND_TIME_FLAG)
    assert refused(False, 10**9, 10**9, claims) == []
    assert refused(False, 10**9, 10**9, claims, stamps=True) == [(i, "INVALID_TIMESTAMP") for i in range(7)]
    nobodys = claims._replace(max_timestamp=-1)
    assert refused(False, 10**9, 10**9, nobodys) == [(i, "INVALID_TIMESTAMP") for i in range(7)]
