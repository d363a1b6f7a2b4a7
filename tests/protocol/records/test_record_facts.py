"""A walk over records without decoding has the facts and refusals of decoding, in bounded memory."""

import random
import tracemalloc
from collections import deque

import pytest

from odradek.protocol.errors import KafkaError
from odradek.protocol.records.batch import BASE_TIMESTAMP_POSITION, BATCH_HEADER_SIZE, INT64, read_header
from odradek.protocol.records.builder import BatchBuilder, encode_batch
from odradek.protocol.records.compression import CompressionType
from odradek.protocol.records.errors import InvalidRecordError
from odradek.protocol.records.record import Record, decode_records
from odradek.protocol.records.record_facts import facts_in, iterate_facts
from odradek.protocol.records.varint import MAX_INT64
from support.each import each


def random_batch(rng: random.Random) -> bytes:
    """Records of all shapes: nulls, headers, values of several chunks, falling timestamps."""
    records = []
    for offset in range(rng.randint(1, 40)):
        key = None if rng.random() < 0.3 else rng.randbytes(rng.choice((0, 1, 70, 9_000)))
        value = None if rng.random() < 0.2 else rng.randbytes(rng.choice((0, 1, 63, 64, 200)))
        headers = [
            ("h" * rng.choice((0, 1, 90)), rng.choice((None, b"", b"v" * 300))) for _ in range(rng.choice((0, 0, 1, 3)))
        ]
        records.append(Record(offset, 10**12 + rng.randint(-(10**9), 10**9), key, value, headers))
    return encode_batch(records, compression=rng.choice(list(CompressionType)))


def facts_by_decoding(batch: bytes) -> list[tuple[int, int, bool]]:
    return [(record.offset, record.timestamp, record.key is not None) for record in decode_records(batch)]


def check_one_life(seed: int) -> None:
    """A random batch, intact and damaged: the walk finds the same as decoding, for any chunks."""
    rng = random.Random(seed)
    batch = random_batch(rng)
    assert list(iterate_facts(batch, read_header(batch))) == facts_by_decoding(batch)
    plain = encode_batch(decode_records(batch))
    for round_number in range(6):
        damaged = bytearray(plain)
        if round_number:
            damaged[rng.randrange(BATCH_HEADER_SIZE, len(damaged))] = rng.randrange(256)
        header = read_header(damaged)
        section = bytes(damaged[BATCH_HEADER_SIZE:])
        chunks = []
        while section:
            size = rng.choice((0, 1, 2, 7, 100, 10_000))
            chunks.append(section[:size])
            section = section[size:]
        try:
            expected = facts_by_decoding(bytes(damaged))
        except InvalidRecordError:
            with pytest.raises(InvalidRecordError):
                list(facts_in(chunks, header))
        else:
            assert list(facts_in(chunks, header)) == expected


@each("seed", range(150))
def test_walking_finds_what_decoding_finds(seed: int) -> None:
    try:
        check_one_life(seed)
    except AssertionError as difference:
        difference.add_note(f"replay: check_one_life({seed})")
        raise


@pytest.mark.parametrize(
    "compression",
    [
        CompressionType.LZ4,
        *(pytest.param(one, marks=pytest.mark.ci) for one in (CompressionType.GZIP, CompressionType.SNAPPY)),
    ],
)
def test_a_batch_that_is_large_only_when_decompressed_costs_two_chunks(compression: CompressionType) -> None:
    builder = BatchBuilder(compression=compression)
    for _ in range(50_000):
        builder.append(10**12, None, None)
    builder.append(10**12, b"k", bytes(20_000_000))
    batch = builder.build()
    header = read_header(batch)
    assert sum(1 for _ in iterate_facts(batch, header)) == 50_001  # imports the codecs
    tracemalloc.start()
    try:
        [last] = deque(iterate_facts(batch, header), maxlen=1)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert last == (50_000, 10**12, True)
    assert peak < 1_000_000


def test_more_bytes_than_records_are_refused() -> None:
    batch = encode_batch([Record(0, 1, None, b"v", [])])
    header = read_header(batch)
    section = batch[BATCH_HEADER_SIZE:]
    for chunks in ([section, b"x"], [section + b"x"], [section, b"", b"x" * 9]):
        with pytest.raises(KafkaError, match="remain after"):
            list(facts_in(chunks, header))


@pytest.mark.parametrize("base", [MAX_INT64, MAX_INT64 - 63, MAX_INT64 - 64, -MAX_INT64 - 1, -MAX_INT64 + 60])
def test_timestamps_wrap_at_the_limits_of_64_bits(base: int) -> None:
    """Java adds the delta to the base timestamp in 64 bits."""
    deltas = [0, 0, 1, -1, 63, -64, 64, 1 << 40, -(1 << 40)]
    data = bytearray(encode_batch([Record(i, (1 << 41) + delta, b"k", b"v", []) for i, delta in enumerate(deltas)]))
    INT64.pack_into(data, BASE_TIMESTAMP_POSITION, base)
    header = read_header(data)
    expected = [(base + delta + (1 << 63)) % (1 << 64) - (1 << 63) for delta in deltas]
    assert [record.timestamp for record in decode_records(data, header)] == expected
    assert [timestamp for _, timestamp, _ in iterate_facts(data, header)] == expected
