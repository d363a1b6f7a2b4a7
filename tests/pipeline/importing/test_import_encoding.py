"""The encoder of imported rows equals that of `protocol/` byte by byte, and keys go to the partitions of the client's
partitioner."""

import random
from typing import Any

import pyarrow as pa
import pytest

from odradek.pipeline.importing.batches import encode_rows
from odradek.pipeline.importing.partitioning import partitions_of
from odradek.pipeline.importing.row_buffers import ROW_SCHEMA
from odradek.protocol.java.murmur2 import partition_for_key
from odradek.protocol.records.batch import iterate_headers
from odradek.protocol.records.compression import CompressionType
from odradek.protocol.records.record import decode_records
from support.data.random_records import random_bytes, random_compression, random_records


def random_rows(rng: random.Random) -> Any:
    """Rows of one partition with gaps, both timestamp types, null and empty keys, values and headers."""
    records = random_records(
        rng, base_offset=rng.choice((0, 5_000_000_000)), gaps=rng.random() < 0.5, count=rng.choice((1, 7, 300))
    )
    usual_type = rng.randrange(2)
    rows = [
        {
            "offset": record.offset,
            "timestamp": record.timestamp,
            "timestampType": rng.randrange(2) if rng.random() < 0.1 else usual_type,
            "key": record.key,
            "value": record.value,
            "headers": [{"key": key, "value": value} for key, value in record.headers] or rng.choice((None, [])),
        }
        for record in records
    ]
    batch = pa.RecordBatch.from_pylist(rows, ROW_SCHEMA)
    return batch.slice(len(rows) // 3) if rng.random() < 0.5 else batch  # the buffers of a slice have an offset


@pytest.mark.parametrize("seed", range(40))
def test_bytes_equal_the_protocols_encoder(seed: int) -> None:
    rng = random.Random(seed)
    rows, codec, batch_bytes = random_rows(rng), random_compression(rng), rng.choice((200, 1000, 16_384))
    compiled = list(encode_rows(rows, codec, batch_bytes, is_compiled=True))
    built = list(encode_rows(rows, codec, batch_bytes, is_compiled=False))
    assert compiled == built, f"seed {seed}"


@pytest.mark.parametrize("seed", range(10))
def test_rows_come_back(seed: int) -> None:
    rng = random.Random(1000 + seed)
    rows = random_rows(rng)
    log = b"".join(encode_rows(rows, random_compression(rng), 2000))
    found = [
        (record.offset, record.timestamp, int(header.is_log_append_time), record.key, record.value, record.headers)
        for position, header in iterate_headers(log)
        for record in decode_records(log, header, position)
    ]
    expected = [
        (
            row["offset"],
            row["timestamp"],
            row["timestampType"],
            row["key"],
            row["value"],
            [(header["key"], header["value"]) for header in row["headers"] or []],
        )
        for row in rows.to_pylist()
    ]
    assert found == expected


@pytest.mark.parametrize("is_compiled", [True, False])
def test_a_batch_is_no_larger_than_asked_unless_one_record_is(is_compiled: bool) -> None:
    values = [b"v" * size for size in (10, 500, 90, 90, 90)]
    rows = pa.RecordBatch.from_pylist(
        [
            {"offset": offset, "timestamp": 5, "timestampType": 0, "key": None, "value": value, "headers": None}
            for offset, value in enumerate(values)
        ],
        ROW_SCHEMA,
    )
    batches = list(encode_rows(rows, CompressionType.NONE, 270, is_compiled=is_compiled))
    assert [len(batch) for batch in batches] == [61 + 17, 61 + 509, 61 + 2 * 99, 61 + 99]


@pytest.mark.parametrize("is_compiled", [True, False])
def test_offsets_too_far_apart_are_in_batches_of_their_own(is_compiled: bool) -> None:
    rows = pa.RecordBatch.from_pylist(
        [
            {"offset": offset, "timestamp": 5, "timestampType": 0, "key": b"k", "value": None, "headers": None}
            for offset in (0, 0x7FFFFFFF, 0x80000000)
        ],
        ROW_SCHEMA,
    )
    log = b"".join(encode_rows(rows, CompressionType.NONE, 16_384, is_compiled=is_compiled))
    assert [(header.base_offset, header.last_offset) for _, header in iterate_headers(log)] == [
        (0, 0x7FFFFFFF),
        (0x80000000, 0x80000000),
    ]


def test_a_time_before_1970_is_refused() -> None:
    row = {"offset": 0, "timestamp": -2, "timestampType": 0, "key": None, "value": b"", "headers": None}
    with pytest.raises(ValueError, match="below -1"):
        list(encode_rows(pa.RecordBatch.from_pylist([row], ROW_SCHEMA), CompressionType.NONE, 1024))


def test_keys_go_where_javas_producer_sends_them() -> None:
    rng = random.Random(7)
    keys = [random_bytes(rng) or b"" for _ in range(500)]
    found = partitions_of(pa.array(keys, pa.binary()), 13).tolist()
    assert found == [partition_for_key(key, 13) for key in keys]


def test_rows_without_a_key_are_spread_in_turn() -> None:
    assert partitions_of(pa.nulls(5, pa.binary()), 3, first_row=1).tolist() == [1, 2, 0, 1, 2]
