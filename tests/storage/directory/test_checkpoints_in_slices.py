"""The checkpoints of a directory with many partitions are written in steps, if there is something to write."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from odradek.protocol.records.builder import encode_batch
from odradek.protocol.records.record import Record
from odradek.storage.directory.log_directory import LogDirectory
from odradek.storage.errors import StorageError
from odradek.storage.files.checkpoints import RECOVERY_POINT_CHECKPOINT, read_offset_checkpoint
from odradek.storage.log.log_config import LogConfig

NOW_MS = 1_795_000_000_000
PARTITIONS = 250


@pytest.fixture
def directory(tmp_path: Path) -> Iterator[LogDirectory]:
    opened = LogDirectory.open(tmp_path)
    for index in range(PARTITIONS):
        opened.open_log("t", index, LogConfig(), NOW_MS, b"i" * 16)
    try:
        yield opened
    finally:
        opened.abort()


def written(directory: LogDirectory) -> set[int]:
    """The partitions whose recovery points are on disk."""
    path = directory.path / RECOVERY_POINT_CHECKPOINT
    return {index for _, index in read_offset_checkpoint(directory.files, path)}


def test_checkpoints_are_written_by_the_last_of_many_steps(directory: LogDirectory) -> None:
    steps = directory.checkpoints()
    assert sum(1 for _ in steps) == PARTITIONS // 100
    assert written(directory) == set(range(PARTITIONS))


def test_what_is_deleted_in_between_is_not_written_down(directory: LogDirectory) -> None:
    """A new partition of that name would begin at the old one's recovery point after a crash."""
    steps = directory.checkpoints()
    next(steps)
    directory.delete_log("t", 0, NOW_MS)
    directory.delete_log("t", 200, NOW_MS)
    for _ in steps:
        pass
    assert written(directory) == set(range(PARTITIONS)) - {0, 200}


def test_a_write_in_between_is_not_undone(directory: LogDirectory) -> None:
    """The recovery point that a truncation has lowered must not rise again on disk."""
    log = directory.logs["t", 0]
    log.offsets.recovery_point = 7
    steps = directory.checkpoints()
    next(steps)
    log.offsets.recovery_point = 3
    directory.write_checkpoints()
    for _ in steps:
        pass
    path = directory.path / RECOVERY_POINT_CHECKPOINT
    assert read_offset_checkpoint(directory.files, path)["t", 0] == 3


def test_a_directory_that_fails_in_between_is_not_written_to(directory: LogDirectory) -> None:
    steps = directory.checkpoints()
    next(steps)
    directory.fail(OSError(5, "Input/output error"))
    with pytest.raises(StorageError):
        next(steps)
    assert not (directory.path / RECOVERY_POINT_CHECKPOINT).exists()


def test_nothing_is_written_until_an_offset_has_changed(directory: LogDirectory) -> None:
    directory.write_checkpoints()
    path = directory.path / RECOVERY_POINT_CHECKPOINT
    log = directory.logs["t", 7]

    def is_written_again() -> bool:
        path.unlink()
        directory.write_checkpoints()
        is_there = path.exists()
        path.touch()
        return is_there

    assert not is_written_again()
    log.appender.append_as_leader(encode_batch([Record(0, NOW_MS, None, b"value", [])]), 0, NOW_MS)
    assert is_written_again(), "the high watermark has risen"
    assert not is_written_again()
    log.flusher.flush()
    assert is_written_again(), "the recovery point has risen"
    log.offsets.increment_log_start_offset(1)
    assert is_written_again(), "the log start offset has risen"
    directory.delete_log("t", 0, NOW_MS)
    assert is_written_again(), "a partition has gone"
    directory.open_log("t", 0, LogConfig(), NOW_MS, b"j" * 16)
    assert is_written_again(), "a partition has come"
    assert not is_written_again()


def test_a_write_that_another_one_ended_is_made_up_for(directory: LogDirectory) -> None:
    """Its offsets were noted, but are not on disk."""
    directory.write_checkpoints()
    log = directory.logs["t", 0]
    log.offsets.recovery_point = 7
    steps = directory.checkpoints()
    next(steps)
    steps.close()  # type: ignore[attr-defined]
    directory.write_checkpoints()
    path = directory.path / RECOVERY_POINT_CHECKPOINT
    assert read_offset_checkpoint(directory.files, path)["t", 0] == 7
