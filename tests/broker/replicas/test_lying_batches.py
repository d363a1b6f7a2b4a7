"""Batches whose header contradicts their records are refused before they harm a log or its consumers."""

import random
from pathlib import Path

import pytest

from odradek.protocol.errors import ErrorCode
from odradek.protocol.records.batch import BATCH_HEADER_SIZE, MAGIC, read_header
from odradek.protocol.records.builder import encode_batch
from odradek.protocol.records.compression import CompressionType
from odradek.protocol.records.record import Record
from odradek.storage.log.log_config import LogConfig
from support.data.lying_batches import lying_batch

from ..append_path import NOW, AppendPath, batch, only


@pytest.mark.parametrize("kind", list(CompressionType))
async def test_a_few_bytes_never_claim_a_segment_of_offsets(tmp_path: Path, kind: CompressionType) -> None:
    path = AppendPath(tmp_path, LogConfig())
    for count in (2**31 - 1, 20_000_000, 1_000_000):
        answer = only(await path.produce({0: lying_batch(bytes(9), count, kind, timestamp_ms=NOW)}))
        assert answer.error_code == ErrorCode.INVALID_RECORD
    assert path.log().log_end_offset == 0
    assert len(path.log().segments) == 1
    await path.close()


async def test_random_bytes_never_stand_before_good_records(tmp_path: Path) -> None:
    path = AppendPath(tmp_path, LogConfig())
    answer = only(await path.produce({0: lying_batch(random.Random(7).randbytes(100), 5, timestamp_ms=NOW)}))
    assert answer.error_code == ErrorCode.INVALID_RECORD
    assert only(await path.produce({0: batch(count=150)})).base_offset == 0
    await path.close()


@pytest.mark.parametrize("count", [20, 2_000])
async def test_every_record_is_looked_at_if_the_configuration_says_so(tmp_path: Path, count: int) -> None:
    """odradek.produce.check.records: a batch with a valid first record, and a later invalid one."""
    good = encode_batch([Record(index, NOW, b"k", b"v", []) for index in range(count)])
    section = bytearray(good[BATCH_HEADER_SIZE:])
    section[-3:] = b"\xff\xff\xff"
    bad = lying_batch(bytes(section), count, timestamp_ms=NOW)
    assert read_header(bad).magic == MAGIC
    path = AppendPath(tmp_path, LogConfig(check_records=True), partitions=2)
    assert only(await path.produce({0: good})).error_code == ErrorCode.NONE
    assert only(await path.produce({0: bad})).error_code == ErrorCode.INVALID_RECORD
    path.log(1).update_config(LogConfig())
    assert only(await path.produce({1: bad})).error_code == ErrorCode.NONE
    await path.close()
