"""Cleaning rounds over an open log: what readers see during and after them, what interrupts them, failing steps."""

import errno
import os
import random
from dataclasses import replace
from pathlib import Path

import pytest

from odradek.protocol.errors import KafkaError
from odradek.protocol.records.batch import iterate_headers
from odradek.protocol.records.builder import encode_batch
from odradek.protocol.records.record import Record, decode_records
from odradek.storage.compaction.live_round import LiveRound, range_of, sealed_and_active
from odradek.storage.compaction.order import CleaningOutcome, carry_out
from odradek.storage.compaction.pace import CleaningStoppedError, full_speed
from odradek.storage.files.descriptors import DescriptorCache
from odradek.storage.files.files import Files
from odradek.storage.log.log import FileRegion, Log
from odradek.storage.log.log_config import LogConfig
from support.data.cleaned_log import UNLIMITED, clean_log
from support.disks.faulty_files import FaultyFiles
from support.disks.unsynced_files import UnsyncedFiles

NOW_MS = 1_780_000_000_000
DELETE_DELAY_MS = 1000
CONFIG = LogConfig(
    cleanup_policy=frozenset({"compact"}),
    segment_bytes=2000,
    index_interval_bytes=200,
    file_delete_delay_ms=DELETE_DELAY_MS,
)
Kept = dict[int, tuple[bytes | None, bytes | None]]


def open_log(directory: Path, files: Files | None = None, config: LogConfig = CONFIG, **how: int | bool) -> Log:
    cache = DescriptorCache(files or UnsyncedFiles())
    return Log.open(directory, config, now_ms=NOW_MS, descriptors=cache, **how)  # type: ignore[arg-type]


def append(log: Log, *records: tuple[bytes, bytes | None]) -> int:
    batch = encode_batch([Record(i, NOW_MS, key, value, []) for i, (key, value) in enumerate(records)])
    return log.appender.append_as_leader(batch, 0, NOW_MS).first_offset


def fill(log: Log, count: int, keys: int, seed: int = 1) -> Kept:
    """Appends records; returns them by offset."""
    rng = random.Random(seed)
    written: Kept = {}
    for number in range(count):
        key, value = b"key-%d" % rng.randrange(keys), b"value-%d" % number * 4
        written[append(log, (key, value))] = (key, value)
    log.flusher.flush()  # unsynced data, which a power failure may lose, is not cleaned
    return written


def latest(written: Kept) -> Kept:
    last = {key: offset for offset, (key, _) in sorted(written.items())}
    return {offset: record for offset, record in written.items() if last[record[0]] == offset}


def contents(log: Log, start: int | None = None) -> Kept:
    """All records, read as a consumer does: from one batch to the next."""
    found: Kept = {}
    offset = log.log_start_offset if start is None else start
    while offset < log.log_end_offset:
        read = log.read(offset, 3000)
        data = read.data
        if isinstance(data, FileRegion):
            data = os.pread(data.fd, len(data), data.position)
        for position, header in iterate_headers(data):
            if position + header.size_in_bytes > len(data):
                break
            for record in decode_records(data[position:], header):
                if record.offset >= log.log_start_offset:
                    found[record.offset] = (record.key, record.value)
            offset = header.next_offset
        if not data:
            break
    return found


def begin(log: Log) -> tuple[LiveRound, CleaningOutcome]:
    """Starts a round and writes its `.cleaned` files."""
    offsets = range_of(log, sealed_and_active(log), None, NOW_MS)
    round_ = LiveRound(log, offsets, NOW_MS, UNLIMITED)
    return round_, carry_out(round_.order, round_.files, full_speed())


def names(log: Log, *suffixes: str) -> list[str]:
    return sorted(path.name for path in log.directory.iterdir() if path.name.endswith(suffixes))


def test_every_key_keeps_its_latest_value_at_its_offset(tmp_path: Path) -> None:
    log = open_log(tmp_path / "t-0")
    written = fill(log, 300, keys=7)
    before, active = log.segments.size_in_bytes, log.segments.active.base_offset
    outcome = clean_log(log, cleaned_up_to=None, now_ms=NOW_MS)
    expected = latest({offset: record for offset, record in written.items() if offset < active})
    expected |= {offset: record for offset, record in written.items() if offset >= active}
    # The last batch of the range remains as an empty header. Records of other batches are the latest of their keys.
    assert contents(log) == expected
    assert outcome.result.cleaned_up_to == active
    assert log.segments.size_in_bytes < before / 4
    assert (log.log_start_offset, log.log_end_offset) == (0, 300)
    log.close()
    again = open_log(tmp_path / "t-0", clean_shutdown=True)
    assert contents(again) == expected
    recovered = open_log(tmp_path / "t-0")
    assert contents(recovered) == expected


def test_the_log_goes_on_while_and_after_it_is_cleaned(tmp_path: Path) -> None:
    log = open_log(tmp_path / "t-0")
    written = fill(log, 200, keys=5)
    round_, outcome = begin(log)
    more = fill(log, 100, keys=5, seed=2)  # rolls segments that the round knows nothing of
    for group in outcome.groups:
        round_.stage(group)
        round_.commit(group, NOW_MS)
        assert log.read(log.log_start_offset, 10_000).data, "it is served under its passing name"
        round_.rename()
    round_.close(is_done=True)
    found = contents(log)
    assert max(found) == 299
    assert {offset: record for offset, record in found.items() if offset >= 200} == more
    assert clean_log(log, cleaned_up_to=outcome.result.cleaned_up_to, now_ms=NOW_MS).result.is_changed
    last = {key: value for _, (key, value) in sorted((written | more).items())}
    assert {key: value for _, (key, value) in sorted(contents(log).items())} == last


def test_who_reads_a_replaced_segment_reads_on(tmp_path: Path) -> None:
    config = replace(CONFIG, segment_bytes=200_000)
    log = open_log(tmp_path / "t-0", config=config)
    for number in range(40):
        append(log, (b"key", b"%03d" % number + bytes(5000)))
    log.roll(NOW_MS)
    append(log, (b"key", b"end"))
    log.flusher.flush()
    region = log.read(0, 100_000).data
    assert isinstance(region, FileRegion)
    before = os.pread(region.fd, len(region), region.position)
    clean_log(log, cleaned_up_to=None, now_ms=NOW_MS)
    assert os.pread(region.fd, len(region), region.position) == before
    assert names(log, ".log.deleted") == ["00000000000000000000.log.deleted"]
    assert log.remove_deleted_files(NOW_MS + DELETE_DELAY_MS - 1) == 0
    assert log.remove_deleted_files(NOW_MS + DELETE_DELAY_MS) == 3
    assert os.pread(region.fd, len(region), region.position) == before
    region.close()
    assert names(log, ".deleted") == []
    assert list(contents(log)) == [39, 40]


def test_segments_are_merged_and_their_snapshots_go(tmp_path: Path) -> None:
    log = open_log(tmp_path / "t-0")
    sequence = 0
    for number in range(120):
        batch = encode_batch(
            [Record(0, NOW_MS, b"key-%d" % (number % 3), b"v" * 30, [])],
            producer_id=7,
            producer_epoch=0,
            base_sequence=sequence,
        )
        sequence += 1
        log.appender.append_as_leader(batch, 0, NOW_MS)
    log.flusher.flush()
    bases = log.segments.base_offsets
    assert len(bases) > 4
    assert len(names(log, ".snapshot")) == len(bases) - 1
    for _ in range(2):  # segments that one round makes small are merged by the next one, as in Kafka
        clean_log(log, cleaned_up_to=None, now_ms=NOW_MS)
    assert log.segments.base_offsets == [0, bases[-1]]
    assert names(log, ".snapshot") == [f"{bases[-1]:020d}.snapshot"]
    log.close()
    again = open_log(tmp_path / "t-0")
    entry = again.producer_state.producers[7]
    assert entry.last_sequence == sequence - 1


def interruptions() -> list[str]:
    return ["truncate", "start anew", "retention", "move", "abort", "policy"]


@pytest.mark.parametrize("how", interruptions())
@pytest.mark.parametrize("step", ["written", "staged", "committed"])
def test_what_changes_the_segments_ends_the_round(tmp_path: Path, how: str, step: str) -> None:
    log = open_log(tmp_path / "t-0", Files())
    written = fill(log, 200, keys=5)
    round_, outcome = begin(log)
    group = outcome.groups[0]
    if step != "written":
        round_.stage(group)
    if step == "committed":
        round_.commit(group, NOW_MS)
        written = contents(log)
    if how == "truncate":
        log.removal.truncate_to(50)
    elif how == "start anew":
        log.removal.truncate_fully_and_start_at(400)
    elif how == "retention":
        log.offsets.increment_log_start_offset(log.segments.base_offsets[2])
        log.delete_old_segments(NOW_MS)
    elif how == "move":
        log.directory.rename(tmp_path / "t-0.moved-delete")
        log.move_to(tmp_path / "t-0.moved-delete")
    elif how == "abort":
        log.abort()
    else:
        log.update_config(replace(CONFIG, cleanup_policy=frozenset({"delete"})))
    assert round_.is_interrupted
    with pytest.raises(CleaningStoppedError):
        round_.commit(group, NOW_MS) if step == "staged" else round_.stage(
            group if step == "written" else outcome.groups[1]
        )
    round_.close(is_done=False)
    directory = log.directory
    assert not [path for path in directory.iterdir() if path.name.endswith(".swap")] or how == "move"
    if how not in ("move", "abort"):
        start, end = log.log_start_offset, log.log_end_offset
        assert contents(log) == {offset: record for offset, record in written.items() if start <= offset < end}
    log.abort()
    again = open_log(directory, log_start_offset=log.log_start_offset)
    if how != "move":  # a renamed directory will be deleted, so staged files may stay in it
        start, end = again.log_start_offset, again.log_end_offset
        assert contents(again) == {offset: record for offset, record in written.items() if start <= offset < end}


def test_what_is_not_synced_is_not_cleaned(tmp_path: Path) -> None:
    """Otherwise a record could be removed because of a later one of its key, which a power failure could then lose."""
    log = open_log(tmp_path / "t-0")
    fill(log, 100, keys=5)
    synced = log.segments.active.base_offset
    for number in range(100):
        append(log, (b"key-%d" % (number % 5), b"value" * 4))
    assert len(log.segments) > 2
    assert clean_log(log, cleaned_up_to=None, now_ms=NOW_MS).result.cleaned_up_to == synced


def test_deleting_records_does_not_end_a_round(tmp_path: Path) -> None:
    log = open_log(tmp_path / "t-0")
    fill(log, 200, keys=5)
    round_, outcome = begin(log)
    log.offsets.increment_log_start_offset(90)
    for group in outcome.groups:
        round_.stage(group)
        round_.commit(group, NOW_MS)
        assert log.read(log.log_start_offset, 10_000).data, "it is served under its passing name"
        round_.rename()
    round_.close(is_done=True)
    assert log.log_start_offset == 90
    assert min(contents(log)) >= 90


def test_damage_is_named_and_changes_nothing(tmp_path: Path) -> None:
    log = open_log(tmp_path / "t-0")
    written = fill(log, 200, keys=5)
    damaged = log.directory / f"{log.segments.base_offsets[1]:020d}.log"
    data = bytearray(damaged.read_bytes())
    first = next(header for _, header in iterate_headers(data))
    data[first.size_in_bytes + 70] ^= 0x10
    damaged.write_bytes(data)
    with pytest.raises(KafkaError) as caught:
        clean_log(log, cleaned_up_to=None, now_ms=NOW_MS)
    assert f"{damaged}, position {first.size_in_bytes}, offset 20: " in str(caught.value)
    assert "stored crc" in str(caught.value)
    assert names(log, ".cleaned", ".swap", ".deleted") == []
    assert log.log_files.cleaning is None
    assert append(log, (b"key", b"value")) == 200
    assert len(written) == 200


@pytest.mark.parametrize("operation", ["create", "write", "sync", "rename", "truncate"])
def test_each_step_that_fails_leaves_the_log_or_says_that_it_is_over(tmp_path: Path, operation: str) -> None:
    """The nth operation of a round fails, for every n. The log is unchanged, or complete after the next open."""
    for nth in range(200):
        files = FaultyFiles()
        directory = tmp_path / f"{operation}-{nth}" / "t-0"
        log = open_log(directory, files)
        written = fill(log, 60, keys=5)
        active = log.segments.active.base_offset
        cleaned = latest({o: r for o, r in written.items() if o < active}) | {
            o: r for o, r in written.items() if o >= active
        }
        files.fail(operation, after=nth, error=errno.EIO)
        try:
            clean_log(log, cleaned_up_to=None, now_ms=NOW_MS)
        except (OSError, KafkaError):
            failed = True
        else:
            failed = False
        files.repair()
        if log.health.failure is None:
            assert cleaned.items() <= contents(log).items() <= written.items(), f"{operation} {nth}"
            append(log, (b"more", b"1"))
            log.flusher.flush()
            written[60] = cleaned[60] = (b"more", b"1")
            assert clean_log(log, cleaned_up_to=None, now_ms=NOW_MS).result.cleaned_up_to == active
            assert contents(log) == cleaned, f"{operation} {nth}"
        log.abort()
        # Each group is swapped in completely or not at all. Those before the failure are.
        assert cleaned.items() <= contents(open_log(directory)).items() <= written.items(), f"{operation} {nth}"
        if not failed:
            assert nth > 0
            return
    raise AssertionError(f"200 times {operation}")
