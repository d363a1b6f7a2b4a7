"""`odradek.fetch.check.crcs`: a damaged partition gets CORRUPT_MESSAGE and is logged once; others are served."""

import logging
from pathlib import Path

import pytest

from odradek.broker.fetch.partition_read import FetchLimits
from odradek.broker.fetch.read import read_partitions
from odradek.broker.fetch.session import SessionPartition
from odradek.protocol.common.steps import run_to_end
from odradek.protocol.errors import ErrorCode
from odradek.protocol.records.builder import encode_batch
from odradek.protocol.records.record import Record
from odradek.storage.log.log_config import LogConfig

from ..append_path import NOW, TOPIC, AppendPath


def batch(value: bytes) -> bytes:
    return encode_batch([Record(0, NOW, b"k", value, [])])


@pytest.mark.parametrize("check_crcs", [True, False])
async def test_damage_is_answered_and_named_once(
    tmp_path: Path, check_crcs: bool, caplog: pytest.LogCaptureFixture
) -> None:
    path = AppendPath(tmp_path, LogConfig(), partitions=2)
    for index in range(2):
        for value in (b"a" * 100, b"b" * 100):
            path.log(index).appender.append_as_leader(batch(value), 0, NOW)
    [file] = (tmp_path / f"{TOPIC}-0").glob("*.log")
    data = bytearray(file.read_bytes())
    data[100] ^= 1
    file.write_bytes(data)
    limits = FetchLimits(max_bytes=1 << 20, isolation_level=0, follower=None, check_crcs=check_crcs)
    wanted = [SessionPartition(bytes(16), TOPIC, index, 0, 1 << 20, -1, -1) for index in range(2)]
    caplog.set_level(logging.ERROR)
    for _ in range(3):
        damaged, whole = run_to_end(read_partitions(path.partitions, wanted, limits)).reads
        expected = ErrorCode.CORRUPT_MESSAGE if check_crcs else ErrorCode.NONE
        assert (damaged.data.error_code, whole.data.error_code) == (expected, ErrorCode.NONE)
        assert whole.records_bytes == len(data)
    named = [record.getMessage() for record in caplog.records]
    assert len(named) == check_crcs
    for message in named:
        assert f"{file.name}, position 0: " in message
        assert "stored crc" in message
