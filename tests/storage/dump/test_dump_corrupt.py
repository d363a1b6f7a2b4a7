"""Damaged files: every flipped byte and every truncation is found and reported, with exit code 1."""

import shutil
from pathlib import Path

import pytest

from odradek.protocol.records.batch import BATCH_HEADER_SIZE, iterate_headers
from odradek.protocol.records.builder import encode_batch
from odradek.protocol.records.compression import CompressionType
from odradek.protocol.records.control import ControlRecordType, EndTransactionMarker, encode_end_transaction_batch
from odradek.protocol.records.record import Record
from odradek.storage.dump.events import DumpFinding
from odradek.storage.dump.log_dump import LogOptions, dump_log
from odradek.storage.log.log import AppendOrigin, Log
from odradek.storage.log.log_config import LogConfig
from support.data.dump_log import Dump
from support.pipeline.compaction_log import START_MS, CompactionLog
from support.pipeline.compaction_rounds import RoundOrder, clean_offline

NOW = 1_700_000_000_000
NAME = f"{0:020d}"
DEEP = LogOptions(deep_iteration=True)


@pytest.fixture
def partition(tmp_path: Path) -> Path:
    """A small partition with plain, idempotent and aborted records."""
    directory = tmp_path / "t-0"
    log = Log.open(directory, LogConfig(index_interval_bytes=1), now_ms=NOW)
    for number, codec in enumerate(CompressionType):
        records = [Record(i, NOW + number, b"k%d" % i, b"value " * 5, []) for i in range(3)]
        data = encode_batch(records, compression=codec, producer_id=7, producer_epoch=0, base_sequence=3 * number)
        log.appender.append_as_leader(data, 1, NOW)
    records = [Record(0, NOW + 9, b"k", b"v", [])]
    data = encode_batch(records, producer_id=8, producer_epoch=0, base_sequence=0, is_transactional=True)
    log.appender.append_as_leader(data, 1, NOW)
    marker = EndTransactionMarker(ControlRecordType.ABORT, 2)
    data = encode_end_transaction_batch(marker, timestamp=NOW + 10, producer_id=8, producer_epoch=0)
    log.appender.append_as_leader(data, 1, NOW, origin=AppendOrigin.COORDINATOR)
    log.close()
    return directory


def flipped(source: Path, target: Path, position: int, bit: int) -> None:
    data = bytearray(source.read_bytes())
    data[position] ^= 1 << bit
    target.write_bytes(data)


def damage_of(path: Path) -> list[DumpFinding]:
    """The corrupt places of a log. Faster than the command."""
    return [found for found in dump_log(path, DEEP) if isinstance(found, DumpFinding) and found.is_corrupt]


def test_a_sound_partition_has_no_finding(partition: Path, dump: Dump) -> None:
    found = dump("--deep-iteration", *sorted(partition.glob("0*")))
    assert (found.code, found.err) == (0, [])
    assert sum(line.startswith("baseOffset") for line in found.out) == 7
    assert f"Dumping {partition / (NAME + '.txnindex')}" in found.out


def test_every_flipped_byte_of_a_log_is_found(partition: Path) -> None:
    sound = (partition / f"{NAME}.log").read_bytes()
    last = max(position for position, _ in iterate_headers(sound))
    # No CRC covers base offset and leader epoch, and no later batch contradicts a higher one in the last batch.
    unprotected = {*range(last, last + 8), *range(last + 12, last + 16)}
    target = partition / "copy" / f"{NAME}.log"
    target.parent.mkdir()
    missed = []
    for position in range(len(sound)):
        flipped(partition / f"{NAME}.log", target, position, position % 8)
        if not damage_of(target) and position not in unprotected:
            missed.append(position)
    assert not missed


@pytest.mark.parametrize("suffix", [".index", ".timeindex"])
def test_every_flipped_byte_of_an_index_is_found(partition: Path, dump: Dump, suffix: str) -> None:
    source = partition / f"{NAME}{suffix}"
    size = source.stat().st_size
    assert size > 40
    directory = partition / "copy"
    directory.mkdir()
    shutil.copy(partition / f"{NAME}.log", directory)
    target = directory / source.name
    missed = []
    for position in range(size):
        flipped(source, target, position, position % 8)
        found = dump("--verify-index-only", "--files", target)
        if found.code != 1:
            missed.append(position)
        else:
            assert any(line.startswith(f"odradek dump-log: {target} at ") for line in found.err), position
    assert not missed


def test_every_flipped_byte_of_a_snapshot_is_found(partition: Path, dump: Dump) -> None:
    source = max(partition.glob("*.snapshot"))
    target = partition / "copy.snapshot"
    for position in range(source.stat().st_size):
        flipped(source, target, position, position % 8)
        assert dump("--files", target).code == 1, position


def test_every_cut_of_a_log_is_found(partition: Path, dump: Dump) -> None:
    sound = (partition / f"{NAME}.log").read_bytes()
    bounds = {position for position, _ in iterate_headers(sound)} | {len(sound)}
    target = partition / "copy" / f"{NAME}.log"
    target.parent.mkdir()
    for size in range(len(sound) + 1):
        target.write_bytes(sound[:size])
        if size % 20:
            assert bool(damage_of(target)) is (size not in bounds), size
            continue
        found = dump("--deep-iteration", "--files", target)
        begin = max(bound for bound in bounds if bound <= size)
        assert found.code == (0 if size in bounds else 1), size
        if found.code:
            assert found.err[-1].startswith(f"odradek dump-log: {target} at {begin}: ")
            assert "are left" in found.err[-1]
            assert found.out[-1] == f"Found {size - begin} invalid bytes at the end of {target.name}"


@pytest.mark.parametrize(("suffix", "size"), [(".index", 8), (".timeindex", 12), (".txnindex", 34)])
def test_a_cut_index_is_found(partition: Path, dump: Dump, suffix: str, size: int) -> None:
    path = partition / f"{NAME}{suffix}"
    path.write_bytes(path.read_bytes() + b"\1")
    found = dump("--files", path)
    assert found.code == 1
    assert f"not a multiple of {size}" in found.err[-1]
    if suffix != ".txnindex":
        assert dump("--index-sanity-check", "--files", path).code == 1


def test_a_wrong_crc_is_named_with_what_was_expected(partition: Path, dump: Dump) -> None:
    path = partition / f"{NAME}.log"
    positions = [position for position, _ in iterate_headers(path.read_bytes())]
    flipped(path, path, positions[2] + BATCH_HEADER_SIZE + 3, 0)
    found = dump("--files", path)
    assert found.code == 1
    assert [line.endswith("isvalid: true") for line in found.out[2:]] == [True, True, False, True, True, True, True]
    (line,) = found.err
    assert line.startswith(
        f"odradek dump-log: {path} at {positions[2]}: batch with offsets 6 to 8: its bytes have CRC "
    )


def test_a_later_message_format_is_named_and_the_rest_read(partition: Path, dump: Dump) -> None:
    path = partition / f"{NAME}.log"
    data = bytearray(path.read_bytes())
    data[16] = 3
    path.write_bytes(data)
    found = dump("--files", path)
    assert found.code == 1
    assert "expected magic 2, found 3" in found.err[0]
    assert sum(line.startswith("baseOffset") for line in found.out) == 6


def test_preallocated_zeros_at_the_end_are_named(partition: Path, dump: Dump) -> None:
    path = partition / f"{NAME}.log"
    path.write_bytes(path.read_bytes() + bytes(1000))
    found = dump("--files", path)
    assert found.code == 1
    assert found.out[-1] == f"Found 1000 invalid bytes at the end of {NAME}.log"
    assert "zeros: preallocated space" in found.err[0]


def test_the_unused_part_of_a_preallocated_index_is_no_damage(partition: Path, dump: Dump) -> None:
    for suffix in (".index", ".timeindex"):
        path = partition / f"{NAME}{suffix}"
        before = dump("--files", path).out
        path.write_bytes(path.read_bytes() + bytes(240))
        found = dump("--files", path)
        assert (found.code, found.out) == (0, before)
        path.write_bytes(path.read_bytes() + bytes(23) + b"\1")
        assert dump("--files", path).code == 1


def test_an_index_entry_of_kafka_before_4_for_several_batches_is_no_damage(partition: Path, dump: Dump) -> None:
    path = partition / f"{NAME}.index"
    path.write_bytes((8).to_bytes(4, "big") + (0).to_bytes(4, "big"))  # the first three batches in one append
    found = dump("--files", path)
    assert found.code == 0
    assert found.out[-1] == "offset: 8 position: 0"
    assert found.err == [f"Mismatches in :{path}", "  Index offset: 8, log offset: 2"]


def test_missing_files(partition: Path, dump: Dump) -> None:
    found = dump("--files", f"{partition}/nothing.log,{partition}/{NAME}.txnindex")
    assert found.code == 1
    assert found.out[-1].startswith("version: 0 producerId: 8 firstOffset: 15 lastOffset: 16")
    assert found.err == [f"odradek dump-log: {partition}/nothing.log: No such file or directory"]
    (partition / f"{NAME}.log").unlink()
    found = dump("--files", partition / f"{NAME}.index")
    assert found.code == 1
    assert "its log 00000000000000000000.log is missing" in found.err[0]


def test_findings_in_json(partition: Path, dump: Dump) -> None:
    path = partition / f"{NAME}.log"
    flipped(path, path, BATCH_HEADER_SIZE + 3, 0)
    found = dump("--json", "--files", path)
    assert (found.code, found.err) == (1, [])
    assert [document["type"] for document in found.documents][:4] == ["file", "batch", "finding", "batch"]
    finding = found.documents[2]
    assert (finding["file"], finding["position"], finding["corrupt"]) == (str(path), 0, True)


def test_a_time_index_of_a_compacted_segment_is_no_damage(tmp_path: Path, dump: Dump) -> None:
    """A batch that lost its records keeps the time in its header: Kafka's tool lists the entry as a mismatch."""
    log = CompactionLog(tmp_path / "t-0")
    log.send(1, producer=5, times=[START_MS + 9_000])
    log.send(1, 2)
    log.roll()
    log.send(3)
    log.roll()
    log.close()
    clean_offline(log.directory, log.config, RoundOrder(START_MS + 10_000))
    index = min(log.directory.glob("*.timeindex"))
    found = dump("--files", index)
    assert found.code == 0, found.err
    assert f"  Index timestamp: {START_MS + 9_000}, log timestamp: -1" in found.err
    assert dump("--files", index.with_suffix(".log")).code == 0
