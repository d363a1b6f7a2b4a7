"""Fetch 0 to 3 return batches as messages of the old formats, without control batches, within limits."""

import asyncio
from pathlib import Path

import pytest

from odradek.broker.fetch.conversion import CONVERTED_AT_ONCE_BYTES, ConvertedRead
from odradek.broker.fetch.partition_read import FetchLimits, PartitionRead
from odradek.broker.fetch.read import FetchRead
from odradek.broker.fetch.session import SessionPartition
from odradek.broker.replicas.group_commit import GroupCommit
from odradek.broker.replicas.partition import Partition
from odradek.broker.replicas.partitions import ZERO_UUID, Partitions
from odradek.broker.replicas.record_work import RecordWork
from odradek.broker.replicas.writer_threads import WriterThreads
from odradek.broker.timers.loop_timers import LoopTimers
from odradek.protocol.common.steps import run_to_end
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.records.batch import iterate_headers
from odradek.protocol.records.builder import encode_batch
from odradek.protocol.records.compression import CompressionType
from odradek.protocol.records.control import ControlRecordType, EndTransactionMarker, encode_end_transaction_batch
from odradek.protocol.records.down_conversion import down_convert
from odradek.protocol.records.record import Record, decode_records
from odradek.storage.log.log import AppendOrigin, Log
from odradek.storage.log.log_config import LogConfig
from support.data.legacy_messages import LEGACY_CODECS, as_read, messages

NOW = 1_700_000_000_000


def open_log(path: Path, compression_type: str = "producer") -> Log:
    return Log.open(path / "t-0", LogConfig(compression_type=compression_type), now_ms=NOW)


def append(log: Log, value: bytes, compression: CompressionType = CompressionType.NONE) -> bytes:
    """Appends one record; returns the stored batch."""
    batch = encode_batch([Record(0, NOW, None, value, [])], compression=compression)
    offset = log.appender.append_as_leader(batch, 0, NOW).first_offset
    return encode_batch([Record(offset, NOW, None, value, [])], base_offset=offset, compression=compression)


def append_transaction(log: Log, markers: int) -> None:
    """Appends a transactional record and its marker, then markers of transactions without records."""
    batch = encode_batch(
        [Record(0, NOW, None, b"t", [])], producer_id=7, producer_epoch=0, base_sequence=0, is_transactional=True
    )
    log.appender.append_as_leader(batch, 0, NOW)
    for _ in range(markers):
        marker = EndTransactionMarker(ControlRecordType.ABORT, 0)
        batch = encode_end_transaction_batch(marker, timestamp=NOW, producer_id=7, producer_epoch=0)
        log.appender.append_as_leader(batch, 0, NOW, origin=AppendOrigin.COORDINATOR)


async def read_all(log: Log, offsets: list[int], max_bytes: int, magic: int) -> list[PartitionRead]:
    """Runs one read pass over several partitions with the same log."""
    partitions = Partitions()
    for index in range(len(offsets)):
        commit = GroupCommit([], LoopTimers(asyncio.get_running_loop()), lambda: NOW)
        partitions.add(Partition("t", b"t" * 16, index, 0, lambda: log, commit, WriterThreads()))
    wanted = [
        SessionPartition(ZERO_UUID, "t", index, offset, max_bytes, -1, -1) for index, offset in enumerate(offsets)
    ]
    limits = FetchLimits(max_bytes, 0, follower=None, max_partition_bytes=CONVERTED_AT_ONCE_BYTES)
    done: asyncio.Future[FetchRead] = asyncio.get_running_loop().create_future()
    ConvertedRead(partitions, wanted, limits, magic, RecordWork(), 1, lambda: True, done.set_result).begin()
    return (await done).reads


def read(log: Log, offset: int, max_bytes: int = 10_000, magic: int = 1) -> bytes:
    [one] = asyncio.run(read_all(log, [offset], max_bytes, magic))
    if one.data.error_code:
        raise KafkaError(ErrorCode(one.data.error_code))
    records = one.data.records
    assert isinstance(records, bytes)
    return records


def test_a_reader_before_control_batches_gets_what_is_behind_them(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    append_transaction(log, markers=3)
    behind = append(log, b"behind")
    for offset in (1, 2, 3, 4):
        for max_bytes in (1, 100, 10_000):
            assert read(log, offset, max_bytes) == run_to_end(down_convert(behind, 1, offset, 10_000)).data


def test_only_control_batches_are_nothing_to_read(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    append_transaction(log, markers=2)
    assert read(log, 1) == b""
    assert read(log, 3) == b""


def test_the_limits(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    stored = [append(log, bytes(100)) for _ in range(3)]
    one = len(run_to_end(down_convert(stored[0], 0, 0, 1)).data)
    assert len(read(log, 0, 1, magic=0)) == one
    assert len(read(log, 0, 2 * len(stored[0]), magic=0)) == 2 * one
    first, second = asyncio.run(read_all(log, [0, 0], 1, 0))
    assert (first.records_bytes, second.records_bytes) == (one, 0)


def test_what_is_converted_at_once_is_bounded(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    for _ in range(4):
        append(log, bytes(CONVERTED_AT_ONCE_BYTES * 2 // 5))
    assert len(read(log, 0, 1 << 30)) < CONVERTED_AT_ONCE_BYTES


@pytest.mark.parametrize("codec", LEGACY_CODECS)
@pytest.mark.parametrize("stored", [0, 1])
@pytest.mark.parametrize("wanted", [0, 1])
def test_stored_messages_stay_as_they_are_unless_they_are_newer(
    tmp_path: Path, stored: int, wanted: int, codec: CompressionType
) -> None:
    """``RecordsUtil.downConvert``: only a batch of a later format than the client knows is converted."""
    records = [Record(number, NOW + number, b"k", b"value %d" % number, []) for number in range(5)]
    data = messages(stored, records, codec)
    log = open_log(tmp_path)
    log.appender.append_as_follower(data, NOW)
    found = read(log, 0, magic=wanted)
    if stored <= wanted:
        assert found == data
    assert [record for at, header in iterate_headers(found) for record in decode_records(found, header, at)] == as_read(
        min(stored, wanted), records
    )


def test_zstd_is_refused_by_the_topic_s_config_and_by_the_batch(tmp_path: Path) -> None:
    by_config = open_log(tmp_path / "a", compression_type="zstd")
    append(by_config, b"x", CompressionType.ZSTD)
    by_batch = open_log(tmp_path / "b")
    append(by_batch, b"x", CompressionType.ZSTD)
    for log in (by_config, by_batch):
        with pytest.raises(KafkaError) as refused:
            read(log, 0)
        assert refused.value.error_code == ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
