"""A batch whose records are compressed one by one equals a batch that is built at once."""

import random

import pytest

from odradek.protocol.records.batch import read_header
from odradek.protocol.records.builder import BatchBuilder
from odradek.protocol.records.compression import CompressionType
from odradek.protocol.records.large_batch import GATHERED_BYTES, LargeBatchBuilder
from odradek.protocol.records.record import Record, decode_records, iterate_in_parts

CODECS = [codec for codec in CompressionType if codec is not CompressionType.NONE]


def random_records(chance: random.Random) -> list[Record]:
    """A few records, of which about every third has a value of a megabyte or more."""
    records = []
    offset = 0
    for _ in range(chance.randrange(1, 9)):
        offset += chance.choice((1, 1, 300, 70_000))
        sizes = (None, 0, 3, 5_000, GATHERED_BYTES - 1, GATHERED_BYTES, GATHERED_BYTES + chance.randrange(500_000))
        value_size = chance.choice(sizes)
        value = None if value_size is None else chance.randbytes(64) * (value_size // 64) + bytes(value_size % 64)
        key = chance.choice((None, b"", chance.randbytes(chance.randrange(200))))
        headers = [(f"h{index}", chance.choice((None, b"x" * 300))) for index in range(chance.choice((0, 0, 1, 3)))]
        records.append(Record(offset, chance.randrange(1 << 40), key, value, headers))
    return records


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("seed", range(12))
def test_it_is_equal_to_the_batch_that_is_built_at_once(codec: CompressionType, seed: int) -> None:
    records = random_records(random.Random(seed))
    plain, large = BatchBuilder(compression=codec), LargeBatchBuilder(BatchBuilder(compression=codec))
    for record in records:
        plain.append(record.timestamp, record.key, record.value, record.headers, record.offset)
    whole = plain.build()
    for record, parts in iterate_in_parts(whole, read_header(whole)):
        large.append(record, parts)
    last_offset = records[-1].offset + 5
    built = large.build(last_offset)
    assert decode_records(built) == records, f"seed {seed}"
    if codec is not CompressionType.ZSTD:  # a frame that is compressed at once has its size in its header
        assert built == plain.build(last_offset), f"seed {seed}"


def test_an_offset_that_does_not_rise_is_refused() -> None:
    large = LargeBatchBuilder(BatchBuilder(compression=CompressionType.GZIP))
    record = Record(7, 1, b"k", bytes(GATHERED_BYTES), [])
    large.append(record)
    with pytest.raises(ValueError, match="Illegal offset"):
        large.append(record)


def test_a_batch_without_records_is_empty() -> None:
    assert LargeBatchBuilder(BatchBuilder(compression=CompressionType.ZSTD)).build(3) == b""
