"""A batch that is walked in parts gives the same records or the same damage as when it is walked at once."""

import random

import numpy
import pytest

from odradek.pipeline.decode.batch_table import BatchTable
from odradek.pipeline.decode.damage import Damage, DamageKind
from odradek.pipeline.decode.large_batches import USUAL_SIZES, DecodeSizes
from odradek.pipeline.decode.records import decode_chunk
from odradek.protocol.records.builder import BatchBuilder
from odradek.protocol.records.compression import CompressionType

from ..bombs import batch_of, record

IN_PARTS = DecodeSizes(large_batch=2000, piece=700)


def decoded(
    batch: bytes, sizes: DecodeSizes = USUAL_SIZES, *, is_compiled: bool
) -> tuple[list[object], list[DamageKind]]:
    chunk = BatchTable(batch)
    selected = numpy.ones(len(chunk), dtype=numpy.bool_)
    items = list(decode_chunk(chunk, selected, sizes=sizes, is_compiled=is_compiled))
    rows: list[object] = []
    for item in items:
        if not isinstance(item, Damage):
            rows += item.columns.to_pylist()
    return rows, [item.kind for item in items if isinstance(item, Damage)]


def three_batches(seed: int, codec: CompressionType) -> bytes:
    chance = random.Random(seed)
    parts = []
    for number in range(3):
        builder = BatchBuilder(base_offset=1000 * number, compression=codec)
        for offset in range(chance.randrange(1, 300)):
            value = None if chance.random() < 0.1 else chance.randbytes(chance.choice((0, 5, 300)))
            builder.append(offset, chance.randbytes(chance.randrange(4)), value, [("h", b"x")] * chance.randrange(3))
        parts.append(builder.build())
    return b"".join(parts)


@pytest.mark.parametrize("codec", list(CompressionType), ids=lambda codec: codec.name.lower())
@pytest.mark.parametrize("is_compiled", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_parts_are_the_whole(codec: CompressionType, seed: int, *, is_compiled: bool) -> None:
    batch = three_batches(seed, codec)
    whole = decoded(batch, is_compiled=is_compiled)
    assert whole[0]
    assert decoded(batch, IN_PARTS, is_compiled=is_compiled) == whole


@pytest.mark.parametrize("codec", list(CompressionType), ids=lambda codec: codec.name.lower())
@pytest.mark.parametrize(
    ("section", "count"),
    [
        (record(0, b"k", bytes(5000)) + record(1, b"k", b"v"), 3),
        (record(0, b"k", bytes(5000)) + record(1, b"k", b"v"), 1),
        (record(0, b"k", bytes(5000)) + record(1, b"k", b"v")[:-2], 2),
        (record(0, b"k", bytes(5000)) + b"\xff" * 8, 2),
        (record(0, b"k", bytes(5000)) + b"\x01", 2),
        (bytes(9000), 1200),
        (record(0, b"k", bytes(5000)), 1 << 30),
    ],
)
def test_damage_is_damage_in_parts_too(codec: CompressionType, section: bytes, count: int) -> None:
    batch = batch_of(section, count, codec)
    assert decoded(batch, is_compiled=True) == ([], [DamageKind.RECORDS])
    assert decoded(batch, IN_PARTS, is_compiled=True) == ([], [DamageKind.RECORDS])
    assert decoded(batch, IN_PARTS, is_compiled=False) == ([], [DamageKind.RECORDS])


@pytest.mark.parametrize("codec", list(CompressionType), ids=lambda codec: codec.name.lower())
def test_a_record_may_be_too_large(codec: CompressionType) -> None:
    batch = batch_of(record(0, b"k", bytes(5000)), 1, codec)
    assert decoded(batch, IN_PARTS._replace(most_record=3000), is_compiled=True) == ([], [DamageKind.TOO_LARGE])
