"""Moves of a replica that follows another broker: its leader truncates it during the copy. Without a broker."""

from pathlib import Path

import pytest

from odradek.protocol.errors import KafkaError
from odradek.protocol.records.builder import encode_batch
from odradek.protocol.records.compression import CompressionType
from odradek.protocol.records.record import Record
from odradek.storage.directory.log_directories import LogDirectories
from odradek.storage.directory.replica_move import ReplicaMove
from odradek.storage.files.descriptors import DEFAULT_MAX_OPEN
from odradek.storage.files.files import EXISTING, Files
from odradek.storage.log.log import Log
from odradek.storage.log.log_config import LogConfig
from support.data.legacy_messages import LEGACY_CODECS, messages
from support.data.log_model import records_of

NOW = 1_700_000_000_000
KEY = ("t", 0)
CONFIG = LogConfig(segment_bytes=2_000)


@pytest.fixture
def both(tmp_path: Path) -> LogDirectories:
    """Two formatted directories; the replica lies in the first one."""
    return opened(tmp_path)


def opened(root: Path, files: Files | None = None, max_open_files: int = DEFAULT_MAX_OPEN) -> LogDirectories:
    paths = [root / "a", root / "b"]
    found = LogDirectories.open(paths, lambda _: files or Files(), max_open_files=max_open_files)
    for number, directory in enumerate(found.online):
        if directory.meta is None:
            directory.format("A" * 22, 1, bytes([number + 1]) * 16)
    found.find_logs(NOW, lambda topic, partition, topic_id: False)
    return found


def replica(both: LogDirectories) -> Log:
    return both.online[0].open_log(*KEY, CONFIG, NOW, bytes(range(16)))


def write(log: Log, epoch: int, *texts: str) -> None:
    for text in texts:
        log.appender.append_as_leader(encode_batch([Record(0, NOW, b"k", text.ljust(40).encode(), [])]), epoch, NOW)


def texts(log: Log) -> list[str]:
    found: list[str] = []
    while (offset := log.log_start_offset + len(found)) < log.log_end_offset:
        found += [(record.value or b"").decode().strip() for record in records_of(log.read(offset, 10_000).data)]
    return found


def begin(both: LogDirectories) -> ReplicaMove:
    source, target = both.online
    return ReplicaMove.begin(KEY, source, target, CONFIG, NOW)


def copy(move: ReplicaMove) -> None:
    while (chunk := move.next_chunk()) is not None:
        move.append(chunk, NOW)


def names(letter: str, count: int) -> list[str]:
    return [f"{letter}{number}" for number in range(count)]


@pytest.mark.parametrize("codec", LEGACY_CODECS)
@pytest.mark.parametrize("magic", [0, 1])
def test_messages_of_old_formats_move_with_their_offsets(
    both: LogDirectories, magic: int, codec: CompressionType
) -> None:
    """The first batch may be a wrapper that begins before the log start: its header has only its last offset."""
    log = replica(both)
    records = [Record(7 + number, NOW, b"k", b"%d" % number, []) for number in range(6)]
    log.removal.truncate_fully_and_start_at(7)
    log.appender.append_as_follower(messages(magic, records, codec), NOW)
    log.offsets.increment_log_start_offset(9)
    move = begin(both)
    copy(move)
    move.catch_up(NOW)
    found = [record.value for record in records_of(move.future.read(9, 10_000).data) if record.offset >= 9]
    assert found == [b"2", b"3", b"4", b"5"]
    assert move.future.segments.first.base_offset <= (9 if codec is CompressionType.NONE else 7)
    moved = move.exchange(NOW)
    assert (moved.log_start_offset, moved.log_end_offset) == (9, 13)


@pytest.mark.parametrize("cut", [0, 1, 5, 9, 10])
def test_copy_follows_a_truncation(both: LogDirectories, cut: int) -> None:
    """The leader of epoch 4 does not have the records after ``cut``, which the copy already has."""
    log = replica(both)
    write(log, 3, *names("a", 10))
    move = begin(both)
    copy(move)
    assert texts(move.future) == names("a", 10)
    log.removal.truncate_to(cut)
    write(log, 4, *names("b", 20))
    copy(move)
    expected = [*names("a", cut), *names("b", 20)]
    assert texts(move.future) == texts(log) == expected
    assert move.future.leader_epochs.entries == log.leader_epochs.entries
    assert texts(move.exchange(NOW)) == expected


def test_copy_follows_truncations_over_several_epochs(both: LogDirectories) -> None:
    log = replica(both)
    for epoch in (1, 2, 5):
        write(log, epoch, *names(str(epoch), 3))
    move = begin(both)
    copy(move)
    log.removal.truncate_to(4)
    write(log, 6, "ff")
    copy(move)
    assert texts(move.future) == texts(log) == ["10", "11", "12", "20", "ff"]
    assert move.future.leader_epochs.entries == [(1, 0), (2, 3), (6, 4)]


def test_copy_begins_again_if_the_replica_does(both: LogDirectories) -> None:
    """The leader has deleted all records of the replica."""
    log = replica(both)
    write(log, 3, *names("a", 10))
    move = begin(both)
    copy(move)
    log.removal.truncate_fully_and_start_at(50)
    write(log, 5, "bb")
    copy(move)
    assert (move.future.log_start_offset, texts(move.future)) == (50, ["bb"])


@pytest.mark.parametrize("written_again", [0, 10])
def test_chunk_of_before_a_truncation_is_undone(both: LogDirectories, written_again: int) -> None:
    """A thread reads the chunk after the truncation, and gets other bytes than those that were chosen, or too few."""
    log = replica(both)
    write(log, 3, *names("a", 5))
    move = begin(both)
    copy(move)
    write(log, 3, *names("c", 5))
    chunk = move.next_chunk()
    assert chunk is not None
    log.removal.truncate_to(5)
    write(log, 4, *names("b", written_again))
    assert move.is_outdated(chunk)
    try:
        move.append(chunk, NOW)
    except KafkaError:
        assert not written_again
    move.undo(chunk)
    copy(move)
    assert texts(move.future) == texts(log) == [*names("a", 5), *names("b", written_again)]


def test_high_watermark_moves_along(both: LogDirectories) -> None:
    log = replica(both)
    write(log, 3, *names("a", 10))
    log.offsets.set_high_watermark(7)
    move = begin(both)
    copy(move)
    moved = move.exchange(NOW)
    assert (moved.high_watermark, moved.log_end_offset, moved.offsets.has_high_watermark) == (7, 10, True)


def test_interrupted_copy_waits_while_its_source_is_there(tmp_path: Path, both: LogDirectories) -> None:
    """The broker died after it had reported the target to the controllers. Later records are only in the source."""
    log = replica(both)
    write(log, 3, *names("a", 5))
    move = begin(both)
    copy(move)
    target = both.online[1].directory_id
    write(log, 3, "zz")
    log.flusher.flush()
    both.abort()
    again = opened(tmp_path)
    again.promote_futures(lambda topic, partition: target, NOW, keeps_source=True)
    assert again.holder(*KEY) is again.online[0]
    found = replica(again)
    assert texts(found) == [*names("a", 5), "zz"]
    move = begin(again)
    copy(move)
    assert texts(move.exchange(NOW)) == [*names("a", 5), "zz"]
    again.abort()


def test_interrupted_exchange_is_completed(tmp_path: Path, both: LogDirectories) -> None:
    """The source was already removed: the copy is the only log."""
    log = replica(both)
    write(log, 3, *names("a", 5))
    move = begin(both)
    copy(move)
    move.future.flusher.flush()
    both.online[0].delete_log(*KEY, NOW)
    target = both.online[1].directory_id
    both.abort()
    again = opened(tmp_path)
    again.promote_futures(lambda topic, partition: target, NOW, keeps_source=True)
    assert again.holder(*KEY) is again.online[1]
    assert texts(again.online[1].open_log(*KEY, CONFIG, NOW)) == names("a", 5)
    again.abort()


class CountedFiles(Files):
    """The open descriptors by path."""

    def __init__(self) -> None:
        super().__init__()
        self.paths: dict[int, Path] = {}

    def open(self, path: Path, flags: int = EXISTING) -> int:
        descriptor = super().open(path, flags)
        self.paths[descriptor] = path
        return descriptor

    def close(self, descriptor: int) -> None:
        del self.paths[descriptor]
        super().close(descriptor)


def test_a_copy_neither_closes_files_of_other_logs_nor_is_closed_by_them(tmp_path: Path) -> None:
    """A thread writes the copy. If both shared a full cache, a descriptor could name another file when it is used."""
    disk = CountedFiles()
    both = opened(tmp_path, disk, max_open_files=4)
    target = both.online[1]
    write(replica(both), 3, *names("a", 100))
    others = [target.open_log("other", partition, CONFIG, NOW, bytes(range(16))) for partition in range(2)]
    for other in others:
        write(other, 0, "before")
    files = [other.segments.active.file.hold_open() for other in others]
    assert target.open_files == 2
    numbers = [one.fd for one in files]
    move = begin(both)
    assert move.future.directory not in {path.parent for path in disk.paths.values()}, "a copy that waits has no file"
    while (chunk := move.next_chunk()) is not None:
        move.append(chunk, NOW)
        copied = move.future.segments.active.file.hold_open()
        for other in others:
            assert texts(other) == ["before"]
        assert disk.paths[copied.fd] == move.future.segments.active.file.path
        assert [one.fd for one in files] == numbers
    assert len(move.future.segments) > 5
    move.catch_up(NOW)
    moved = move.exchange(NOW)
    assert texts(moved) == names("a", 100)
    write(moved, 3, "after")
    assert target.open_files == 2, "a moved replica shares the descriptors of its new directory"
    both.abort()
