"""Seeded damage to batches raises only our errors, in time that is linear in the bytes."""

import contextlib
import random

import pytest

from odradek.protocol.errors import KafkaError
from odradek.protocol.records.batch import check_crc, iterate_headers, read_header
from odradek.protocol.records.builder import encode_batch
from odradek.protocol.records.control import control_record_type, end_transaction_marker
from odradek.protocol.records.errors import CorruptRecordError, InvalidRecordError, RecordTooLargeError
from odradek.protocol.records.record import decode_records
from odradek.protocol.records.validation import read_produced_header, validate_client_batch
from support.data.random_records import random_compression, random_records

ROUNDS = 120


def use(data: bytes) -> int:
    """Uses `data` as a broker, a client or a tool does; returns the number of decoded records."""
    read = 0
    for position, header in iterate_headers(data):
        assert position + header.size_in_bytes <= len(data)
        for record in decode_records(data, header, position, max_decompressed_size=1_000_000):
            read += 1
            control_record_type(record.key)
            end_transaction_marker(record.key, record.value)
    return read


def attempts(data: bytes) -> None:
    """Every entry point separately, so that an error of one does not skip the next."""

    for attempt in (
        lambda: use(data),
        lambda: decode_records(data, max_decompressed_size=1_000_000),
        lambda: read_header(data),
        lambda: check_crc(data, 0, read_header(data)),
        lambda: read_produced_header(data, 9),
        lambda: validate_client_batch(read_header(data)),
    ):
        with contextlib.suppress(KafkaError):
            attempt()


@pytest.mark.parametrize("seed", range(20))
def test_truncated_and_mutated_batches(seed: int) -> None:
    rng = random.Random(seed)
    batch = encode_batch(random_records(rng, count=rng.choice((1, 3, 30))), compression=random_compression(rng))
    for _ in range(ROUNDS):
        damaged = bytearray(batch * rng.choice((1, 1, 2)))
        if rng.random() < 0.3:
            del damaged[rng.randrange(len(damaged)) :]
        for _ in range(rng.randrange(4)):
            if damaged:
                damaged[rng.randrange(len(damaged))] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))
        attempts(bytes(damaged))


@pytest.mark.parametrize("seed", range(10))
def test_random_bytes_behind_a_header_that_fits(seed: int) -> None:
    """The length and the magic are right, so that the bytes reach the record decoder and the codecs."""
    rng = random.Random(seed)
    for _ in range(ROUNDS):
        section = rng.randbytes(rng.randrange(200))
        fields = bytearray(rng.randbytes(61))
        fields[8:12] = (49 + len(section)).to_bytes(4, "big")
        fields[16] = 2
        if rng.random() < 0.7:
            fields[0] = fields[27] = 0
            fields[57:61] = rng.randrange(12).to_bytes(4, "big")
        attempts(bytes(fields) + section)


@pytest.mark.parametrize("seed", range(3))
def test_random_bytes(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(ROUNDS):
        attempts(rng.randbytes(rng.randrange(150)))


def test_every_truncation_of_the_records_is_found() -> None:
    rng = random.Random(4)
    batch = encode_batch(random_records(rng, count=5))
    for cut in range(61, len(batch)):
        shortened = bytearray(batch[:cut])
        shortened[8:12] = (cut - 12).to_bytes(4, "big")
        with pytest.raises(InvalidRecordError):
            decode_records(shortened)


def test_many_tiny_headers_and_huge_counts_stay_linear() -> None:
    """A record may have as many headers as bytes. Each costs its bytes once."""
    count = 200_000
    batch = bytearray(encode_batch(random_records(random.Random(1), count=1)))
    for section in (b"\xff" * count, b"\x80" * count, bytes(count), b"\x01" * count):
        batch[61:] = section
        batch[8:12] = (49 + count).to_bytes(4, "big")
        batch[57:61] = (2**31 - 1).to_bytes(4, "big")
        with pytest.raises(InvalidRecordError):
            decode_records(batch)
        batch[57:61] = (count // 7).to_bytes(4, "big")
        with pytest.raises(InvalidRecordError):
            decode_records(batch)


def test_errors_carry_kafkas_codes() -> None:
    codes = {error("x").error_code.name for error in (CorruptRecordError, InvalidRecordError, RecordTooLargeError)}
    assert codes == {"CORRUPT_MESSAGE", "INVALID_RECORD", "MESSAGE_TOO_LARGE"}
