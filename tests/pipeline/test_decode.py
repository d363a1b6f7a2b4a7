"""The vectorised decoder against the protocol room's, on random, mutated and truncated batches."""

import random
from pathlib import Path
from typing import Any

import numpy
import pytest

from odradek.pipeline.decode.batch_table import BatchTable
from odradek.pipeline.decode.damage import Damage, DamageKind
from odradek.pipeline.decode.records import check_crcs, decode_chunk
from odradek.pipeline.decode.segment_chunks import read_chunks
from odradek.protocol.errors import KafkaError
from odradek.protocol.records.batch import BATCH_HEADER_SIZE, iterate_headers
from odradek.protocol.records.builder import encode_batch
from odradek.protocol.records.compression import CompressionType
from odradek.protocol.records.record import Record, decode_records
from support.random_records import random_compression, random_records


def random_batch(rng: random.Random, base_offset: int) -> tuple[bytes, int]:
    records = random_records(rng, base_offset=base_offset, gaps=rng.random() < 0.3)
    batch = encode_batch(
        records,
        base_offset=base_offset,
        compression=random_compression(rng),
        log_append_time_ms=rng.choice((None, None, 1_700_000_000_000)),
    )
    return batch, records[-1].offset + 1


def random_log(rng: random.Random, batches: int = 12) -> bytes:
    parts = []
    offset = rng.choice((0, 5_000_000_000))
    for _ in range(batches):
        batch, offset = random_batch(rng, offset)
        parts.append(batch)
    return b"".join(parts)


def rows_of(columns: Any) -> list[Record]:
    return [
        Record(
            row["offset"],
            row["timestamp"],
            row["key"],
            row["value"],
            [(header["key"], header["value"]) for header in row["headers"] or []],
        )
        for row in columns.to_pylist()
    ]


def decode_all(chunk: BatchTable, *, is_compiled: bool) -> tuple[dict[int, list[Record]], set[int]]:
    """Records by the position of their batch, and the positions of batches that are damaged."""
    found: dict[int, list[Record]] = {}
    damaged = set()
    for item in decode_chunk(chunk, numpy.ones(len(chunk), dtype=bool), is_compiled=is_compiled):
        if isinstance(item, Damage):
            damaged.add(item.position)
            continue
        for batch, record in zip(item.batches.tolist(), rows_of(item.columns), strict=True):
            found.setdefault(int(chunk.positions[batch]), []).append(record)
    return found, damaged


@pytest.mark.parametrize("is_compiled", [True, False])
@pytest.mark.parametrize("seed", range(15))
def test_records_equal_the_protocols(seed: int, is_compiled: bool) -> None:
    log = random_log(random.Random(seed))
    found, damaged = decode_all(BatchTable(log), is_compiled=is_compiled)
    expected = {position: decode_records(log, header, position) for position, header in iterate_headers(log)}
    assert found == expected
    assert not damaged


@pytest.mark.parametrize("is_compiled", [True, False])
@pytest.mark.parametrize("seed", range(100))
def test_malformed_records_are_refused_alike(seed: int, is_compiled: bool) -> None:
    rng = random.Random(seed)
    log = bytearray(random_log(rng, 3))
    headers = list(iterate_headers(log))
    for position, header in headers:
        for _ in range(rng.choice((0, 1, 2))):
            log[position + rng.randrange(BATCH_HEADER_SIZE, header.size_in_bytes)] = rng.randrange(256)
    expected = {}
    refused = set()
    for position, header in headers:
        try:
            expected[position] = decode_records(log, header, position)
        except KafkaError:
            refused.add(position)
    found, damaged = decode_all(BatchTable(bytes(log)), is_compiled=is_compiled)
    assert (found, damaged) == (expected, refused)


@pytest.mark.parametrize("seed", range(20))
def test_random_bytes_are_damage_and_nothing_else(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    data = bytearray(rng.randbytes(rng.randrange(3000)))
    if len(data) > 20:
        data[16] = 2
        data[8:12] = rng.randrange(3000).to_bytes(4, "big")
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(data)
    for item in read_chunks(path, chunk_bytes=256):
        if isinstance(item, BatchTable):
            decode_all(item, is_compiled=True)
            assert check_crcs(item)[1]


@pytest.mark.parametrize("chunk_bytes", [1, 100, 4096, 1 << 20])
def test_chunks_hold_every_batch_once(tmp_path: Path, chunk_bytes: int) -> None:
    log = random_log(random.Random(7), 30)
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(log)
    positions: list[int] = []
    for chunk in read_chunks(path, chunk_bytes=chunk_bytes):
        assert isinstance(chunk, BatchTable)
        positions += (chunk.positions + chunk.file_position).tolist()
    assert positions == [position for position, _ in iterate_headers(log)]


def test_damage_names_its_place_and_reading_goes_on(tmp_path: Path) -> None:
    rng = random.Random(3)
    log = bytearray(random_log(rng, 10))
    headers = list(iterate_headers(log))
    flipped, _ = headers[2]
    log[flipped + 30] ^= 1
    lost, header = headers[5]
    log[lost + 8 : lost + 12] = (1 << 30).to_bytes(4, "big")
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(log)
    damage: list[Damage] = []
    whole = 0
    for item in read_chunks(path, batch_positions=[headers[4][0], headers[8][0]]):
        if isinstance(item, Damage):
            damage.append(item)
        else:
            matches, found = check_crcs(item)
            whole += int(matches.sum())
            damage += found
    assert [(d.kind, d.position, d.size) for d in damage] == [
        (DamageKind.CRC, flipped, headers[2][1].size_in_bytes),
        (DamageKind.INCOMPLETE, lost, headers[8][0] - lost),
    ]
    assert damage[1].base_offset == header.base_offset
    assert whole == 10 - 1 - 3


def test_decompression_stays_within_its_limit() -> None:
    records = [Record(0, 1, b"key", bytes(1_000_000), [])]
    batch = encode_batch(records, compression=CompressionType.ZSTD)
    chunk = BatchTable(batch)
    items = list(decode_chunk(chunk, numpy.ones(1, dtype=bool), max_decompressed_size=10_000))
    assert [item.kind for item in items if isinstance(item, Damage)] == [DamageKind.RECORDS]
