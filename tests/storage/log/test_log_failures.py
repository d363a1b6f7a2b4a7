"""A disk that fails: no operation is done by half, nothing is lost, and the log continues once there is space again."""

import errno
from pathlib import Path
from typing import Any

import pytest

from odradek.protocol.errors import ErrorCode
from odradek.protocol.records.builder import encode_batch
from odradek.protocol.records.record import Record
from odradek.storage.directory.log_directory import LogDirectory
from odradek.storage.errors import StorageError
from odradek.storage.log.log import Log
from odradek.storage.log.log_config import LogConfig
from support.data.log_model import records_of
from support.disks.faulty_files import FaultyFiles

NOW = 1_700_000_000_000


def batch(value: bytes, **fields: Any) -> bytes:
    return encode_batch([Record(0, NOW, b"k", value, [])], **fields)


def values_of(log: Log) -> list[bytes | None]:
    values: list[bytes | None] = []
    while log.log_start_offset + len(values) < log.log_end_offset:
        values += [r.value for r in records_of(log.read(len(values), 1 << 20).data)]
    return values


@pytest.mark.parametrize("short_by", [None, 1, 10, 60, 70])
@pytest.mark.parametrize("cutting_fails", [False, True])
def test_a_full_disk_refuses_the_append_and_nothing_else(
    tmp_path: Path, short_by: int | None, cutting_fails: bool
) -> None:
    files = FaultyFiles()
    log = Log.open(tmp_path / "t-0", LogConfig(), now_ms=NOW, files=files)
    log.appender.append_as_leader(batch(b"a"), 0, NOW)
    size = log.segments.size_in_bytes
    if cutting_fails:
        files.truncate = lambda descriptor, size: files._raise()  # type: ignore[method-assign]
    files.fail("write", short_by=short_by)
    with pytest.raises(StorageError) as refused:
        log.appender.append_as_leader(batch(b"b" * 100, producer_id=1, producer_epoch=0, base_sequence=0), 1, NOW)
    assert refused.value.error_code is ErrorCode.KAFKA_STORAGE_ERROR
    assert (log.log_end_offset, log.segments.size_in_bytes, log.offsets.latest_epoch) == (1, size, 0)
    assert not log.producer_state.producers
    assert values_of(log) == [b"a"]
    if not cutting_fails:
        assert (tmp_path / "t-0" / f"{0:020d}.log").stat().st_size == size
    files.repair()
    files.__dict__.pop("truncate", None)
    assert log.appender.append_as_leader(batch(b"c"), 1, NOW).first_offset == 1
    assert values_of(log) == [b"a", b"c"]
    log.abort()
    log = Log.open(tmp_path / "t-0", LogConfig(), now_ms=NOW)
    assert values_of(log) == [b"a", b"c"]


@pytest.mark.parametrize("operation", ["create", "write", "rename"])
@pytest.mark.parametrize("after", range(2))
def test_a_roll_that_fails_leaves_the_log_usable(tmp_path: Path, operation: str, after: int) -> None:
    files = FaultyFiles()
    config = LogConfig(segment_bytes=300)
    log = Log.open(tmp_path / "t-0", config, now_ms=NOW, files=files)
    written: list[bytes] = []
    refused = 0
    for number in range(12):
        if number == 3:
            files.fail(operation, after=after)
        if number == 9:
            files.repair()
        value = b"%d" % number
        sequence = {"producer_id": 1, "producer_epoch": 0, "base_sequence": len(written)}
        try:
            info = log.appender.append_as_leader(batch(value, **sequence), 0, NOW)
        except StorageError:
            refused += 1
            continue
        assert info.first_offset == len(written)
        written.append(value)
    assert refused
    assert written[-3:] == [b"9", b"10", b"11"]
    assert values_of(log) == written
    log.abort()
    log = Log.open(tmp_path / "t-0", config, now_ms=NOW)
    assert values_of(log) == written


def test_a_failed_sync_is_final(tmp_path: Path) -> None:
    files = FaultyFiles()
    log = Log.open(tmp_path / "t-0", LogConfig(), now_ms=NOW, files=files)
    log.appender.append_as_leader(batch(b"a"), 0, NOW)
    files.fail("sync", error=errno.EIO)
    with pytest.raises(StorageError):
        log.flusher.flush()
    files.repair()
    assert log.offsets.recovery_point == 0, "what was not synced must be recovered"
    for operation in (
        log.flusher.flush,
        lambda: log.appender.append_as_leader(batch(b"b"), 0, NOW),
        lambda: log.read(0, 100),
    ):
        with pytest.raises(StorageError):
            operation()


def test_a_failed_sync_takes_the_directory_offline_without_a_clean_mark(tmp_path: Path) -> None:
    files = FaultyFiles()
    directory = LogDirectory.open(tmp_path / "logs", files)
    log = directory.open_log("t", 0, LogConfig(), NOW)
    log.appender.append_as_leader(batch(b"a"), 0, NOW)
    files.fail("sync", error=errno.EIO)
    with pytest.raises(StorageError, match="offline"):
        directory.flusher.flush([log])
    assert directory.failure is not None
    with pytest.raises(StorageError):
        directory.close(1)
    files.repair()
    again = LogDirectory.open(tmp_path / "logs")
    assert not again.was_clean
    assert values_of(again.load_logs(lambda _: LogConfig(), NOW)["t", 0]) == [b"a"]
    again.close(1)


def test_files_that_cannot_be_renamed_go_later_all_the_same(tmp_path: Path) -> None:
    files = FaultyFiles()
    config = LogConfig(segment_bytes=100, retention_bytes=100)
    log = Log.open(tmp_path / "t-0", config, now_ms=NOW, files=files)
    for number in range(5):
        log.appender.append_as_leader(batch(b"%d" % number), 0, NOW)
    files.fail("rename", after=4, error=errno.EIO)
    assert log.delete_old_segments(NOW) == 3
    files.repair()
    assert log.log_start_offset == log.segments.first.base_offset == 3
    assert [r.value for r in records_of(log.read(3, 1000).data)] == [b"3", b"4"][:1]
    log.remove_deleted_files(NOW + config.file_delete_delay_ms)
    assert not list((tmp_path / "t-0").glob("*.deleted"))
    assert sorted(path.name for path in (tmp_path / "t-0").glob("*.log")) == [f"{3:020d}.log", f"{4:020d}.log"]
