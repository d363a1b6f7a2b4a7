"""The vectorised decoder has the results of the decoder in `protocol/`, on random, mutated and truncated batches."""

import random
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy
import pytest

from odradek.pipeline.decode.batch_columns import BATCH_COLUMNS
from odradek.pipeline.decode.batch_hop import hop_compiled, hop_in_python
from odradek.pipeline.decode.batch_table import BatchTable, check_crcs
from odradek.pipeline.decode.damage import Damage, DamageKind
from odradek.pipeline.decode.large_batches import DecodeSizes
from odradek.pipeline.decode.records import decode_chunk, walk_chunk
from odradek.pipeline.decode.segment_chunks import read_chunks
from odradek.pipeline.decode.spans import RECORD_COLUMNS
from odradek.protocol.errors import KafkaError
from odradek.protocol.records.batch import BATCH_HEADER_SIZE, MAX_SEQUENCE, RECORDS_COUNT_POSITION, iterate_headers
from odradek.protocol.records.builder import encode_batch
from odradek.protocol.records.compression import CompressionType
from odradek.protocol.records.record import Record, decode_records
from support.data.log_histories import HistoryWriter
from support.data.random_records import random_compression, random_records
from support.each import each

ALL_COLUMNS = (*RECORD_COLUMNS, *BATCH_COLUMNS)


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
@each("seed", range(100))
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


def decode_in_order(chunk: BatchTable, columns: Sequence[str], *, is_compiled: bool) -> tuple[list[Any], list[Damage]]:
    rows: list[Any] = []
    damage = []
    everything = numpy.ones(len(chunk), dtype=bool)
    for item in decode_chunk(chunk, everything, columns=columns, is_compiled=is_compiled):
        if isinstance(item, Damage):
            damage.append(item)
        else:
            assert item.columns.schema.names == list(columns)
            rows += zip(item.batches.tolist(), item.columns.to_pylist(), strict=True)
    return rows, damage


def mutated_log(rng: random.Random) -> bytes:
    """A log with changed bytes of records, or changed numbers of records."""
    log = bytearray(random_log(rng, 8))
    for position, header in list(iterate_headers(log)):
        kind = rng.randrange(4)
        if kind == 0:
            log[position + RECORDS_COUNT_POSITION + 3] = rng.randrange(256)
        for _ in range(kind):
            log[position + rng.randrange(BATCH_HEADER_SIZE, header.size_in_bytes)] = rng.choice(
                (0, 1, 2, 0x7F, 0x80, 0xFF, rng.randrange(256))
            )
    return bytes(log)


def check_that_both_walks_agree(seed: int) -> int:
    """Compares the two walks over a mutated log; returns the number of damaged batches."""
    chunk = BatchTable(mutated_log(random.Random(seed)))
    by_numba = decode_in_order(chunk, ALL_COLUMNS, is_compiled=True)
    by_numpy = decode_in_order(chunk, ALL_COLUMNS, is_compiled=False)
    assert by_numba == by_numpy, f"seed {seed}: check_that_both_walks_agree({seed}) replays it"
    return len(by_numba[1])


def test_numba_and_numpy_find_the_same_rows_and_name_the_same_damage() -> None:
    assert sum(map(check_that_both_walks_agree, range(60))) > 60


@pytest.mark.long
def test_numba_and_numpy_find_the_same_for_long() -> None:
    assert sum(map(check_that_both_walks_agree, range(1000, 21_000))) > 20_000


@pytest.mark.parametrize("is_compiled", [True, False])
@pytest.mark.parametrize("seed", range(5))
def test_batch_columns_say_what_the_headers_say(seed: int, is_compiled: bool, tmp_path: Path) -> None:
    writer = HistoryWriter(random.Random(seed), tmp_path / "t-0", is_rolling=False)
    writer.write(40)
    writer.close()
    log = (tmp_path / "t-0" / "00000000000000000000.log").read_bytes()
    expected = []
    for position, header in iterate_headers(log):
        for record in decode_records(log, header, position):
            is_numbered = header.base_sequence >= 0
            expected.append(
                {
                    "offset": record.offset,
                    "batchBaseOffset": header.base_offset,
                    "batchPosition": position,
                    "partitionLeaderEpoch": header.partition_leader_epoch,
                    "producerId": header.producer_id,
                    "producerEpoch": header.producer_epoch,
                    "sequence": header.base_sequence + record.offset - header.base_offset if is_numbered else -1,
                    "isTransactional": header.is_transactional,
                    "isControl": header.is_control,
                    "compression": header.compression_type.name.lower(),
                }
            )
    rows, damage = decode_in_order(BatchTable(log), ["offset", *BATCH_COLUMNS], is_compiled=is_compiled)
    assert not damage
    assert [row for _, row in rows] == expected
    assert {row["compression"] for row in expected} == {"none", "gzip", "snappy", "lz4", "zstd"}


def test_only_the_columns_asked_for_are_made() -> None:
    chunk = BatchTable(random_log(random.Random(1)))
    everything, _ = decode_in_order(chunk, ALL_COLUMNS, is_compiled=True)
    some, _ = decode_in_order(chunk, ["value", "offset"], is_compiled=True)
    assert some == [(batch, {"value": row["value"], "offset": row["offset"]}) for batch, row in everything]


def test_sequences_go_round_at_the_end_of_31_bits() -> None:
    records = [Record(offset, 1, None, b"v", []) for offset in range(3)]
    log = encode_batch(records, producer_id=1, producer_epoch=0, base_sequence=MAX_SEQUENCE - 1)
    rows, _ = decode_in_order(BatchTable(log), ["sequence"], is_compiled=True)
    assert [row["sequence"] for _, row in rows] == [MAX_SEQUENCE - 1, MAX_SEQUENCE, 0]


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
            decode_all(item, is_compiled=False)
            assert check_crcs(item)[1]


@pytest.mark.parametrize("seed", range(40))
def test_both_ways_to_hop_end_at_the_same_place_for_the_same_reason(seed: int) -> None:
    rng = random.Random(seed)
    data = bytearray(random_log(rng))
    for _ in range(rng.randrange(3)):
        places = [position for position, _ in iterate_headers(random_log(random.Random(seed)))]
        struct.pack_into(">i", data, rng.choice(places) + 8, rng.choice((-1, 0, 48, 49, 500, len(data), 2**31 - 1)))
        data[rng.choice(places) + 16] = rng.choice((0, 1, 2, 3))
    view = memoryview(bytes(data[: rng.randrange(len(data) + 1)]))
    positions, stopped_at, end = hop_in_python(view)
    others, other_stopped_at, other_end = hop_compiled(view)
    assert (positions.tolist(), stopped_at, end) == (others.tolist(), other_stopped_at, other_end)


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


@pytest.mark.parametrize("is_compiled", [True, False])
def test_batches_with_codecs_and_without_in_turn_make_one_batch_of_rows(is_compiled: bool) -> None:
    codecs = [CompressionType.NONE, CompressionType.LZ4, CompressionType.NONE, CompressionType.ZSTD] * 5
    records = [Record(offset, 1, b"key", b"%d" % offset, []) for offset in range(len(codecs))]
    batches = [
        encode_batch([record], base_offset=record.offset, compression=codec)
        for record, codec in zip(records, codecs, strict=True)
    ]
    chunk = BatchTable(b"".join(batches))
    [found] = decode_chunk(chunk, numpy.ones(len(chunk), dtype=bool), is_compiled=is_compiled)
    assert not isinstance(found, Damage)
    assert rows_of(found.columns) == records
    assert found.batches.tolist() == list(range(len(codecs)))
    [walked] = walk_chunk(chunk, numpy.ones(len(chunk), dtype=bool), is_compiled=is_compiled)
    assert not isinstance(walked, Damage)
    sections = [len(encode_batch([record])) - BATCH_HEADER_SIZE for record in records]
    assert walked.unpacked_size == sum(sections[1::2])  # every second batch has a codec


@pytest.mark.parametrize("seed", range(5))
def test_groups_that_share_one_buffer_have_all_records_in_the_logs_order(seed: int) -> None:
    log = random_log(random.Random(seed), 30)
    expected = [record for position, header in iterate_headers(log) for record in decode_records(log, header, position)]
    chunk = BatchTable(log)
    items = list(decode_chunk(chunk, numpy.ones(len(chunk), dtype=bool), sizes=DecodeSizes(group=500)))
    assert len(items) > 3
    assert [record for item in items if not isinstance(item, Damage) for record in rows_of(item.columns)] == expected


def test_decompression_stays_within_its_limit() -> None:
    records = [Record(0, 1, b"key", bytes(1_000_000), [])]
    batch = encode_batch(records, compression=CompressionType.ZSTD)
    chunk = BatchTable(batch)
    items = list(decode_chunk(chunk, numpy.ones(1, dtype=bool), max_decompressed_size=10_000))
    assert [item.kind for item in items if isinstance(item, Damage)] == [DamageKind.TOO_LARGE]
