"""Reads, times, truncation, retention and the rules of an append, case by case."""

from pathlib import Path
from typing import Any

import pytest

from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.records.batch import read_header
from odradek.protocol.records.builder import encode_batch
from odradek.protocol.records.compression import CompressionType
from odradek.protocol.records.record import Record
from odradek.storage.errors import RecordValidationError
from odradek.storage.log.log import FileRegion, Log
from odradek.storage.log.log_config import LogConfig
from odradek.storage.log.read_result import TimestampAndOffset
from support.data.log_model import records_of
from support.data.timestamp_searches import max_timestamp, offset_for_timestamp

NOW = 1_700_000_000_000


def batch(*timestamps: int, key: bytes | None = b"k", size: int = 1, **fields: Any) -> bytes:
    return encode_batch([Record(i, t, key, b"v" * size, []) for i, t in enumerate(timestamps)], **fields)


def open_log(path: Path, **config: Any) -> Log:
    return Log.open(path / "t-0", LogConfig(**config), now_ms=NOW)


def code_of(log: Log, buffer: bytes, **arguments: Any) -> ErrorCode:
    with pytest.raises(KafkaError) as refused:
        log.appender.append_as_leader(buffer, 0, NOW, **arguments)
    assert log.log_end_offset == 0
    return refused.value.error_code


def test_what_is_refused_and_how(tmp_path: Path) -> None:
    log = open_log(tmp_path, max_message_bytes=200, segment_bytes=1000, message_timestamp_before_max_ms=1000)
    good = batch(NOW)
    flipped = good[:-1] + bytes([good[-1] ^ 1])
    assert code_of(log, flipped) is ErrorCode.CORRUPT_MESSAGE
    assert code_of(log, good[:-1]) is ErrorCode.CORRUPT_MESSAGE
    assert code_of(log, good[:16] + b"\1" + good[17:]) is ErrorCode.INVALID_RECORD
    assert code_of(log, batch(NOW, size=300)) is ErrorCode.MESSAGE_TOO_LARGE
    assert code_of(log, good + good) is ErrorCode.INVALID_RECORD
    assert code_of(log, encode_batch([Record(5, NOW, None, b"", [])], base_offset=5)) is ErrorCode.INVALID_RECORD
    assert code_of(log, batch(NOW, is_control=True)) is ErrorCode.INVALID_RECORD
    assert code_of(log, batch(NOW - 1001)) is ErrorCode.INVALID_TIMESTAMP
    assert code_of(log, batch(NOW, NOW + 3_600_001)) is ErrorCode.INVALID_TIMESTAMP
    log.update_config(LogConfig(segment_bytes=50))
    assert code_of(log, good) is ErrorCode.RECORD_LIST_TOO_LARGE


def test_a_compacted_log_needs_keys_and_says_which_records_lack_them(tmp_path: Path) -> None:
    log = open_log(tmp_path, cleanup_policy=frozenset({"compact"}))
    records = [Record(i, NOW, key, b"v", []) for i, key in enumerate([b"k", None, b"", None])]
    with pytest.raises(RecordValidationError) as refused:
        log.appender.append_as_leader(encode_batch(records, compression=CompressionType.ZSTD), 0, NOW)
    assert refused.value.error_code is ErrorCode.INVALID_RECORD
    assert [index for index, _ in refused.value.record_errors] == [1, 3]
    assert log.appender.append_as_leader(batch(NOW), 0, NOW).first_offset == 0


def test_log_append_time(tmp_path: Path) -> None:
    log = open_log(tmp_path, message_timestamp_type="LogAppendTime")
    info = log.appender.append_as_leader(batch(1, 2, 3, compression=CompressionType.LZ4), 7, NOW)
    assert (info.log_append_time, info.max_timestamp) == (NOW, NOW)
    log.appender.append_as_leader(batch(1), 7, NOW + 5)
    assert [r.timestamp for r in records_of(log.read(0, 10_000).data)] == [NOW] * 3 + [NOW + 5]
    assert offset_for_timestamp(log, NOW + 1) == (NOW + 5, 3, 7)
    assert max_timestamp(log) == (NOW + 5, 3, 7)
    log.abort()
    assert Log.open(tmp_path / "t-0", LogConfig(), now_ms=NOW).log_end_offset == 4, "the CRC is right"


@pytest.mark.parametrize("target", ["uncompressed", "gzip", "snappy", "lz4", "zstd"])
@pytest.mark.parametrize("source", list(CompressionType))
def test_a_topic_with_its_own_compression(tmp_path: Path, source: CompressionType, target: str) -> None:
    log = open_log(tmp_path, compression_type=target)
    log.appender.append_as_leader(batch(NOW, size=10), 0, NOW)
    fields: dict[str, Any] = {"producer_id": 9, "producer_epoch": 1, "base_sequence": 0}
    buffer = batch(NOW, NOW + 1, size=500, compression=source, **fields)
    info = log.appender.append_as_leader(buffer, 3, NOW)
    assert (info.first_offset, info.last_offset, info.max_timestamp) == (1, 2, NOW + 1)
    stored = log.read(1, 10_000).data
    assert isinstance(stored, bytes)
    header = read_header(stored)
    expected = CompressionType.NONE if target == "uncompressed" else CompressionType[target.upper()]
    assert header.compression_type is expected
    assert (header.base_offset, header.partition_leader_epoch, header.producer_id) == (1, 3, 9)
    assert [(r.offset, r.timestamp, r.value) for r in records_of(stored)] == [
        (1, NOW, b"v" * 500),
        (2, NOW + 1, b"v" * 500),
    ]
    assert log.appender.append_as_leader(buffer, 3, NOW).duplicate


def test_times_are_the_records_own(tmp_path: Path) -> None:
    """Other brokers returned the timestamp or start of the batch, or an offset although no record was that late."""
    log = open_log(tmp_path, index_interval_bytes=1)
    log.appender.append_as_leader(batch(NOW, NOW + 50, NOW + 20), 0, NOW)
    log.appender.append_as_leader(batch(NOW + 10, NOW + 5, compression=CompressionType.GZIP), 0, NOW)
    log.appender.append_as_leader(batch(NOW + 40, NOW + 50, NOW + 60), 0, NOW)
    assert offset_for_timestamp(log, 0) == (NOW, 0, 0)
    assert offset_for_timestamp(log, NOW + 1) == (NOW + 50, 1, 0)
    assert offset_for_timestamp(log, NOW + 50) == (NOW + 50, 1, 0)
    assert offset_for_timestamp(log, NOW + 51) == (NOW + 60, 7, 0)
    assert offset_for_timestamp(log, NOW + 60) == (NOW + 60, 7, 0)
    assert offset_for_timestamp(log, NOW + 61) is None
    assert max_timestamp(log) == (NOW + 60, 7, 0)
    log.offsets.increment_log_start_offset(2)
    assert offset_for_timestamp(log, 0) == (NOW + 20, 2, 0)
    log.offsets.increment_log_start_offset(8)
    assert offset_for_timestamp(log, 0) is None


def test_an_empty_log_has_no_times(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    assert offset_for_timestamp(log, 0) is None
    assert max_timestamp(log) is None
    log.appender.append_as_leader(batch(-1), 0, NOW)
    assert max_timestamp(log) == TimestampAndOffset(-1, 0, 0), "as in Kafka, once there are records"


def test_large_reads_are_regions_that_outlive_their_segment(tmp_path: Path) -> None:
    log = open_log(tmp_path, segment_bytes=200_000, retention_bytes=0, file_delete_delay_ms=0)
    for _ in range(3):
        log.appender.append_as_leader(batch(NOW, size=150_000), 0, NOW)
    small = log.read(0, 10, min_one_batch=False)
    assert small.data == b""
    region = log.read(0, 10).data
    assert isinstance(region, FileRegion)
    assert len(region) > 150_000
    log.delete_old_segments(NOW)
    log.remove_deleted_files(NOW)
    log.close()
    fd = region.fd
    [record] = records_of(region)
    assert record.value == b"v" * 150_000
    with pytest.raises(OSError, match="Bad file descriptor"):
        __import__("os").fstat(fd)


def test_reads_stop_at_the_bound_and_skip_gaps(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    for first, epoch in ((0, 0), (10, 0), (20, 4)):
        records = [Record(first + i, NOW, b"k", b"v", []) for i in range(3)]
        log.appender.append_as_follower(encode_batch(records, base_offset=first, partition_leader_epoch=epoch), NOW)
    assert log.log_end_offset == 23
    offsets = [r.offset for r in records_of(log.read(5, 10_000, upper_bound_offset=20).data)]
    assert offsets == [10, 11, 12]
    assert log.leader_epochs.entries == [(0, 0), (4, 20)]
    assert [log.offsets.epoch_end_offset(epoch) for epoch in (0, 2, 4)] == [(0, 20), (0, 20), (4, 23)]
    assert [log.offsets.epoch_end_offset(epoch) for epoch in (5, -1)] == [None, None]
    assert (log.offsets.epoch_of(19), log.offsets.epoch_of(20)) == (0, 4)
    for offset in (-1, 24):
        with pytest.raises(KafkaError, match="OFFSET_OUT_OF_RANGE"):
            log.read(offset, 100)
    assert log.read(23, 100).data == b""


def test_a_follower_takes_all_or_nothing(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    first = encode_batch([Record(0, NOW, b"k", b"v", [])], partition_leader_epoch=1)
    second = encode_batch([Record(1, NOW, b"k", b"v", [])], base_offset=1, partition_leader_epoch=1)
    for bad in (first + second[:-1] + b"\xff", second + first, b""):
        with pytest.raises(KafkaError):
            log.appender.append_as_follower(bad, NOW)
        assert (log.log_end_offset, log.segments.size_in_bytes) == (0, 0)
    info = log.appender.append_as_follower(first + second, NOW)
    assert (info.first_offset, info.last_offset) == (0, 1)
    with pytest.raises(KafkaError):
        log.appender.append_as_follower(second, NOW)
    same = log.appender.append_as_follower(
        encode_batch([Record(2, NOW, b"k", b"v", [])], base_offset=2, partition_leader_epoch=2), NOW
    )
    assert (same.first_offset, log.offsets.latest_epoch) == (2, 2)


def test_segments_roll_by_time_of_records_size_and_offsets(tmp_path: Path) -> None:
    log = open_log(tmp_path, segment_ms=1000, segment_bytes=10_000)
    log.appender.append_as_leader(batch(NOW), 0, NOW)
    log.appender.append_as_leader(batch(NOW + 1000), 0, NOW)
    assert log.segments.base_offsets == [0]
    log.appender.append_as_leader(batch(NOW + 1001), 0, NOW)
    assert log.segments.base_offsets == [0, 2]
    far = encode_batch([Record(1 << 33, NOW + 1001, b"k", b"v", [])], base_offset=1 << 33)
    log.appender.append_as_follower(far, NOW)
    assert log.segments.base_offsets == [0, 2, 1 << 33]
    log.close()
    assert Log.open(tmp_path / "t-0", LogConfig(), now_ms=NOW, clean_shutdown=True).log_end_offset == (1 << 33) + 1


def test_segments_roll_when_an_index_is_full(tmp_path: Path) -> None:
    log = open_log(tmp_path, index_interval_bytes=1, segment_index_bytes=80)
    for number in range(30):
        log.appender.append_as_leader(batch(NOW + number), 0, NOW)
    assert len(log.segments) > 2
    assert all(len(segment.indexes.offset) <= 10 for segment in log.segments)


def test_retention_by_time_size_and_start(tmp_path: Path) -> None:
    log = open_log(tmp_path, segment_bytes=150, retention_ms=1000)
    for number in range(6):
        log.appender.append_as_leader(batch(NOW + number * 100, size=50), 0, NOW)
    assert log.segments.base_offsets == [0, 1, 2, 3, 4, 5]
    assert log.delete_old_segments(NOW + 1150) == 2
    assert (log.log_start_offset, log.segments.first.base_offset) == (2, 2)
    log.update_config(LogConfig(retention_bytes=2 * log.segments.first.size, retention_ms=-1))
    assert log.delete_old_segments(NOW) == 2
    log.update_config(LogConfig(cleanup_policy=frozenset({"compact"}), retention_ms=0))
    log.offsets.increment_log_start_offset(5)
    assert log.delete_old_segments(NOW) == 1, "below the start, whatever the policy"
    assert log.delete_old_segments(NOW) == 0
    log.update_config(LogConfig(retention_ms=0))
    assert log.delete_old_segments(NOW + 10_000) == 1
    assert (log.log_start_offset, log.log_end_offset) == (6, 6), "the offsets go on"
    assert log.appender.append_as_leader(batch(NOW), 0, NOW).first_offset == 6


def test_nothing_above_the_high_watermark_is_removed(tmp_path: Path) -> None:
    log = open_log(tmp_path, segment_bytes=150, retention_ms=0)
    for _ in range(4):
        log.appender.append_as_leader(batch(NOW, size=50), 0, NOW)
    log.offsets.set_high_watermark(2)
    assert log.delete_old_segments(NOW + 10) == 2
    with pytest.raises(KafkaError, match="OFFSET_OUT_OF_RANGE"):
        log.offsets.increment_log_start_offset(3)
    assert log.read(2, 1000, upper_bound_offset=log.high_watermark).data == b""


def test_flush_messages_keeps_what_is_not_synced_from_consumers(tmp_path: Path) -> None:
    log = open_log(tmp_path, flush_messages=2)
    log.appender.append_as_leader(batch(NOW), 0, NOW)
    assert (log.log_end_offset, log.high_watermark) == (1, 1)
    log.appender.append_as_leader(batch(NOW), 0, NOW)
    assert (log.log_end_offset, log.high_watermark, log.last_stable_offset) == (2, 1, 1)
    log.appender.append_as_leader(batch(NOW), 0, NOW)
    log.flusher.flush()
    assert (log.high_watermark, log.offsets.recovery_point, log.offsets.synced_offset) == (3, 3, 3)


def test_sync_does_not_move_the_high_watermark_of_a_log_with_followers(tmp_path: Path) -> None:
    """Without followers, a sync makes unsynced records visible. With followers, they determine the high watermark."""
    log = open_log(tmp_path, flush_messages=2)
    for _ in range(3):
        log.appender.append_as_leader(batch(NOW), 0, NOW)
    log.offsets.set_high_watermark(log.high_watermark)
    log.flusher.flush()
    assert (log.log_end_offset, log.high_watermark) == (3, 1)
    log.offsets.follow_end()
    assert log.high_watermark == 3
