"""A truncation takes effect at once. Its waits for the disk may run on another thread."""

import itertools
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from odradek.protocol.records.builder import BatchBuilder
from odradek.protocol.records.control import ControlRecordType, EndTransactionMarker, encode_end_transaction_batch
from odradek.storage.compaction.grouping import CleanableRange
from odradek.storage.compaction.live_round import LiveRound
from odradek.storage.errors import StorageError
from odradek.storage.files.files import Files
from odradek.storage.log.log import Log
from odradek.storage.log.log_config import LogConfig
from odradek.storage.log.producer_replay import HEADERS_A_STEP
from support.data.cleaned_log import UNLIMITED

NOW_MS = 1_700_000_000_000
RECORDS = 60


class WatchedFiles(Files):
    """Notes the threads that sync; the syncs fail if ``error`` is set."""

    def __init__(self) -> None:
        self.threads: set[int] = set()
        self.error: OSError | None = None

    def sync(self, descriptor: int) -> None:
        self._note()
        super().sync(descriptor)

    def sync_directory(self, path: Path) -> None:
        self._note()
        super().sync_directory(path)

    def _note(self) -> None:
        self.threads.add(threading.get_ident())
        if self.error is not None:
            raise self.error


@pytest.fixture
def files() -> WatchedFiles:
    return WatchedFiles()


@pytest.fixture
def log(tmp_path: Path, files: WatchedFiles) -> Iterator[Log]:
    """60 records in several segments."""
    log = Log.open(tmp_path / "t-0", LogConfig(segment_bytes=1_000), now_ms=NOW_MS, files=files)
    for offset in range(RECORDS):
        log.appender.append_as_follower(batch(offset), NOW_MS)
    assert len(list(log.segments)) > 3
    files.threads.clear()
    yield log
    log.abort()


def batch(offset: int, value: bytes = b"value") -> bytes:
    builder = BatchBuilder(partition_leader_epoch=3)
    builder.append(NOW_MS, None, value)
    builder.move_to(offset)
    return bytes(builder.build())


def on_a_thread(work: object) -> int:
    thread = threading.Thread(target=work)  # type: ignore[arg-type]
    thread.start()
    thread.join()
    assert thread.ident is not None
    return thread.ident


def all_bytes(log: Log) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(log.directory.glob("*.log")))


def test_only_the_other_thread_waits_for_the_disk(log: Log, files: WatchedFiles) -> None:
    pending = log.removal.begin_truncation(10)
    assert pending is not None
    assert (log.log_end_offset, files.threads) == (10, set())
    assert log.read(5, 1 << 20).data == b"".join(batch(offset) for offset in range(5, 10))
    writer = on_a_thread(pending.write)
    log.removal.complete_truncation(pending, 10)
    assert files.threads == {writer}
    assert all_bytes(log) == b"".join(batch(offset) for offset in range(10))


def test_append_waits_until_the_files_are_cut(log: Log) -> None:
    """A leader that was elected during the truncation appends. Truncated records do not return after its batch."""
    pending = log.removal.begin_truncation(10)
    assert pending is not None
    log.appender.append_as_follower(batch(10, b"another"), NOW_MS)
    pending.write()
    log.removal.complete_truncation(pending, 10)
    assert all_bytes(log) == b"".join(batch(offset) for offset in range(10)) + batch(10, b"another")


def test_kill_before_the_files_are_cut_undoes_the_truncation(log: Log, tmp_path: Path) -> None:
    whole = all_bytes(log)
    assert log.removal.begin_truncation(10) is not None
    again = Log.open(tmp_path / "t-0", LogConfig(segment_bytes=1_000), now_ms=NOW_MS)
    assert (again.log_end_offset, all_bytes(again)) == (RECORDS, whole)
    again.abort()


def test_disk_that_fails_makes_the_log_unusable(log: Log, files: WatchedFiles) -> None:
    pending = log.removal.begin_truncation(10)
    assert pending is not None
    files.error = OSError(5, "Input/output error")
    on_a_thread(pending.write)
    with pytest.raises(StorageError):
        log.removal.complete_truncation(pending, 10)
    with pytest.raises(StorageError):
        log.appender.append_as_follower(batch(10), NOW_MS)


def test_offset_below_the_first_segment_empties_the_log(log: Log, tmp_path: Path) -> None:
    log.removal.truncate_fully_and_start_at(100)
    log.appender.append_as_follower(batch(100), NOW_MS)
    pending = log.removal.begin_truncation(7)
    assert pending is not None
    pending.write()
    log.removal.complete_truncation(pending, 7)
    assert (log.log_start_offset, log.log_end_offset, len(list(log.segments))) == (7, 7, 1)


def test_nothing_beyond_the_end_is_pending(log: Log) -> None:
    assert log.removal.begin_truncation(RECORDS) is None


IN_TRANSACTION, AFTER_THE_ABORT, LATER = 150, 200, 230
"""Offsets in the log of a producer."""


def transactional(offset: int) -> bytes:
    builder = BatchBuilder(producer_id=7, producer_epoch=1, base_sequence=offset, is_transactional=True)
    builder.append(NOW_MS, None, b"value")
    builder.move_to(offset)
    return bytes(builder.build())


@pytest.fixture
def produced(tmp_path: Path, files: WatchedFiles) -> Iterator[Log]:
    """A transaction from offset 0 on that is aborted, and another one after it, in one segment."""
    log = Log.open(tmp_path / "p-0", LogConfig(), now_ms=NOW_MS, files=files)
    for offset in range(LATER):
        if offset == AFTER_THE_ABORT - 1:
            marker = EndTransactionMarker(ControlRecordType.ABORT, 0)
            data = bytearray(encode_end_transaction_batch(marker, timestamp=NOW_MS, producer_id=7, producer_epoch=1))
            data[:8] = offset.to_bytes(8, "big")
            log.appender.append_as_follower(bytes(data), NOW_MS)
        else:
            log.appender.append_as_follower(transactional(offset), NOW_MS)
    assert log.producer_state.first_undecided_offset == AFTER_THE_ABORT
    yield log
    log.abort()


def assert_as_after_a_start(log: Log, tmp_path: Path) -> None:
    """Asserts that the producers are those that a start reads from the same files."""
    copy = tmp_path / "copy-0"
    copy.mkdir()
    (copy / f"{0:020}.log").write_bytes(all_bytes(log))
    again = Log.open(copy, LogConfig(), now_ms=NOW_MS)
    assert (again.log_end_offset, again.producer_state.producers) == (log.log_end_offset, log.producer_state.producers)
    assert again.producer_state.first_undecided_offset == log.producer_state.first_undecided_offset
    again.abort()


@pytest.mark.parametrize("steps", [0, 1, None], ids=["by-the-end", "some", "all"])
def test_producers_are_replayed_in_steps(produced: Log, tmp_path: Path, steps: int | None) -> None:
    """The marker is truncated, so its transaction is open again. Remaining steps run at its completion."""
    pending = produced.removal.begin_truncation(IN_TRANSACTION)
    assert pending is not None
    on_a_thread(pending.write)
    before = produced.producer_state.producers
    taken = len(list(itertools.islice(pending.rebuilding(), steps)))
    assert taken == (IN_TRANSACTION // HEADERS_A_STEP if steps is None else steps)
    assert (produced.producer_state.producers is before) == (steps is not None)
    produced.removal.complete_truncation(pending, IN_TRANSACTION)
    assert produced.producer_state.first_undecided_offset == 0
    assert produced.producer_state.producers[7].last_sequence == IN_TRANSACTION - 1
    assert_as_after_a_start(produced, tmp_path)


def test_append_comes_after_all_steps(produced: Log, tmp_path: Path) -> None:
    """A leader that was elected during the truncation checks a batch against the remaining records, not the truncated
    ones.
    """
    pending = produced.removal.begin_truncation(IN_TRANSACTION)
    assert pending is not None
    on_a_thread(pending.write)
    next(pending.rebuilding())
    again = bytes(8) + transactional(IN_TRANSACTION)[8:]
    info = produced.appender.append_as_leader(again, 4, NOW_MS)
    assert (info.first_offset, info.duplicate) == (IN_TRANSACTION, False)
    assert list(pending.rebuilding()) == []
    produced.removal.complete_truncation(pending, IN_TRANSACTION)
    assert_as_after_a_start(produced, tmp_path)


def test_cleaning_begins_after_all_steps(produced: Log) -> None:
    """Cleaning needs the producers, because it keeps the last record of each, from which a start knows its sequence."""
    pending = produced.removal.begin_truncation(IN_TRANSACTION)
    assert pending is not None
    round_ = LiveRound(produced, CleanableRange(0, 0), NOW_MS, UNLIMITED)
    assert [one.last_data_offset for one in round_.order.last_records.values()] == [IN_TRANSACTION - 1]
    round_.close(is_done=False)


def test_leader_epoch_begins_after_all_steps(produced: Log) -> None:
    """A new leader reads the open transactions before it appends."""
    assert produced.removal.begin_truncation(IN_TRANSACTION) is not None
    produced.assign_epoch(4)
    assert produced.producer_state.first_undecided_offset == 0
