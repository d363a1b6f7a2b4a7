"""Recovery after a crash: a torn tail at every byte, damage in the middle, rebuilt indexes, epochs and producers."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from odradek.protocol.records.batch import BATCH_HEADER_SIZE
from odradek.protocol.records.builder import encode_batch
from odradek.protocol.records.control import ControlRecordType, EndTransactionMarker, encode_end_transaction_batch
from odradek.protocol.records.record import Record
from odradek.storage.log.log import AppendOrigin, Log
from odradek.storage.log.log_config import LogConfig
from support.data.log_model import records_of
from support.data.timestamp_searches import offset_for_timestamp

NOW = 1_700_000_000_000


def batch(*values: bytes, timestamp: int = NOW, **fields: Any) -> bytes:
    return encode_batch([Record(i, timestamp, b"k", value, []) for i, value in enumerate(values)], **fields)


def reopen(directory: Path, **fields: Any) -> Log:
    return Log.open(directory, LogConfig(), now_ms=NOW, **fields)


def values_of(log: Log, offset: int = 0) -> list[bytes | None]:
    return [record.value for record in records_of(log.read(offset, 1 << 20).data)]


def test_a_tail_torn_at_every_byte_is_cut_to_whole_batches(tmp_path: Path) -> None:
    original = tmp_path / "original-0"
    log = reopen(original)
    log.appender.append_as_leader(batch(b"a", b"b"), 0, NOW)
    whole = log.segments.size_in_bytes
    log.appender.append_as_leader(batch(b"c", producer_id=1, producer_epoch=0, base_sequence=0), 1, NOW)
    size = log.segments.size_in_bytes
    log.abort()
    for end in range(whole, size + 1):
        directory = tmp_path / f"torn-{end}"
        shutil.copytree(original, directory)
        with (directory / f"{0:020d}.log").open("r+b") as file:
            file.truncate(end)
        torn = reopen(directory)
        kept = 3 if end == size else 2
        assert torn.log_end_offset == kept == torn.offsets.recovery_point
        assert values_of(torn) == [b"a", b"b", b"c"][:kept]
        assert (
            torn.segments.size_in_bytes
            == (size if end == size else whole)
            == (directory / f"{0:020d}.log").stat().st_size
        )
        assert torn.leader_epochs.entries == [(0, 0), (1, 2)][: kept - 1]
        assert list(torn.producer_state.producers) == [1][: kept - 2]
        info = torn.appender.append_as_leader(batch(b"d"), 1, NOW)
        assert info.first_offset == kept
        torn.close()


@pytest.mark.parametrize("position", [0, 8, 17, 21, BATCH_HEADER_SIZE, BATCH_HEADER_SIZE + 5])
def test_a_flipped_bit_ends_the_log_there(tmp_path: Path, position: int) -> None:
    log = reopen(tmp_path / "t-0")
    log.appender.append_as_leader(batch(b"a"), 0, NOW)
    damaged = log.segments.size_in_bytes + position
    log.appender.append_as_leader(batch(b"b"), 0, NOW)
    log.appender.append_as_leader(batch(b"c"), 0, NOW)
    log.abort()
    path = tmp_path / "t-0" / f"{0:020d}.log"
    data = bytearray(path.read_bytes())
    data[damaged] ^= 0x80 if position == 0 else 0x40
    path.write_bytes(data)
    log = reopen(tmp_path / "t-0")
    assert values_of(log) == [b"a"]
    assert log.log_end_offset == 1


def test_after_a_clean_stop_the_log_is_not_checked(tmp_path: Path) -> None:
    log = reopen(tmp_path / "t-0")
    log.appender.append_as_leader(batch(b"a"), 0, NOW)
    log.appender.append_as_leader(batch(b"b"), 0, NOW)
    log.close()
    path = tmp_path / "t-0" / f"{0:020d}.log"
    data = bytearray(path.read_bytes())
    data[-2] ^= 1
    path.write_bytes(data)
    log = reopen(tmp_path / "t-0", clean_shutdown=True)
    assert log.log_end_offset == 2


def test_segments_behind_a_damaged_one_are_removed(tmp_path: Path) -> None:
    log = reopen(tmp_path / "t-0")
    for value in (b"a", b"b", b"c"):
        log.appender.append_as_leader(batch(value), 0, NOW)
        log.roll(NOW)
    log.abort()
    with (tmp_path / "t-0" / f"{1:020d}.log").open("r+b") as file:
        file.truncate(65)
    log = reopen(tmp_path / "t-0")
    assert (log.log_end_offset, log.segments.base_offsets) == (1, [0, 1])
    assert sorted(path.name for path in (tmp_path / "t-0").glob("*.log")) == [f"{0:020d}.log", f"{1:020d}.log"]
    log.appender.append_as_leader(batch(b"d"), 0, NOW)
    assert values_of(log, 1) == [b"d"]


def test_recovery_checks_only_from_the_recovery_point_on(tmp_path: Path) -> None:
    log = reopen(tmp_path / "t-0")
    log.appender.append_as_leader(batch(b"a"), 0, NOW)
    log.roll(NOW)
    log.flusher.flush()
    log.appender.append_as_leader(batch(b"b"), 0, NOW)
    recovery_point = log.offsets.recovery_point
    log.abort()
    path = tmp_path / "t-0" / f"{0:020d}.log"
    data = bytearray(path.read_bytes())
    data[-2] ^= 1  # damage that is found only if the flushed segment is read
    path.write_bytes(data)
    log = reopen(tmp_path / "t-0", recovery_point=recovery_point)
    assert log.log_end_offset == 2


def test_a_batch_that_lost_its_offset_with_a_page_is_cut_behind_the_recovery_point(tmp_path: Path) -> None:
    """The base offset is not covered by the CRC: a lost page may turn it into 0 and leave the rest intact."""
    log = reopen(tmp_path / "t-0")
    for value in (b"a", b"b", b"c"):
        log.appender.append_as_leader(batch(value), 0, NOW)
    log.flusher.flush()
    recovery_point, synced = log.offsets.recovery_point, log.segments.size_in_bytes
    log.appender.append_as_leader(batch(b"d"), 0, NOW)
    log.abort()
    path = tmp_path / "t-0" / f"{0:020d}.log"
    data = bytearray(path.read_bytes())
    data[synced : synced + 8] = bytes(8)
    path.write_bytes(data)
    log = reopen(tmp_path / "t-0", recovery_point=recovery_point)
    assert (log.log_end_offset, log.segments.size_in_bytes) == (3, synced)
    assert values_of(log) == [b"a", b"b", b"c"]


def test_rebuilt_indexes_equal_those_that_were_written(tmp_path: Path) -> None:
    config = LogConfig(segment_bytes=6000, index_interval_bytes=300)
    log = Log.open(tmp_path / "t-0", config, now_ms=NOW)
    for number in range(300):
        log.appender.append_as_leader(batch(b"v" * (number % 50), timestamp=NOW + number * 7 % 100), 0, NOW)
    log.close()
    written = {path.name: path.read_bytes() for path in (tmp_path / "t-0").glob("*index")}
    assert len(written) > 6
    assert any(len(data) > 100 for data in written.values())
    for path in (tmp_path / "t-0").glob("*index"):
        path.write_bytes(b"\0" * 10_485_756 if path.suffix == ".timeindex" else b"\0" * 10_485_760)
    Log.open(tmp_path / "t-0", config, now_ms=NOW).close()
    assert {path.name: path.read_bytes() for path in (tmp_path / "t-0").glob("*index")} == written


@pytest.mark.parametrize("damage", ["removed", "garbage", "zeros", "beyond the log"])
def test_a_bad_index_is_rebuilt_even_after_a_clean_stop(tmp_path: Path, damage: str) -> None:
    config = LogConfig(index_interval_bytes=1)
    log = Log.open(tmp_path / "t-0", config, now_ms=NOW)
    for number in range(50):
        log.appender.append_as_leader(batch(b"%d" % number, timestamp=NOW + number), 0, NOW)
    log.roll(NOW)
    log.close()
    for path in (tmp_path / "t-0").glob(f"{0:020d}.*index"):
        data = path.read_bytes()
        if damage == "removed":
            path.unlink()
        else:
            new = {"garbage": b"\x13" * (len(data) // 2) + data[len(data) // 2 :], "zeros": b"\0" * len(data)}
            path.write_bytes(new.get(damage, data[:-4] + b"\x7f\xff\xff\xff"))
    log = Log.open(tmp_path / "t-0", config, now_ms=NOW, clean_shutdown=True)
    assert log.log_end_offset == 50
    for offset in range(50):
        assert values_of(log, offset)[0] == b"%d" % offset
        found = offset_for_timestamp(log, NOW + offset)
        assert found is not None
        assert found.offset == offset


def test_transactions_come_back_from_the_log_and_from_snapshots(tmp_path: Path) -> None:
    log = reopen(tmp_path / "t-0")
    fields = {"producer_epoch": 0, "is_transactional": True}
    log.appender.append_as_leader(batch(b"a", producer_id=1, base_sequence=0, **fields), 0, NOW)
    log.appender.append_as_leader(batch(b"b", producer_id=2, base_sequence=0, **fields), 0, NOW)
    abort = encode_end_transaction_batch(
        EndTransactionMarker(ControlRecordType.ABORT, 3), timestamp=NOW, producer_id=1, producer_epoch=0
    )
    log.appender.append_as_leader(abort, 0, NOW, origin=AppendOrigin.COORDINATOR)
    before = (log.last_stable_offset, log.aborted_transactions(0, 3), log.producer_state.producers)
    assert before[0] == 1
    assert [(t.producer_id, t.first_offset, t.last_offset) for t in before[1]] == [(1, 0, 2)]
    log.abort()
    log = reopen(tmp_path / "t-0")
    assert (log.last_stable_offset, log.aborted_transactions(0, 3), log.producer_state.producers) == before
    log.close()
    assert (tmp_path / "t-0" / f"{3:020d}.snapshot").exists()
    log = reopen(tmp_path / "t-0", clean_shutdown=True)
    assert (log.last_stable_offset, log.aborted_transactions(0, 3)) == before[:2]


@pytest.mark.parametrize("suffix", [".deleted", ".cleaned", ".tmp"])
def test_half_done_files_are_removed(tmp_path: Path, suffix: str) -> None:
    log = reopen(tmp_path / "t-0")
    log.appender.append_as_leader(batch(b"a"), 0, NOW)
    log.close()
    for name in (f"{0:020d}.log{suffix}", f"{7:020d}.index{suffix}"):
        (tmp_path / "t-0" / name).write_bytes(b"x")
    log = reopen(tmp_path / "t-0", clean_shutdown=True)
    assert values_of(log) == [b"a"]
    assert not list((tmp_path / "t-0").glob(f"*{suffix}"))


def test_a_swap_file_takes_the_place_of_the_segments_it_covers(tmp_path: Path) -> None:
    log = reopen(tmp_path / "t-0")
    for value in (b"a", b"b"):
        log.appender.append_as_leader(batch(value), 0, NOW)
        log.roll(NOW)
    log.appender.append_as_leader(batch(b"c"), 0, NOW)
    log.close()
    directory = tmp_path / "t-0"
    merged = (directory / f"{0:020d}.log").read_bytes() + (directory / f"{1:020d}.log").read_bytes()
    (directory / f"{0:020d}.log.swap").write_bytes(merged)
    log = reopen(directory, clean_shutdown=True)
    assert log.segments.base_offsets == [0, 2]
    assert values_of(log) == [b"a", b"b"]
    assert values_of(log, 2) == [b"c"]


def test_a_log_start_offset_after_the_end_is_ignored(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Kafka removes all segments then: one wrong digit in the checkpoint costs the partition."""
    log = reopen(tmp_path / "t-0")
    log.appender.append_as_leader(batch(b"a"), 0, NOW)
    log.abort()
    log = reopen(tmp_path / "t-0", log_start_offset=9)
    assert (log.log_start_offset, log.log_end_offset, log.segments.base_offsets) == (0, 1, [0])
    assert values_of(log) == [b"a"]
    assert "log-start-offset-checkpoint says that the log starts at offset 9, but it ends at 1" in caplog.text


def test_a_damaged_transaction_index_is_rebuilt_even_after_a_clean_stop(tmp_path: Path) -> None:
    log = reopen(tmp_path / "t-0")
    data = batch(b"a", producer_id=1, producer_epoch=0, base_sequence=0, is_transactional=True)
    log.appender.append_as_leader(data, 0, NOW)
    abort = encode_end_transaction_batch(
        EndTransactionMarker(ControlRecordType.ABORT, 3), timestamp=NOW, producer_id=1, producer_epoch=0
    )
    log.appender.append_as_leader(abort, 0, NOW, origin=AppendOrigin.COORDINATOR)
    aborted = log.aborted_transactions(0, 2)
    log.close()
    path = tmp_path / "t-0" / f"{0:020d}.txnindex"
    good = path.read_bytes()
    assert len(good) == 34
    path.write_bytes(b"\x09" + good[1:])
    log = reopen(tmp_path / "t-0", clean_shutdown=True)
    assert log.aborted_transactions(0, 2) == aborted
    log.close()
    assert path.read_bytes() == good


@pytest.mark.parametrize("is_compacted", [False, True])
def test_a_hole_between_segments_is_named_and_kept(
    tmp_path: Path, is_compacted: bool, caplog: pytest.LogCaptureFixture
) -> None:
    config = LogConfig(cleanup_policy=frozenset({"compact" if is_compacted else "delete"}))
    log = Log.open(tmp_path / "t-0", config, now_ms=NOW)
    for value in (b"a", b"b"):
        log.appender.append_as_leader(batch(value), 0, NOW)
    first = len(log.read(0, 1).data)
    log.roll(NOW)
    log.appender.append_as_leader(batch(b"c"), 0, NOW)
    log.abort()
    with (tmp_path / "t-0" / f"{0:020d}.log").open("r+b") as file:
        file.truncate(first)
    log = Log.open(tmp_path / "t-0", config, now_ms=NOW)
    assert (log.log_end_offset, values_of(log, 0), values_of(log, 1)) == (3, [b"a"], [b"c"])
    named = [r.getMessage() for r in caplog.records if "the next segment begins at 2" in r.getMessage()]
    assert len(named) == (not is_compacted)
    assert all(f"{0:020d}.log ends before offset 1" in message for message in named)
    log.close()
