"""A truncation in a process without a free file descriptor: the log stays consistent, and the rest is tried again."""

import errno
import os
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from odradek.protocol.records.batch import iterate_headers
from odradek.protocol.records.builder import BatchBuilder
from odradek.protocol.records.control import ControlRecordType, EndTransactionMarker, encode_end_transaction_batch
from odradek.storage.directory.log_directory import LogDirectory
from odradek.storage.errors import StorageError
from odradek.storage.files.disk_errors import lacks_descriptors
from odradek.storage.files.files import EXISTING, Files
from odradek.storage.log.log import Log
from odradek.storage.log.log_config import LogConfig
from support.data.log_model import data_of

from .exhausted_disk import ExhaustedDisk

NOW_MS = 1_700_000_000_000
RECORDS, CUT = 60, 25
SMALL = LogConfig(segment_bytes=1_000, index_interval_bytes=1)
ENDS_OF_TRANSACTIONS = {10, 40}


class FewDescriptors(Files):
    """Refuses the opens of files and directories from number ``first`` on, up to ``count`` of them."""

    def __init__(self) -> None:
        self.first = self.count = self.refused = 0
        self._opened = 0

    def refuse(self, first: int, count: int = 1 << 30) -> None:
        """Sets the refusals, counted from now on."""
        self.first, self.count = first, count
        self._opened = self.refused = 0

    def open(self, path: Path, flags: int = EXISTING) -> int:
        self._take(path)
        return super().open(path, flags)

    def sync_directory(self, path: Path) -> None:
        self._take(path)
        super().sync_directory(path)

    def _take(self, path: Path) -> None:
        self._opened += 1
        if self.refused < self.count and self._opened > self.first:
            self.refused += 1
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE), str(path))


def batch(offset: int, value: bytes = b"value", sequence: int | None = None) -> bytes:
    """A record of a transaction of producer 7, or the marker that aborts it."""
    if offset in ENDS_OF_TRANSACTIONS:
        marker = EndTransactionMarker(ControlRecordType.ABORT, 0)
        data = bytearray(encode_end_transaction_batch(marker, timestamp=NOW_MS, producer_id=7, producer_epoch=1))
        data[:8] = offset.to_bytes(8, "big")
        return bytes(data)
    builder = BatchBuilder(
        producer_id=7,
        producer_epoch=1,
        base_sequence=offset if sequence is None else sequence,
        is_transactional=True,
        partition_leader_epoch=3,
    )
    builder.append(NOW_MS + offset, None, value)
    builder.move_to(offset)
    return bytes(builder.build())


def fill(log: Log) -> None:
    for offset in range(log.log_end_offset, RECORDS):
        log.appender.append_as_follower(batch(offset), NOW_MS)


def cold(directory: Path, files: Files) -> Log:
    """A log with records that was closed and opened, so that a truncation has to open its files."""
    log = Log.open(directory, SMALL, now_ms=NOW_MS)
    fill(log)
    log.close()
    return Log.open(directory, SMALL, now_ms=NOW_MS, files=files, clean_shutdown=True)


def log_bytes(directory: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(directory.glob("*.log")))


def offsets_of(log: Log) -> list[int]:
    found: list[int] = []
    while data := data_of(log.read(found[-1] + 1 if found else log.log_start_offset, 1 << 20).data):
        found += [header.base_offset for _, header in iterate_headers(data)]
    return found


def assert_as_after_a_crash(log: Log, tmp_path: Path) -> None:
    """Asserts that offsets and producers are those that recovery finds in the files."""
    copy = tmp_path / "copy-0"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(log.directory, copy)
    again = Log.open(copy, SMALL, now_ms=NOW_MS)
    assert (again.log_end_offset, again.producer_state.producers) == (log.log_end_offset, log.producer_state.producers)
    assert again.producer_state.first_undecided_offset == log.producer_state.first_undecided_offset
    again.abort()


def check(error: StorageError) -> None:
    assert lacks_descriptors(error)


def truncate(log: Log) -> None:
    log.removal.truncate_to(CUT)


def restart(log: Log) -> None:
    log.removal.truncate_fully_and_start_at(CUT)


@pytest.mark.parametrize("operation", [truncate, restart])
def test_each_open_of_a_truncation_may_fail_once(tmp_path: Path, operation: Callable[[Log], None]) -> None:
    refused = 0
    while True:
        files = FewDescriptors()
        log = cold(tmp_path / f"t-{refused}", files)
        files.refuse(refused, count=1)
        try:
            operation(log)
        except StorageError as error:
            check(error)
            assert log.health.failure is None
            assert log.log_end_offset in (RECORDS, CUT, 0), "all or nothing"
            assert offsets_of(log) == list(range(log.log_end_offset))
            operation(log)
        is_over = not files.refused
        files.refuse(0, count=0)
        assert log.log_end_offset == CUT
        start = CUT if operation is restart else 0
        assert log.log_start_offset == start
        other = batch(CUT, b"another", sequence=0 if operation is restart else None)
        log.appender.append_as_follower(other, NOW_MS)
        assert log_bytes(log.directory) == b"".join(batch(offset) for offset in range(start, CUT)) + other
        assert_as_after_a_crash(log, tmp_path)
        log.close()
        if is_over:
            break
        refused += 1
    assert refused > 3, "opens of the log file, an index, a directory at least"


def test_no_append_before_the_files_are_cut(tmp_path: Path) -> None:
    """Without descriptors the log can be read and is not appended to. It goes on by itself when there are some."""
    files = FewDescriptors()
    log = cold(tmp_path / "t-0", files)
    assert offsets_of(log) == list(range(RECORDS))
    pending = log.removal.begin_truncation(CUT)
    assert pending is not None
    files.refuse(0)
    pending.write()
    for _ in range(2):
        with pytest.raises(StorageError, match="raise the limit") as refused:
            log.removal.complete_truncation(pending, CUT)
        assert lacks_descriptors(refused.value)
    other = batch(CUT, b"another")
    for append in (
        log.appender.append_as_follower,
        lambda data, now_ms: log.appender.append_as_leader(data, 4, now_ms),
    ):
        with pytest.raises(StorageError, match="raise the limit"):
            append(other, NOW_MS)
    assert log.log_end_offset == CUT
    files.refuse(0, count=0)
    assert offsets_of(log) == list(range(CUT))
    log.appender.append_as_follower(other, NOW_MS)
    assert offsets_of(log) == list(range(CUT + 1))
    assert_as_after_a_crash(log, tmp_path)
    log.removal.complete_truncation(pending, CUT)
    log.close()


def test_the_sync_of_a_truncation_that_fails_ends_the_log(tmp_path: Path) -> None:
    """A lack of descriptors in one part does not hide the failure of another."""
    files = FewDescriptors()
    log = cold(tmp_path / "t-0", files)
    pending = log.removal.begin_truncation(CUT)
    assert pending is not None

    def failing() -> Iterator[None]:
        yield
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    pending.rebuild = failing
    files.refuse(0)
    pending.write()
    with pytest.raises(StorageError, match="Input/output error"):
        log.removal.complete_truncation(pending, CUT)
    assert log.health.failure is not None
    log.abort()


def test_a_log_that_is_deleted_during_a_truncation_leaves_its_directory_online(tmp_path: Path) -> None:
    files = FewDescriptors()
    directory = LogDirectory.open(tmp_path, files)
    log = directory.open_log("t", 0, SMALL, NOW_MS)
    fill(log)
    assert log.removal.begin_truncation(CUT) is not None
    directory.delete_log("t", 0, NOW_MS)
    assert directory.failure is None
    directory.close(1)


def test_the_files_of_a_renamed_directory_are_cut(tmp_path: Path) -> None:
    """As when a copy in another log directory gets the partition's name."""
    files = FewDescriptors()
    log = cold(tmp_path / "t-0", files)
    assert log.removal.begin_truncation(CUT) is not None
    renamed = tmp_path / "u-0"
    log.release_files()
    log.directory.rename(renamed)
    log.move_to(renamed)
    log.appender.append_as_follower(batch(CUT, b"another"), NOW_MS)
    assert log_bytes(renamed) == b"".join(batch(offset) for offset in range(CUT)) + batch(CUT, b"another")
    assert_as_after_a_crash(log, tmp_path)
    log.close()


@pytest.mark.parametrize("seed", range(20))
def test_truncations_among_appends_and_flushes(tmp_path: Path, seed: int) -> None:
    """The log has the batches of the model. After a power failure, flushed ones that were not truncated are still
    there.
    """
    chance = random.Random(seed)
    disk = ExhaustedDisk(tmp_path / "live")
    root = tmp_path / "live"
    root.mkdir()
    directory = LogDirectory.open(root, disk, max_open_files=2)
    directory.format("A" * 22, 1, bytes(16))
    directory.find_logs(NOW_MS)
    log = directory.open_log("t", 0, SMALL, NOW_MS)
    disk.chance = chance
    written: list[bytes] = []
    flushed = 0
    for number in range(150):
        try:
            if chance.random() < 0.1:
                cut = chance.randrange(len(written) + 1)
                flushed = min(flushed, cut)
                try:
                    log.removal.truncate_to(cut)
                finally:
                    del written[log.log_end_offset :]
            elif chance.random() < 0.2:
                directory.flusher.flush([log])
                flushed = len(written)
            else:
                data = unique(len(written), number)
                log.appender.append_as_follower(data, NOW_MS)
                written.append(data)
        except StorageError as error:
            check(error)
        assert log.log_end_offset == len(written)
        assert directory.failure is None
    disk.chance = None
    assert disk.refused
    assert data_of_all(log) == b"".join(written)
    image = disk.survivors(tmp_path / "image", chance, has_power=False)
    recovered = LogDirectory.open(tmp_path / "image", image)
    recovered.find_logs(NOW_MS)
    again = recovered.open_log("t", 0, SMALL, NOW_MS)
    found = data_of_all(again)
    assert found[: len(b"".join(written[:flushed]))] == b"".join(written[:flushed])


def unique(offset: int, number: int) -> bytes:
    builder = BatchBuilder(partition_leader_epoch=3)
    builder.append(NOW_MS, None, b"%d" % number * 20)
    builder.move_to(offset)
    return bytes(builder.build())


def data_of_all(log: Log) -> bytes:
    found = b""
    offset = log.log_start_offset
    while data := data_of(log.read(offset, 1 << 20).data):
        found += data
        offset = max(header.next_offset for _, header in iterate_headers(data))
    return found
