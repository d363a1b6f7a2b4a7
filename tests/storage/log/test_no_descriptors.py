"""A process without a free file descriptor: requests get an error, and the log continues without a loss."""

import errno
import random
from pathlib import Path

import pytest

from odradek.protocol.records.builder import encode_batch
from odradek.protocol.records.record import Record
from odradek.storage.directory.log_directory import LogDirectory
from odradek.storage.errors import StorageError
from odradek.storage.files.disk_errors import lacks_descriptors
from odradek.storage.files.files import Files
from odradek.storage.log.log import Log
from odradek.storage.log.log_config import LogConfig
from odradek.storage.log.read_result import FileRegion
from odradek.storage.log.segment_reader import REGION_BYTES
from support.data.log_model import records_of
from support.disks.simulated_disk import SimulatedDisk

from .exhausted_disk import ExhaustedDisk

NOW = 1_700_000_000_000
SMALL = LogConfig(segment_bytes=300, index_interval_bytes=1)


def batch(value: bytes, sequence: int, producer_id: int = 1) -> bytes:
    record = Record(0, NOW, b"k", value, [])
    return encode_batch([record], producer_id=producer_id, producer_epoch=0, base_sequence=sequence)


def values_of(log: Log) -> dict[int, bytes | None]:
    """The values by offset."""
    values: dict[int, bytes | None] = {}
    while records := records_of(log.read(max(values, default=-1) + 1, 1 << 20).data):
        values |= {one.offset: one.value for one in records}
    return values


def open_directory(root: Path, disk: SimulatedDisk, max_open_files: int = 8) -> tuple[LogDirectory, Log]:
    root.mkdir(exist_ok=True)
    directory = LogDirectory.open(root, disk, max_open_files=max_open_files)
    if directory.meta is None:
        directory.format("A" * 22, 1, bytes(16))
    directory.find_logs(NOW)
    return directory, directory.open_log("t", 0, SMALL, NOW)


@pytest.mark.parametrize("error", [errno.EMFILE, errno.ENFILE])
@pytest.mark.parametrize("seed", range(10))
def test_appends_rolls_and_flushes_go_on_and_what_was_flushed_survives(tmp_path: Path, seed: int, error: int) -> None:
    chance = random.Random(seed)
    disk = ExhaustedDisk(tmp_path / "live")
    disk.error = error
    directory, log = open_directory(tmp_path / "live", disk, max_open_files=2)
    disk.chance = chance
    appended: list[bytes] = []
    flushed = flushes = refused = 0
    for number in range(60):
        try:
            info = log.appender.append_as_leader(batch(b"%d" % number, len(appended)), 0, NOW)
        except StorageError as failure:
            refused += 1
            check_text(failure)
        else:
            assert info.first_offset == len(appended)
            appended.append(b"%d" % number)
        if number % 3 == 0:
            try:
                directory.flusher.flush([log])
            except StorageError as failure:
                check_text(failure)
            else:
                flushes += 1
                flushed = len(appended)
    assert refused
    assert flushes
    assert directory.failure is None
    disk.chance = None
    assert values_of(log) == dict(enumerate(appended))
    assert disk.open_files <= 4, "2 files of the log, the lock and nothing that was forgotten"
    image = disk.survivors(tmp_path / "image", chance, has_power=False)
    _, recovered = open_directory(tmp_path / "image", image)
    found = values_of(recovered)  # among unflushed segments, one may be missing although a later one exists
    assert found == {offset: appended[offset] for offset in found}
    assert found.keys() >= set(range(flushed))


def check_text(failure: StorageError) -> None:
    assert lacks_descriptors(failure)
    assert "raise the limit" in failure.message
    assert "offline" not in failure.message


class FailingSync(Files):
    """Files whose syncs may fail, as on a file system in user space without descriptors. Their data may be lost."""

    error: OSError | None = None

    def _sync(self, descriptor: int) -> None:
        if self.error is not None:
            raise self.error
        super()._sync(descriptor)


def test_a_sync_that_finds_no_descriptor_has_failed(tmp_path: Path) -> None:
    files = FailingSync()
    directory = LogDirectory.open(tmp_path, files)
    log = directory.open_log("t", 0, SMALL, NOW)
    log.appender.append_as_leader(batch(b"a", 0), 0, NOW)
    files.error = OSError(errno.ENFILE, "Too many open files in system")
    with pytest.raises(StorageError, match="the file system failed to sync"):
        directory.flusher.flush([log])
    assert directory.failure is not None
    files.error = None
    directory.abort()


def test_slow_readers_hold_half_of_the_files_and_others_read_into_memory(tmp_path: Path) -> None:
    """Each answer that waits for its client used to keep a segment open, so many of them used up all descriptors."""
    directory = LogDirectory.open(tmp_path, max_open_files=8)
    large = LogConfig(segment_bytes=1 << 20)
    log = directory.open_log("t", 0, large, NOW)
    value = bytes(REGION_BYTES)
    for number in range(60):
        log.appender.append_as_leader(batch(value, number), 0, NOW)
        log.appender.append_as_leader(batch(value, number, producer_id=2), 0, NOW)
        log.roll(NOW)
    answers = [log.read(2 * number, 1 << 20).data for number in range(60)]
    held = [answer for answer in answers if isinstance(answer, FileRegion)]
    assert len(held) == 4
    assert directory.open_files <= 8
    for number, answer in enumerate(answers):
        if isinstance(answer, bytes):
            assert [one.offset for one in records_of(answer)] == [2 * number], "one batch, which is larger than 64 KiB"
    log.appender.append_as_leader(batch(value, 60), 0, NOW)
    directory.flusher.flush([log])
    assert directory.open_files <= 8
    for answer in held:
        assert len(records_of(answer.read())) == 2
        answer.close()
    assert isinstance(log.read(100, 1 << 20).data, FileRegion), "a file may be held again"
    directory.close(1)
