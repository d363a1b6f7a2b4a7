"""A flipped bit is found and reported: in recovery, in a checked read, in compaction, in every small file."""

import logging
import random
import shutil
from pathlib import Path
from typing import Any

import pytest

from odradek.protocol.errors import KafkaError
from odradek.protocol.records.batch import MAGIC_POSITION, iterate_headers
from odradek.protocol.records.builder import encode_batch
from odradek.protocol.records.control import ControlRecordType, EndTransactionMarker, encode_end_transaction_batch
from odradek.protocol.records.errors import CorruptRecordError
from odradek.protocol.records.record import Record
from odradek.storage.directory.log_directory import LogDirectory
from odradek.storage.errors import CorruptCheckpointError, UnsupportedBatchError
from odradek.storage.files.files import Files
from odradek.storage.log.log import AppendOrigin, Log
from odradek.storage.log.log_config import LogConfig
from odradek.storage.log.read_check import check_aborted, read_checked

from ..crashes.model import check_parts, found_batches
from ..crashes.run import compact_partition

NOW = 1_700_000_000_000
CONFIG = LogConfig(segment_bytes=400, index_interval_bytes=1)


def batch(value: bytes, **fields: Any) -> bytes:
    return encode_batch([Record(0, NOW, b"k", value, [])], **fields)


def fill(root: Path) -> Path:
    """Fills a directory with a partition that has aborted transactions and two epochs, and closes it cleanly."""
    directory = LogDirectory.open(root, chance=random.Random(1))
    directory.format("A" * 22, 1, bytes(range(16)))
    for partition in range(1):
        log = directory.open_log("t", partition, CONFIG, NOW, bytes(range(16)))
        for number in range(12):
            fields = {"producer_id": 7, "producer_epoch": 0, "base_sequence": number, "is_transactional": True}
            log.appender.append_as_leader(batch(b"%d" % number, **fields), number // 6, NOW)
            if number % 4 == 3:
                marker = EndTransactionMarker(ControlRecordType.ABORT, 1)
                end = encode_end_transaction_batch(marker, timestamp=NOW, producer_id=7, producer_epoch=0)
                log.appender.append_as_leader(end, number // 6, NOW, origin=AppendOrigin.COORDINATOR)
        log.offsets.increment_log_start_offset(1)
    directory.close(1)
    return root


def facts(log: Log) -> object:
    producers = {
        key: (entry.producer_epoch, entry.last_sequence, entry.last_offset, entry.transaction_first_offset)
        for key, entry in log.producer_state.producers.items()
    }
    # The last stable offset in an entry may be too low. Then one more entry is read.
    aborted = [entry[:3] for entry in log.aborted_transactions(log.log_start_offset, log.log_end_offset)]
    entries = log.leader_epochs.entries
    return log.log_end_offset, entries, producers, aborted, [b.data for b in found_batches(log)]


def flip(path: Path, position: int, bit: int = 0) -> None:
    data = bytearray(path.read_bytes())
    data[position] ^= 1 << bit
    path.write_bytes(data)


@pytest.fixture
def caught(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.INFO)
    return caplog


@pytest.mark.parametrize("seed", range(8))
def test_recovery_finds_every_flipped_bit_of_a_log(tmp_path: Path, seed: int, caught: pytest.LogCaptureFixture) -> None:
    """The log ends before the damaged batch; the message names the file and the position."""
    chance = random.Random(seed)
    original = fill(tmp_path / "original") / "t-0"
    (tmp_path / "original" / ".kafka_cleanshutdown").unlink()
    for _ in range(12):
        shutil.rmtree(tmp_path / "t-0", ignore_errors=True)
        shutil.copytree(original, tmp_path / "t-0")
        path = chance.choice(sorted((tmp_path / "t-0").glob("*.log")))
        data = path.read_bytes()
        if not data:
            continue
        position = chance.randrange(len(data))
        places = [(at, header) for at, header in iterate_headers(data)]
        damaged, header = next((a, h) for a, h in reversed(places) if a <= position)
        following = [h for a, h in places if a > damaged]
        if position - damaged in range(8) or position - damaged in range(12, 16):
            # Offset and epoch are not covered by the CRC: only neighbouring batches show that they are wrong.
            bit = 7 if not following and position - damaged < 8 else chance.randrange(8)
            if not following:
                continue
        else:
            bit = chance.randrange(8)
        flip(path, position, bit)
        caught.clear()
        replay = f"replay: seed {seed}, {path.name}, position {position}, bit {bit}"
        if data[position] ^ 1 << bit > 2 and position - damaged == MAGIC_POSITION:
            # The batch may be of a later message format: nothing is cut, and the partition is not served.
            with pytest.raises(UnsupportedBatchError, match=f"{path.name}: the batch at byte {damaged} is whole"):
                Log.open(tmp_path / "t-0", CONFIG, now_ms=NOW)
            continue
        log = Log.open(tmp_path / "t-0", CONFIG, now_ms=NOW)
        assert log.log_end_offset == header.base_offset, replay
        assert any(path.name in r.getMessage() and str(damaged) in r.getMessage() for r in caught.records), replay
        check_parts(log)
        log.close()


def test_a_checked_read_finds_every_flipped_bit(tmp_path: Path, caught: pytest.LogCaptureFixture) -> None:
    """After a clean stop damage is found and reported when it is read; in the length of a last batch, at the start."""
    root = fill(tmp_path / "original")
    [*_, path] = [p for p in sorted((root / "t-0").glob("*.log")) if p.stat().st_size > 200]
    data = path.read_bytes()
    places = list(iterate_headers(data))
    shutil.copytree(root / "t-0", tmp_path / "copy")
    for position in range(0, places[-1][0], 5):
        damaged = next(a for a, _ in reversed(places) if a <= position)
        flip(path, position, position % 8)
        with pytest.raises(KafkaError) as found:  # noqa: PT012
            log = Log.open(root / "t-0", CONFIG, now_ms=NOW, clean_shutdown=True)
            for at, batch_header in places:
                read_checked(log, batch_header.base_offset, 1 << 20, log.log_end_offset, min_one_batch=True)
                assert at <= damaged, f"position {position} of {path.name} was not found"
        assert path.name in found.value.message + caught.text, f"position {position}: {found.value}"
        caught.clear()
        shutil.rmtree(root / "t-0")
        shutil.copytree(tmp_path / "copy", root / "t-0")
    log = Log.open(root / "t-0", CONFIG, now_ms=NOW, clean_shutdown=True)
    assert len(read_checked(log, 1, 1 << 20, log.log_end_offset, min_one_batch=True).data) > 0
    log.abort()


def test_compaction_finds_a_flipped_bit_and_leaves_the_log_as_it_was(tmp_path: Path) -> None:
    root = fill(tmp_path / "logs")
    path = sorted((root / "t-0").glob("*.log"))[0]
    flip(path, 65, 3)
    before = {p.name: p.read_bytes() for p in (root / "t-0").iterdir()}
    with pytest.raises(CorruptRecordError, match=f"{path.name}, position 0, offset 0: .*crc"):
        compact_partition(Files(), root / "t-0", CONFIG, NOW)
    after = {p.name: p.read_bytes() for p in (root / "t-0").iterdir() if not p.name.endswith(".cleaned")}
    assert after == before


SMALL_FILES = [
    "t-0/leader-epoch-checkpoint",
    "t-0/partition.metadata",
    "meta.properties",
    "recovery-point-offset-checkpoint",
    "log-start-offset-checkpoint",
    "replication-offset-checkpoint",
    ".kafka_cleanshutdown",
    "t-0/*.index",
    "t-0/*.timeindex",
    "t-0/*.txnindex",
    "t-0/*.snapshot",
]
UNNOTICED = {
    # A changed number is still a number: these files have no checksum, also in Kafka. Its effect must be safe.
    "recovery-point-offset-checkpoint",
    "log-start-offset-checkpoint",
    "replication-offset-checkpoint",
    ".kafka_cleanshutdown",
    "meta.properties",
    "t-0/partition.metadata",
}


@pytest.mark.parametrize("pattern", SMALL_FILES)
def test_a_flipped_byte_of_a_small_file_loses_nothing(tmp_path: Path, pattern: str) -> None:
    """The logs open with the same contents, or the start (for a transaction index, a checked read) reports it."""
    original = fill(tmp_path / "original")
    expected = _facts_of(_copied(original, tmp_path))
    for path in sorted(original.glob(pattern)):
        name = path.relative_to(original)
        for position in range(0, path.stat().st_size, 1 if path.stat().st_size < 20 else 5):
            root = _copied(original, tmp_path)
            flip(root / name, position, position % 8)
            try:
                found = _facts_of(root, checks=not pattern.endswith("txnindex"))
            except (CorruptCheckpointError, KafkaError) as refused:
                if name.name not in str(refused):
                    raise AssertionError(f"{name}, byte {position}") from refused
                continue
            if pattern == "t-0/*.txnindex" and found != expected:
                log = Log.open(root / "t-0", CONFIG, now_ms=NOW, clean_shutdown=True)
                with pytest.raises(CorruptRecordError, match=name.name):
                    check_aborted(log, log.aborted_transactions(0, log.log_end_offset))
                log.abort()
            elif pattern not in UNNOTICED:
                assert found == expected, f"{name}, byte {position}"


def _copied(original: Path, tmp_path: Path) -> Path:
    root = tmp_path / "damaged"
    shutil.rmtree(root, ignore_errors=True)
    shutil.copytree(original, root)
    return root


def _facts_of(root: Path, *, checks: bool = True) -> object:
    directory = LogDirectory.open(root, chance=random.Random(1))
    try:
        logs = directory.load_logs(lambda _: CONFIG, NOW)
        for log in logs.values() if checks else ():
            check_parts(log)
        return {key: facts(log) for key, log in logs.items()}
    finally:
        directory.abort()
