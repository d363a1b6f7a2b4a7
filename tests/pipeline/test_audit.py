"""`odradek audit`: nothing on clean directories, injected damage by name and place, groups with lag."""

import random
import struct
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as parquet
import pytest

from odradek.pipeline.audit.command import audit
from odradek.pipeline.audit.findings import CHECKS, Finding
from odradek.pipeline.audit.job import AuditResult, audit_directories
from odradek.pipeline.engines import LOCAL
from odradek.protocol.codec import encode
from odradek.protocol.messages.group_records import (
    GroupMetadataKey,
    GroupMetadataValue,
    OffsetCommitKey,
    OffsetCommitValue,
)
from odradek.protocol.records.batch import iterate_headers
from odradek.storage.checkpoints import write_offset_checkpoint
from odradek.storage.files import Files
from support.log_directories import flip_a_byte, history_directory, largest
from support.log_histories import HistoryWriter


def audited(*directories: Path) -> AuditResult:
    return audit_directories(directories, LOCAL)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("is_clean", [True, False])
def test_a_clean_directory_has_no_findings(tmp_path: Path, seed: int, is_clean: bool) -> None:
    directory = history_directory(tmp_path, seed, is_clean=is_clean)
    result = audited(directory)
    assert result.findings == []
    [report] = result.partitions
    headers = [h for path in (directory / "t-0").glob("*.log") for _, h in iterate_headers(path.read_bytes())]
    assert report.batches == len(headers)
    assert report.records == sum(header.records_count for header in headers if not header.is_control)
    assert report.log_end_offset == max(header.next_offset for header in headers)


def break_a_length(directory: Path) -> tuple[Path, int]:
    path = largest(directory, ".log")
    data = bytearray(path.read_bytes())
    position, _ = list(iterate_headers(data))[3]
    data[position + 8 : position + 12] = struct.pack(">i", 3)
    path.write_bytes(data)
    return path, position


def break_a_magic(directory: Path) -> tuple[Path, int]:
    path = largest(directory, ".log")
    data = bytearray(path.read_bytes())
    position, _ = list(iterate_headers(data))[1]
    data[position + 16] = 1
    path.write_bytes(data)
    return path, position


def reorder_batches(directory: Path) -> tuple[Path, int]:
    path = largest(directory, ".log")
    data = path.read_bytes()
    (first, _), (second, b) = list(iterate_headers(data))[1:3]
    end = second + b.size_in_bytes
    path.write_bytes(data[:first] + data[second:end] + data[first:second] + data[end:])
    return path, first + b.size_in_bytes


def cut_the_offset_index(directory: Path) -> tuple[Path, int]:
    path = largest(directory, ".index")
    path.write_bytes(path.read_bytes()[:-3])
    return path, -1


def empty_the_offset_index(directory: Path) -> tuple[Path, int]:
    path = largest(directory, ".index")
    path.write_bytes(b"")
    return path, -1


def shift_an_index_entry(directory: Path) -> tuple[Path, int]:
    path = largest(directory, ".index")
    data = bytearray(path.read_bytes())
    data[7] ^= 1
    path.write_bytes(data)
    return path, -1


def swap_index_entries(directory: Path) -> tuple[Path, int]:
    path = largest(directory, ".index")
    data = path.read_bytes()
    path.write_bytes(data[8:16] + data[:8] + data[16:])
    return path, -1


def change_a_time(directory: Path) -> tuple[Path, int]:
    path = largest(directory, ".timeindex")
    data = bytearray(path.read_bytes())
    data[7] ^= 1
    path.write_bytes(data)
    return path, -1


def cut_the_time_index(directory: Path) -> tuple[Path, int]:
    path = largest(directory, ".timeindex")
    path.write_bytes(path.read_bytes()[:-5])
    return path, -1


def drop_the_last_time(directory: Path) -> tuple[Path, int]:
    path = max((directory / "t-0").glob("*.timeindex"), key=lambda path: path.stat().st_size)
    path.write_bytes(path.read_bytes()[:-12])
    return path, -1


def remove_the_transaction_index(directory: Path) -> tuple[Path, int]:
    path = largest(directory, ".txnindex")
    path.unlink()
    return path, -1


def invent_an_aborted_transaction(directory: Path) -> tuple[Path, int]:
    path = largest(directory, ".txnindex")
    data = bytearray(path.read_bytes())
    data[9] ^= 0x7F
    path.write_bytes(data)
    return path, -1


def remove_an_index(directory: Path) -> tuple[Path, int]:
    path = largest(directory, ".index")
    path.unlink()
    return path, -1


def damage_a_snapshot(directory: Path) -> tuple[Path, int]:
    path = largest(directory, ".snapshot")
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    return path, -1


def lose_the_tail(directory: Path) -> tuple[Path, int]:
    for path in sorted((directory / "t-0").glob("*.log"))[1:]:
        for sibling in path.parent.glob(path.stem + ".*"):
            sibling.unlink()
    return directory / "recovery-point-offset-checkpoint", -1


def tear_the_log(directory: Path) -> tuple[Path, int]:
    path = largest(directory, ".log")
    data = path.read_bytes()
    position, _ = list(iterate_headers(data))[-1]
    path.write_bytes(data[:-1])
    return path, position


def lengthen_an_epoch(directory: Path) -> tuple[Path, int]:
    (directory / "t-0" / "leader-epoch-checkpoint").write_text("0\n2\n0 0\n5 10\n")
    return directory / "t-0" / "00000000000000000000.log", -1


def write_nonsense_to_a_checkpoint(directory: Path) -> tuple[Path, int]:
    path = directory / "cleaner-offset-checkpoint"
    path.write_text("0\nmany\n")
    return path, -1


def overlap_segments(directory: Path) -> tuple[Path, int]:
    second = sorted((directory / "t-0").glob("*.log"))[1]
    copy = second.with_name(f"{int(second.stem) + 1:020d}.log")
    copy.write_bytes(second.read_bytes())
    return copy, -1


DAMAGE: list[tuple[str, Callable[[Path], tuple[Path, int]]]] = [
    ("batch-crc-mismatch", flip_a_byte),
    ("batch-length-invalid", break_a_length),
    ("batch-magic-unknown", break_a_magic),
    ("batch-incomplete", tear_the_log),
    ("offsets-not-increasing", reorder_batches),
    ("segment-overlap", overlap_segments),
    ("offset-index-size", cut_the_offset_index),
    ("offset-index-truncated", empty_the_offset_index),
    ("offset-index-mismatch", shift_an_index_entry),
    ("offset-index-not-increasing", swap_index_entries),
    ("offset-index-missing", remove_an_index),
    ("time-index-size", cut_the_time_index),
    ("time-index-mismatch", change_a_time),
    ("time-index-incomplete", drop_the_last_time),
    ("aborted-transaction-unindexed", remove_the_transaction_index),
    ("transaction-index-invalid", invent_an_aborted_transaction),
    ("producer-snapshot-corrupt", damage_a_snapshot),
    ("checkpoint-beyond-log", lose_the_tail),
    ("checkpoint-unreadable", write_nonsense_to_a_checkpoint),
    ("leader-epoch-mismatch", lengthen_an_epoch),
]


def writes_large_segments(root: Path) -> Path:
    """A directory whose first, closed segment is long enough for many index entries."""
    writer = HistoryWriter(random.Random(5), root / "t-0", keys=500, is_rolling=False)
    writer.write(700)
    writer.roll()
    writer.write(20)
    ends = {("t", 0): writer.log.log_end_offset}
    writer.close()
    (root / "meta.properties").write_text("version=1\n")
    (root / ".kafka_cleanshutdown").write_text('{"version":0,"brokerEpoch":1}')
    write_offset_checkpoint(Files(), root / "recovery-point-offset-checkpoint", ends)
    return root


@pytest.mark.parametrize(("name", "damage"), DAMAGE, ids=[name for name, _ in DAMAGE])
def test_damage_is_found_named_and_located(
    tmp_path: Path, name: str, damage: Callable[[Path], tuple[Path, int]]
) -> None:
    directory = writes_large_segments(tmp_path)
    assert audited(directory).findings == []
    path, position = damage(directory)
    findings = [finding for finding in audited(directory).findings if finding.name == name]
    assert findings, f"{name} was not found"
    assert findings[0].file == str(path)
    if position >= 0:
        assert findings[0].position == position
        assert (findings[0].topic, findings[0].partition) == ("t", 0)


@pytest.mark.parametrize("seed", range(40))
def test_random_damage_never_ends_the_audit(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    directory = history_directory(tmp_path, seed, steps=60)
    files = [path for path in directory.rglob("*") if path.is_file() and path.stat().st_size]
    for path in rng.sample(files, min(len(files), 4)):
        data = bytearray(path.read_bytes())
        for _ in range(rng.randrange(1, 10)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        path.write_bytes(data[: rng.randrange(len(data) + 1)] if rng.random() < 0.3 else data)
    for finding in audited(directory).findings:
        assert finding.name in CHECKS


def test_a_torn_tail_after_a_kill_is_no_damage(tmp_path: Path) -> None:
    directory = history_directory(tmp_path, 2, is_clean=False)
    path = [path for path in sorted((directory / "t-0").glob("*.log")) if path.stat().st_size][-1]
    path.write_bytes(path.read_bytes()[:-3])
    found = {finding.name for finding in audited(directory).findings}
    assert found <= {"log-tail-torn", "checkpoint-beyond-log"}
    assert "log-tail-torn" in found


def commit_record(group: str, topic: str, partition: int, offset: int) -> tuple[bytes, bytes]:
    key = struct.pack(">h", 1) + encode(OffsetCommitKey(group, topic, partition), 0)
    value = OffsetCommitValue(offset=offset, metadata="m", commit_timestamp=7)
    return key, struct.pack(">h", 3) + encode(value, 3)


def test_groups_and_their_lag(tmp_path: Path) -> None:
    directory = history_directory(tmp_path, 3)
    end = audited(directory).partitions[0].log_end_offset
    group_key = struct.pack(">h", 2) + encode(GroupMetadataKey("readers"), 0)
    member = GroupMetadataValue.MemberMetadata(member_id="a", client_id="c", client_host="h")
    state = GroupMetadataValue(protocol_type="consumer", generation=4, members=[member])
    writer = HistoryWriter(random.Random(1), directory / "__consumer_offsets-43")
    writer.append_records([commit_record("readers", "t", 0, 3), (group_key, struct.pack(">h", 3) + encode(state, 3))])
    writer.append_records([commit_record("readers", "t", 0, end - 5), commit_record("gone", "t", 0, 1)])
    writer.append_records([commit_record("ahead", "t", 0, end + 9), (commit_record("gone", "t", 0, 1)[0], None)])
    writer.append_records([(struct.pack(">h", 99), b"x"), (struct.pack(">h", 1) + b"\xff", b"\0\x03")])
    writer.close()
    result = audited(directory)
    assert [(row.group, row.committed_offset, row.lag, row.members) for row in result.groups] == [
        ("ahead", end + 9, 0, 0),
        ("readers", end - 5, 5, 1),
    ]
    by_name = {finding.name: finding for finding in result.findings}
    assert set(by_name) == {"committed-offset-beyond-log", "group-record-type-unknown", "group-record-undecodable"}
    assert "group ahead" in by_name["committed-offset-beyond-log"].detail


def test_the_command_writes_tables_and_a_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    directory = history_directory(tmp_path / "logs", 4)
    output = tmp_path / "out"
    assert audit([str(directory), "--output", str(output)]) == 0
    path, position = flip_a_byte(directory)
    assert audit([str(directory), "--output", str(output)]) == 2
    rows = parquet.read_table(output / "findings.parquet").to_pylist()
    [row] = [row for row in rows if row["name"] == "batch-crc-mismatch"]
    assert (row["severity"], row["file"], row["position"]) == ("ERROR", str(path), position)
    assert row["meaning"] == CHECKS["batch-crc-mismatch"].meaning
    report = (output / "report.md").read_text()
    assert "## ERROR: batch-crc-mismatch" in report
    assert CHECKS["batch-crc-mismatch"].action in report
    assert parquet.read_table(output / "partitions.parquet").num_rows == 1
    assert "batch-crc-mismatch" in capsys.readouterr().out
    assert audit([str(tmp_path / "nowhere"), "--output", str(output)]) == 3


def test_every_check_says_what_it_means_and_what_to_do() -> None:
    for name, check in CHECKS.items():
        assert check.meaning.endswith("."), name
        assert check.action.endswith("."), name
    assert Finding("batch-crc-mismatch", "t", 0, "f", 0, 0, "").check.severity > 0
