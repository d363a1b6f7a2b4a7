"""Several log directories without a broker: what a start finds, interrupted moves, failures, reads of recovery."""

import errno
import random
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from odradek.protocol.records.builder import encode_batch
from odradek.protocol.records.record import Record
from odradek.storage.directory.log_directories import LogDirectories
from odradek.storage.directory.log_directory import LogDirectory
from odradek.storage.directory.replica_move import ReplicaMove
from odradek.storage.errors import StorageError
from odradek.storage.files.files import Files
from odradek.storage.log.log import Log
from odradek.storage.log.log_config import LogConfig
from odradek.storage.log.log_loader import RecoveryReports
from support.data.log_model import records_of
from support.disks.faulty_files import FaultyFiles

NOW = 1_700_000_000_000
TOPIC_ID = bytes(range(16))
KEY = ("t", 0)
CONFIG = LogConfig(segment_bytes=2_000)


def batch(value: bytes) -> bytes:
    return encode_batch([Record(0, NOW, b"k", value, [])], producer_id=1, producer_epoch=0, base_sequence=value[0])


def config_for(_: str) -> LogConfig:
    return CONFIG


def never_stray(topic: str, partition: int, topic_id: bytes | None) -> bool:
    return False


def open_both(root: Path, files_for: Callable[[Path], Files] = lambda _: Files()) -> LogDirectories:
    """Two formatted directories. Their partitions are found, but not opened."""
    both = LogDirectories.open([root / "a", root / "b"], files_for)
    for number, directory in enumerate(both.online):
        if directory.meta is None:
            directory.format("A" * 22, 1, bytes([number + 1]) * 16)
    both.find_logs(NOW, never_stray)
    return both


def fill(directory: LogDirectory, count: int = 40) -> Log:
    log = directory.open_log(*KEY, CONFIG, NOW, TOPIC_ID)
    for number in range(count):
        log.appender.append_as_leader(batch(bytes([number]) * 100), 3, NOW)
    return log


def values(log: Log) -> list[bytes]:
    found: list[bytes] = []
    offset = log.log_start_offset
    while offset < log.log_end_offset:
        records = records_of(log.read(offset, 10_000).data)
        found += [record.value or b"" for record in records if record.offset >= offset]
        offset = records[-1].offset + 1
    return found


def copy(move: ReplicaMove) -> None:
    while (chunk := move.next_chunk()) is not None:
        move.append(chunk, NOW)


def close(both: LogDirectories) -> None:
    for directory in both.online:
        directory.close(1)


# Names -------------------------------------------------------------------------


def test_directories_by_their_suffix(tmp_path: Path) -> None:
    """-delete is removed, -stray stays, -future without a partition stays, files and other names are ignored."""
    a = tmp_path / "a"
    for name in ("t-1.%s-delete", "t-2.%s-stray", "t-3.%s-future"):
        directory = a / (name % ("0" * 32))
        directory.mkdir(parents=True)
        (directory / f"{0:020d}.log").write_bytes(b"")
    (a / "t-4").mkdir()
    (a / "not a partition").mkdir()
    (a / "t-5").write_text("a file")
    both = open_both(tmp_path)
    first = both.online[0]
    assert set(first.found) == {("t", 4)}
    assert set(first.found_futures) == {("t", 3)}
    assert first.remove_deleted(NOW) == 1
    assert sorted(path.name for path in a.iterdir() if path.name.startswith("t-")) == [
        f"t-2.{'0' * 32}-stray",
        f"t-3.{'0' * 32}-future",
        "t-4",
        "t-5",
    ]
    both.abort()


def test_a_future_of_a_topic_that_is_gone_is_stray(tmp_path: Path) -> None:
    (tmp_path / "a" / f"t-0.{'0' * 32}-future").mkdir(parents=True)
    both = LogDirectories.open([tmp_path / "a"], lambda _: Files())
    both.find_logs(NOW, lambda topic, partition, topic_id: True)
    assert not both.online[0].found_futures
    assert len(list((tmp_path / "a").glob("t-0.*-stray"))) == 1
    both.abort()


def test_what_is_not_opened_keeps_its_offsets(tmp_path: Path) -> None:
    """After a clean stop a log is opened on first use. Until then its offsets in the checkpoints stay."""
    both = open_both(tmp_path)
    log = fill(both.online[0])
    log.offsets.increment_log_start_offset(7)
    close(both)
    names = ("recovery-point-offset-checkpoint", "log-start-offset-checkpoint", "replication-offset-checkpoint")
    before = [(tmp_path / "a" / name).read_text() for name in names]
    both = open_both(tmp_path)
    assert (set(both.online[0].found), both.online[0].logs) == ({KEY}, {})
    close(both)
    assert [(tmp_path / "a" / name).read_text() for name in names] == before
    both = open_both(tmp_path)
    both.online[0].write_checkpoints()
    both.abort()
    both = open_both(tmp_path)
    [one] = both.online[0].load_logs(config_for, NOW).values()
    assert (one.log_start_offset, one.log_end_offset) == (7, 40)
    both.abort()


# Recovery ----------------------------------------------------------------------


class CountingFiles(Files):
    """Counts the bytes that are read from log files."""

    def __init__(self) -> None:
        self.read_of: dict[str, int] = {}
        self._names: dict[int, str] = {}

    def open(self, path: Path, flags: int = 0) -> int:
        descriptor = super().open(path, flags)
        self._names[descriptor] = path.name
        return descriptor

    def read(self, descriptor: int, size: int, position: int) -> bytes:
        data = super().read(descriptor, size, position)
        name = self._names[descriptor]
        self.read_of[name] = self.read_of.get(name, 0) + len(data)
        return data


@pytest.mark.parametrize("has_producers", [True, False])
def test_recovery_reads_what_lies_behind_the_recovery_point(tmp_path: Path, has_producers: bool) -> None:
    config = LogConfig(segment_bytes=8 << 20)
    both = open_both(tmp_path)
    directory = both.online[0]
    log = directory.open_log(*KEY, config, NOW, TOPIC_ID)

    def append(number: int) -> None:
        producer: dict[str, Any] = {"producer_id": 1, "producer_epoch": 0, "base_sequence": number}
        record = Record(0, NOW + number, b"k", random.Random(number).randbytes(200_000), [])
        log.appender.append_as_leader(encode_batch([record], **(producer if has_producers else {})), 3, NOW)

    for number in range(100):  # 20 MB: two whole segments and half of a third
        append(number)
    directory.flusher.flush(list(directory.logs.values()))
    directory.write_checkpoints()
    behind = log.segments.size_in_bytes
    for number in range(100, 105):
        append(number)
    behind = log.segments.size_in_bytes - behind
    both.abort()
    with (tmp_path / "a" / "t-0" / f"{log.segments.active.base_offset:020d}.log").open("ab") as torn:
        torn.write(b"torn" * 100)

    files = CountingFiles()
    directory = LogDirectory.open(tmp_path / "a", files)
    told: list[int] = []
    directory.find_logs(NOW)
    directory.open_found(
        lambda _: config, NOW, reports=RecoveryReports(lambda path, position, size, new: told.append(new), 16 << 20)
    )
    log = directory.logs[KEY]
    assert log.log_end_offset == log.offsets.recovery_point == 105
    assert sum(told) == behind
    read = sum(size for name, size in files.read_of.items() if name.endswith(".log"))
    headers = 100 * 8192 if has_producers else 40 * 8192
    assert behind <= read <= behind + headers + 20_000, "more than what is new, and some headers"
    if has_producers:
        assert log.producer_state.producers[1].last_sequence == 104
    rebuilt = [segment.indexes.offset.to_bytes() for segment in log.segments]
    for segment in log.segments:
        segment.indexes.rebuild()
    assert [segment.indexes.offset.to_bytes() for segment in log.segments] == rebuilt
    directory.abort()


def test_an_index_that_is_gone_makes_recovery_read_the_whole_segment(tmp_path: Path) -> None:
    both = open_both(tmp_path)
    log = fill(both.online[0], 10)
    both.online[0].flusher.flush([log])
    both.online[0].write_checkpoints()
    log.appender.append_as_leader(batch(b"\x0anew"), 3, NOW)
    both.abort()
    (tmp_path / "a" / "t-0" / f"{log.segments.active.base_offset:020d}.timeindex").write_bytes(b"\1" * 13)
    both = open_both(tmp_path)
    both.online[0].open_found(config_for, NOW)
    assert values(both.online[0].logs[KEY])[-1] == b"\x0anew"
    both.abort()


def test_many_logs_are_recovered_on_several_threads(tmp_path: Path) -> None:
    both = open_both(tmp_path)
    for directory in both.online:
        for partition in range(12):
            topic = directory.path.name
            log = directory.open_log(topic, partition, CONFIG, NOW, TOPIC_ID)
            for number in range(partition + 1):
                log.appender.append_as_leader(batch(bytes([number]) * 100), 3, NOW)
    both.abort()
    both = open_both(tmp_path)
    done: list[tuple[int, int]] = []
    both.in_parallel(
        both.online,
        lambda directory: directory.open_found(
            config_for, NOW, threads=3, progress=lambda key, one, total: done.append((one, total))
        ),
    )
    assert sorted(done) == sorted([(one, 12) for one in range(1, 13)] * 2)
    for directory in both.online:
        assert {key[1]: log.log_end_offset for key, log in directory.logs.items()} == {
            partition: partition + 1 for partition in range(12)
        }
        assert len(directory.descriptors) == 0, "an idle log holds no file"
    both.abort()


# Failures ----------------------------------------------------------------------


@pytest.mark.parametrize("operation", ["write", "sync", "truncate"])
def test_an_input_output_error_is_the_end_of_its_directory_only(tmp_path: Path, operation: str) -> None:
    faulty = FaultyFiles()
    both = open_both(tmp_path, lambda path: faulty if path.name == "b" else Files())
    sound, failing = both.online
    other = sound.open_log("s", 0, CONFIG, NOW)
    log, idle = fill(failing), failing.open_log("t", 1, CONFIG, NOW)
    heard: list[LogDirectory] = []
    failing.on_failure = heard.append
    faulty.fail(operation, error=errno.EIO)
    with pytest.raises(StorageError):
        log.appender.append_as_leader(batch(b"\x28x"), 3, NOW) if operation == "write" else (
            log.flusher.flush() if operation == "sync" else log.removal.truncate_to(3)
        )
    assert (heard, failing.failure is not None, sound.failure) == ([failing], True, None)
    faulty.repair()
    for refused in (log, idle):
        with pytest.raises(StorageError):
            refused.appender.append_as_leader(batch(b"\x00x"), 3, NOW)
    other.appender.append_as_leader(batch(b"\x00x"), 3, NOW)
    both.take_offline(failing, "EIO")
    assert both.online == [sound]
    sound.close(1)


def test_a_full_disk_is_not_the_end_of_its_directory(tmp_path: Path) -> None:
    faulty = FaultyFiles()
    both = open_both(tmp_path, lambda _: faulty)
    log = fill(both.online[0], 3)
    faulty.fail("write", error=errno.ENOSPC)
    with pytest.raises(StorageError):
        log.appender.append_as_leader(batch(b"\x03x"), 3, NOW)
    with pytest.raises(StorageError):
        both.online[0].write_checkpoints()
    faulty.repair()
    assert both.online[0].failure is None
    log.appender.append_as_leader(batch(b"\x03x"), 3, NOW)
    close(both)


# Moves -------------------------------------------------------------------------


def test_a_replica_arrives_as_it_was(tmp_path: Path) -> None:
    both = open_both(tmp_path)
    source, target = both.online
    log = fill(source)
    log.offsets.increment_log_start_offset(13)
    log.delete_old_segments(NOW)
    source.cleaner_offsets[KEY] = 20
    expected = values(log)
    move = ReplicaMove.begin(KEY, source, target, CONFIG, NOW)
    assert move.lag == 40
    copy(move)
    log.appender.append_as_leader(batch(b"\x28late"), 4, NOW)
    copy(move)
    new = move.exchange(NOW)
    assert values(new) == [*expected, b"\x28late"]
    assert (new.log_start_offset, new.log_end_offset, new.topic_id) == (13, 41, TOPIC_ID)
    assert new.leader_epochs.entries == [(3, 13), (4, 40)]
    assert new.producer_state.producers[1].last_sequence == 40
    assert (both.holder(*KEY), target.cleaner_offsets, source.cleaner_offsets) == (target, {KEY: 20}, {})
    assert source.remove_deleted(NOW + CONFIG.file_delete_delay_ms) == 1
    close(both)
    both = open_both(tmp_path)
    assert values(both.online[1].open_log(*KEY, CONFIG, NOW)) == [*expected, b"\x28late"]
    both.abort()


class Crash(BaseException):
    """The process has died."""


class CrashingFiles(Files):
    """Raises Crash before its nth operation that changes something."""

    left = 0

    def _count(self) -> None:
        CrashingFiles.left -= 1
        if CrashingFiles.left < 0:
            raise Crash

    def rename(self, source: Path, target: Path) -> None:
        self._count()
        super().rename(source, target)

    def sync_directory(self, path: Path) -> None:
        self._count()
        super().sync_directory(path)

    def make_directory(self, path: Path) -> None:
        self._count()
        super().make_directory(path)

    def sync(self, descriptor: int) -> None:
        self._count()
        super().sync(descriptor)


def assigned_to(directory_id: bytes, topic: str, partition: int) -> bytes:
    return directory_id


def test_a_crash_at_any_step_of_a_move_leaves_one_whole_log(tmp_path: Path) -> None:
    """The metadata names the target just before the exchange, as ReplicaMoves ensures."""
    at = 0
    is_done = False
    while not is_done:
        root = tmp_path / str(at)
        CrashingFiles.left = 1_000_000
        both = open_both(root, lambda _: CrashingFiles())
        source, target = both.online
        expected = values(fill(source, 12))
        assigned = source.directory_id
        CrashingFiles.left = at
        try:
            move = ReplicaMove.begin(KEY, source, target, CONFIG, NOW)
            copy(move)
            target.flusher.flush([move.future])
            assigned = target.directory_id
            move.exchange(NOW)
            is_done = True
        except Crash:
            pass
        CrashingFiles.left = 1_000_000
        both.abort()
        both = open_both(root)
        both.promote_futures(partial(assigned_to, assigned), NOW)
        holder = both.holder(*KEY)
        assert holder is not None, f"after {at} steps it is nowhere"
        both.in_parallel(both.online, lambda directory: directory.open_found(config_for, NOW))
        assert values(holder.logs[KEY]) == expected, f"after {at} steps"
        if holder is both.online[0] and both.online[1].found_futures:
            move = ReplicaMove.begin(KEY, holder, both.online[1], CONFIG, NOW)
            copy(move)
            assert values(move.exchange(NOW)) == expected, f"gone on after {at} steps"
        close(both)
        at += 1
    assert at > 10
