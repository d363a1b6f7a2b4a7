"""Records that have only a value are encoded together, with the bytes of records that are added one by one."""

import random

import pytest

from odradek.protocol.records.batch import read_header
from odradek.protocol.records.builder import BatchBuilder
from odradek.protocol.records.record import decode_records
from odradek.protocol.records.values import decode_values, encode_values
from support.each import each

SIZES = (0, 1, 50, 51, 52, 53, 54, 55, 63, 64, 65, 1000, 8180, 8192)


def random_values(rng: random.Random) -> list[bytes]:
    """Values of one size, of few sizes or of many."""
    count = rng.choice((0, 1, 2, 63, 64, 65, 300))
    kinds = rng.choice((1, 2, 8))
    sizes = [rng.choice(SIZES) for _ in range(kinds)]
    return [rng.randbytes(rng.choice(sizes)) for _ in range(count)]


def append_together(builder: BatchBuilder, timestamp: int, values: list[bytes], base_timestamp: int) -> None:
    """Adds the values as a producer does that queued them together."""
    sizes = set(map(len, values))
    size = sizes.pop() if len(sizes) == 1 else None
    first_delta = builder.last_offset + 1 - builder.base_offset
    encoded = encode_values(values, first_delta, timestamp - base_timestamp, size)
    assert decode_values(encoded) == values
    if values:
        builder.append_encoded(encoded, len(values), timestamp)


@each("seed", range(60))
def test_values_added_together_have_the_bytes_of_records_added_singly(seed: int) -> None:
    """Seeded: the id of the test is the seed. Blocks of values follow other records and other blocks."""
    rng = random.Random(seed)
    singly, together = BatchBuilder(base_offset=seed), BatchBuilder(base_offset=seed)
    for builder in (singly, together):
        builder.append(1_000, b"first", None)
    for _ in range(rng.randint(1, 4)):
        timestamp, values = 1_000 + rng.choice((0, 0, 1, 63, 64, 10_000, -5)), random_values(rng)
        for value in values:
            singly.append(timestamp, None, value)
        append_together(together, timestamp, values, 1_000)
        if rng.random() < 0.5:
            for builder in (singly, together):
                builder.append(1_000, b"key", None, [("header", b"h")])
    assert together.build() == singly.build()
    assert (together.last_offset, together.records_count) == (singly.last_offset, singly.records_count)


def test_many_small_values_in_one_batch() -> None:
    values = [b"%05d" % number for number in range(20_000)]
    builder = BatchBuilder()
    append_together(builder, 7, values, 7)
    batch = builder.build()
    assert read_header(batch).last_offset == 19_999
    assert [record.value for record in decode_records(batch)] == values


def test_a_negative_timestamp_is_refused_and_adds_nothing() -> None:
    builder = BatchBuilder()
    with pytest.raises(ValueError, match="negative timestamp"):
        builder.append_encoded(b"encoded", 1, -2)
    assert (builder.build(), builder.last_offset) == (b"", -1)
