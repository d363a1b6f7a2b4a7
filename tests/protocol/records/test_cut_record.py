"""Records in chunks are read as from one piece, wherever they are divided. A large value is in memory once."""

import random
import tracemalloc

import pytest

from odradek.protocol.records.batch import BatchHeader, read_header
from odradek.protocol.records.builder import BatchBuilder
from odradek.protocol.records.compression import CompressionType
from odradek.protocol.records.errors import InvalidRecordError
from odradek.protocol.records.record import Record, _records_in, decode_records, iterate_records
from odradek.protocol.records.record_facts import facts_in
from support.each import each


def text(rng: random.Random, most: int) -> bytes | None:
    return None if rng.random() < 0.2 else rng.randbytes(rng.randrange(most))


def random_batch(rng: random.Random) -> tuple[BatchHeader, bytes]:
    builder = BatchBuilder(base_offset=rng.randrange(1 << 40))
    for _ in range(rng.randint(1, 20)):
        headers = [("name é" * rng.randrange(20), text(rng, 200)) for _ in range(rng.randrange(3))]
        builder.append(rng.randrange(1 << 41), text(rng, 100), text(rng, 400), headers)
    batch = builder.build()
    return read_header(batch), batch


def cut(rng: random.Random, section: bytes) -> list[bytes]:
    """The records section in chunks, some of them empty."""
    cuts = sorted(rng.choices(range(len(section) + 1), k=rng.randint(1, 60)))
    return [section[start:end] for start, end in zip([0, *cuts], [*cuts, len(section)], strict=True)]


@each("seed", range(60))
def test_chunks_may_cut_a_record_anywhere(seed: int) -> None:
    rng = random.Random(seed)
    header, batch = random_batch(rng)
    whole = decode_records(batch, header)
    chunks = cut(rng, batch[61:])
    assert list(_records_in(iter(chunks), header)) == whole, f"seed {seed}"
    facts = [(record.offset, record.timestamp, record.key is not None) for record in whole]
    assert list(facts_in(chunks, header)) == facts, f"seed {seed}"


@each("seed", range(200))
def test_damage_in_a_cut_record_is_found_as_in_a_whole_one(seed: int) -> None:
    rng = random.Random(seed)
    header, batch = random_batch(rng)
    section = bytearray(batch[61:])
    for _ in range(rng.randint(1, 3)):
        section[rng.randrange(len(section))] = rng.randrange(256)
    if rng.random() < 0.3:
        del section[rng.randrange(len(section)) :]
    found = [result(header, chunks) for chunks in ([bytes(section)], cut(rng, bytes(section)))]
    assert found[0] == found[1], f"seed {seed}"


def result(header: BatchHeader, chunks: list[bytes]) -> list[Record] | type[InvalidRecordError]:
    try:
        return list(_records_in(iter(chunks), header))
    except InvalidRecordError as error:
        return type(error)


@pytest.mark.parametrize("codec", [CompressionType.NONE, CompressionType.GZIP, CompressionType.LZ4])
def test_a_large_value_is_held_once(codec: CompressionType) -> None:
    size = 20 << 20
    builder = BatchBuilder(compression=codec)
    builder.append(1, b"k", bytes(size))
    batch = builder.build()
    del builder
    tracemalloc.start()
    try:
        [value_size] = [len(record.value or b"") for record in iterate_records(batch)]
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert value_size == size
    assert most < 1.3 * size
