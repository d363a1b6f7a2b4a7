"""The check of a batch's first record: it accepts what clients send and refuses bytes that are not records."""

import random

import pytest

from odradek.protocol.records.batch import read_header
from odradek.protocol.records.builder import encode_batch
from odradek.protocol.records.compression import CompressionType, compress
from odradek.protocol.records.errors import InvalidRecordError
from odradek.protocol.records.first_record import check_beginning, check_count
from odradek.protocol.records.record import Record
from odradek.protocol.records.validation import validate_client_batch
from support.data.lying_batches import lying_batch
from support.data.random_records import random_records
from support.each import each


@each("seed", range(200))
def test_what_clients_send_is_taken(seed: int) -> None:
    rng = random.Random(seed)
    kind = rng.choice(list(CompressionType))
    batch = encode_batch(random_records(rng), compression=kind)
    validate_client_batch(read_header(batch))
    check_beginning(batch, read_header(batch))
    check_beginning(memoryview(bytearray(batch)), read_header(batch))


@pytest.mark.parametrize("kind", list(CompressionType))
def test_the_densest_batch_is_taken(kind: CompressionType) -> None:
    batch = lying_batch(compress(kind, bytes.fromhex("0c000000010100") * 2_000_000), 2_000_000, kind)
    validate_client_batch(read_header(batch))


@pytest.mark.parametrize("kind", list(CompressionType))
def test_more_records_than_the_bytes_can_hold_are_refused(kind: CompressionType) -> None:
    for count in (2**31 - 1, 20_000_000, 100_000):
        batch = lying_batch(compress(kind, bytes.fromhex("0c000000010100"))[:30], count, kind)
        if kind is not CompressionType.ZSTD or count > 140_000:
            with pytest.raises(InvalidRecordError, match="do not fit into"):
                validate_client_batch(read_header(batch))
    with pytest.raises(InvalidRecordError):
        check_count(read_header(lying_batch(b"", 1, kind)))


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("kind", [kind for kind in CompressionType if kind is not CompressionType.SNAPPY])
def test_random_bytes_are_refused(kind: CompressionType, count: int) -> None:
    rng = random.Random(1)
    taken = 0
    for _ in range(1_000):
        batch = lying_batch(rng.randbytes(rng.randint(8, 200)), count, kind)
        try:
            check_beginning(batch, read_header(batch))
            taken += 1
        except InvalidRecordError:
            pass
    assert taken < 20, "of 1,000, one or two percent look like a record"


def test_a_record_that_ends_early_or_late_is_refused() -> None:
    batch = encode_batch([Record(0, 1, b"key", b"value", [])])
    for damage in (b"x" + batch[62:], batch[61:] + b"\0", batch[61:-1]):
        with pytest.raises(InvalidRecordError):
            check_beginning(damaged := lying_batch(damage, 1, CompressionType.NONE), read_header(damaged))
