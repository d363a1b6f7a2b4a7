"""Access to the header: reading, walking, stamping, and the CRC."""

import random

import pytest

from odradek.protocol.errors import ErrorCode
from odradek.protocol.records.batch import (
    BATCH_HEADER_SIZE,
    batch_size,
    check_crc,
    decrement_sequence,
    increment_sequence,
    iterate_headers,
    read_header,
    stamp,
)
from odradek.protocol.records.builder import BatchBuilder, encode_batch, encode_empty_batch
from odradek.protocol.records.compression import CompressionType
from odradek.protocol.records.errors import CorruptRecordError, InvalidRecordError
from odradek.protocol.records.record import Record, decode_records
from support.data.random_records import random_records

# One batch as Kafka 4.3.1 wrote it (a commit marker, from MemoryRecords.withEndTransactionMarker).
MARKER = bytes.fromhex(
    "00000000000000050000004200000002026324af0f00300000000000000000000000010000000000000001"
    "00000000000000030004ffffffff000000012000000008000000010c00000000000700"
)


def a_batch(count: int = 3, base_offset: int = 0) -> bytes:
    return encode_batch(
        [Record(base_offset + i, 1000 + i, b"k%d" % i, b"value", []) for i in range(count)],
        base_offset=base_offset,
        producer_id=7,
        producer_epoch=1,
        base_sequence=2**31 - 2,
    )


@pytest.mark.parametrize("seed", range(40))
def test_records_added_together_have_the_bytes_of_records_added_singly(seed: int) -> None:
    """Seeded: the id of the test is the seed."""
    rng = random.Random(seed)
    first, second = random_records(rng, count=rng.randrange(1, 30)), random_records(rng, count=rng.randrange(1, 300))
    plain = [record._replace(key=None, headers=[]) for record in first]
    records = [*plain, *second, *plain] if seed % 2 else [*second, *plain, *first]
    singly, together = BatchBuilder(base_offset=seed), BatchBuilder(base_offset=seed)
    for record in records:
        singly.append(*record[1:])
    together.append_next(record[1:] for record in records[:5])
    together.append_next(record[1:] for record in records[5:])
    assert together.build() == singly.build()
    assert together.last_offset == singly.last_offset


def test_every_field_of_a_header() -> None:
    header = read_header(MARKER)
    assert header._asdict() == {
        "base_offset": 5,
        "batch_length": 66,
        "partition_leader_epoch": 2,
        "magic": 2,
        "crc": 0x6324AF0F,
        "attributes": 0x30,
        "last_offset_delta": 0,
        "base_timestamp": 1,
        "max_timestamp": 1,
        "producer_id": 3,
        "producer_epoch": 4,
        "base_sequence": -1,
        "records_count": 1,
    }
    assert header.size_in_bytes == len(MARKER) == 78
    assert (header.last_offset, header.next_offset, header.last_sequence) == (5, 6, -1)
    assert header.compression_type is CompressionType.NONE
    assert header.is_transactional
    assert header.is_control
    assert header.has_producer_id
    assert not header.is_compressed
    assert not header.is_log_append_time
    assert not header.has_delete_horizon
    assert header.delete_horizon_ms is None
    check_crc(MARKER, 0, header)


def test_sequences_go_in_a_circle() -> None:
    assert read_header(a_batch()).last_sequence == 0
    assert increment_sequence(2**31 - 1, 1) == 0
    assert decrement_sequence(0, 1) == 2**31 - 1
    assert decrement_sequence(increment_sequence(5, 2**31 - 1), 2**31 - 1) == 5


def test_headers_of_several_batches_and_an_incomplete_last_one() -> None:
    first, second = a_batch(2), a_batch(5, base_offset=2)
    for cut in range(len(second)):
        buffer = b"before" + first + second[:cut]
        assert [p for p, _ in iterate_headers(buffer, 6)] == [6]
    whole = list(iterate_headers(memoryview(b"before" + first + second), 6))
    assert [(p, h.base_offset, h.next_offset) for p, h in whole] == [(6, 0, 2), (6 + len(first), 2, 7)]
    assert [p for p, _ in iterate_headers(first + second, 0, len(first))] == [0]
    assert list(iterate_headers(b"")) == []


def test_a_batch_that_is_cut_short_is_refused() -> None:
    batch = a_batch()
    for cut in range(len(batch)):
        with pytest.raises(CorruptRecordError):
            read_header(batch[:cut])
        with pytest.raises(CorruptRecordError):
            read_header(batch, 0, cut)
    assert batch_size(batch[:16]) is None
    assert batch_size(batch[:17]) == len(batch)


@pytest.mark.parametrize("length", [-(2**31), -1, 0, 13, 48])
def test_an_impossible_length_is_corrupt(length: int) -> None:
    batch = bytearray(a_batch())
    batch[8:12] = length.to_bytes(4, "big", signed=True)
    for read in (read_header, lambda b: list(iterate_headers(b))):
        with pytest.raises(CorruptRecordError) as caught:
            read(batch)
        assert caught.value.error_code == ErrorCode.CORRUPT_MESSAGE


@pytest.mark.parametrize("magic", [3, 127, 128, 255])
def test_an_unknown_magic_is_corrupt(magic: int) -> None:
    batch = bytearray(a_batch())
    batch[16] = magic
    with pytest.raises(CorruptRecordError, match="magic"):
        read_header(batch)


def test_any_changed_byte_behind_the_crc_is_found_by_it() -> None:
    batch = a_batch()
    rng = random.Random(1)
    for index in range(21, len(batch)):
        damaged = bytearray(batch)
        damaged[index] ^= rng.randrange(1, 256)
        header = read_header(damaged)
        with pytest.raises(CorruptRecordError, match="stored crc"):
            check_crc(damaged, 0, header)


def test_offset_and_leader_epoch_are_stamped_in_place_without_touching_the_crc() -> None:
    buffer = bytearray(b"xx" + a_batch())
    before = read_header(buffer, 2)
    stamp(buffer, 2, 2**40, 9)
    after = read_header(buffer, 2)
    assert after == before._replace(base_offset=2**40, partition_leader_epoch=9)
    check_crc(buffer, 2, after)
    assert [r.offset for r in decode_records(buffer, after, 2)] == [2**40, 2**40 + 1, 2**40 + 2]
    assert buffer[:2] == b"xx"


def test_ids_of_undefined_compressions_are_invalid() -> None:
    for type_id in (5, 6, 7):
        header = read_header(MARKER)._replace(attributes=type_id)
        with pytest.raises(InvalidRecordError, match=f"Unknown compression type id: {type_id}"):
            assert header.compression_type


def test_an_empty_batch_keeps_offsets_and_sequences() -> None:
    batch = encode_empty_batch(
        base_offset=10,
        last_offset=19,
        max_timestamp=77,
        partition_leader_epoch=3,
        producer_id=5,
        producer_epoch=6,
        base_sequence=100,
        is_log_append_time=False,
        is_transactional=True,
        is_control=False,
    )
    header = read_header(batch)
    check_crc(batch, 0, header)
    assert len(batch) == BATCH_HEADER_SIZE
    assert (header.records_count, header.next_offset, header.last_sequence) == (0, 20, 109)
    assert (header.base_timestamp, header.max_timestamp) == (-1, 77)
    assert decode_records(batch) == []
