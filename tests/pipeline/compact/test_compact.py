"""`odradek compact` on directories that the project's own log wrote."""

import json
import random
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from odradek.pipeline.compact.command import compact
from odradek.pipeline.compact.job import compact_directory
from odradek.pipeline.compact.partition_job import PartitionOutcome
from odradek.pipeline.compact.plan import CompactionOrder
from odradek.protocol.records.batch import iterate_headers
from odradek.protocol.records.compression import CompressionType
from odradek.protocol.records.control import ControlRecordType, control_record_type
from odradek.protocol.records.record import Record, decode_records
from odradek.storage.directory.directory_lock import DirectoryLock
from odradek.storage.files.checkpoints import read_offset_checkpoint, write_offset_checkpoint
from odradek.storage.files.files import EXISTING, Buffer, Files
from odradek.storage.log.log import Log
from odradek.storage.log.log_config import LogConfig
from support.data.log_directories import compactable_directory, segment_bytes
from support.data.log_histories import HISTORY_START_MS, HistoryWriter
from support.disks.unsynced_files import UnsyncedFiles

HOUR_MS = 3_600_000
CONFIGS = {"cleanup.policy": "compact", "delete.retention.ms": str(HOUR_MS), "internal.segment.bytes": "8000"}


def order(
    directory: Path, *, after_ms: int = HOUR_MS, configs: Mapping[str, str] = CONFIGS, **more: object
) -> CompactionOrder:
    plain = CompactionOrder(directory, HISTORY_START_MS + 10 * HOUR_MS + after_ms, ("t",), configs=configs)
    return replace(plain, **more)  # type: ignore[arg-type]


def run(directory: Path, files: Files | None = None, **more: object) -> list[PartitionOutcome]:
    return list(compact_directory(order(directory, **more), files or UnsyncedFiles()))  # type: ignore[arg-type]


def visible_records(partition: Path) -> list[Record]:
    """The records that a read_committed consumer sees."""
    ended: dict[int, list[tuple[int, bool]]] = {}
    batches = []
    for path in sorted(partition.glob("*.log")):
        data = path.read_bytes()
        for position, header in iterate_headers(data):
            records = decode_records(data, header, position)
            if header.is_control:
                for record in records:
                    is_commit = control_record_type(record.key) == ControlRecordType.COMMIT
                    ended.setdefault(header.producer_id, []).append((record.offset, is_commit))
            else:
                batches.append((header, records))
    seen = []
    for header, records in batches:
        if header.is_transactional:
            marks = [
                is_commit for offset, is_commit in ended.get(header.producer_id, []) if offset > header.base_offset
            ]
            if records and not marks[0]:
                continue
        seen += records
    return sorted(seen)


def latest(records: list[Record]) -> dict[bytes, Record]:
    return {record.key: record for record in sorted(records) if record.key is not None}


@pytest.mark.parametrize("seed", range(12))
def test_exactly_the_latest_value_of_each_key_stays(tmp_path: Path, seed: int) -> None:
    directory = compactable_directory(tmp_path, seed)
    before = visible_records(directory / "t-0")
    [outcome] = run(directory)
    assert outcome.refusal is None
    assert outcome.rounds < 6, "it must come to rest"
    assert outcome.bytes_after < outcome.bytes_before
    after = visible_records(directory / "t-0")
    assert after == sorted(latest(before).values()), "offset, timestamp, key, value, headers as they were"
    end = max(read_offset_checkpoint(Files(), directory / "replication-offset-checkpoint").values())
    assert read_offset_checkpoint(Files(), directory / "cleaner-offset-checkpoint") == {("t", 0): end}
    # Tombstones are removed once their delete horizon has passed.
    run(directory, after_ms=3 * HOUR_MS)
    left = visible_records(directory / "t-0")
    assert left == [record for record in after if record.value is not None]
    with_log = Log.open(directory / "t-0", LogConfig(), now_ms=HISTORY_START_MS + 20 * HOUR_MS, clean_shutdown=False)
    assert with_log.log_end_offset == end
    with_log.close()


def test_a_second_run_changes_nothing(tmp_path: Path) -> None:
    directory = compactable_directory(tmp_path, 5)
    run(directory)
    once = segment_bytes(directory)
    times = {path: path.stat().st_mtime_ns for path in directory.rglob("*.log")}
    run(directory)
    assert segment_bytes(directory) == once
    assert {path: path.stat().st_mtime_ns for path in directory.rglob("*.log")} == times


def test_the_active_segment_and_undecided_transactions_stay(tmp_path: Path) -> None:
    writer = HistoryWriter(random.Random(1), tmp_path / "t-0")
    writer.append_records([(b"a", b"1"), (b"a", b"2")])
    writer.roll()
    writer._append(200, is_transactional=True)
    writer.roll()
    writer.append_records([(b"a", b"3"), (b"a", b"4")])
    writer.roll()
    writer.append_records([(b"a", b"5"), (b"a", b"6")])
    end = writer.log.log_end_offset
    writer.close()
    write_offset_checkpoint(Files(), tmp_path / "replication-offset-checkpoint", {("t", 0): end})
    before = {path.name: path.read_bytes() for path in sorted((tmp_path / "t-0").glob("*.log"))}
    [outcome] = run(tmp_path)
    after = {path.name: path.read_bytes() for path in sorted((tmp_path / "t-0").glob("*.log"))}
    assert outcome.cleaned_up_to == 2
    changed = [name for name in before if before[name] != after[name]]
    assert changed == ["00000000000000000000.log"]
    assert [r.value for r in decode_records(after[changed[0]])] == [b"2"]


def test_few_keys_in_memory_give_the_same_bytes(tmp_path: Path) -> None:
    directory = compactable_directory(tmp_path / "a", 3, steps=150)
    other = tmp_path / "b"
    shutil.copytree(directory, other)
    run(directory)
    run(other, max_map_bytes=300)
    assert segment_bytes(other) == segment_bytes(directory)


def test_the_codec_of_each_batch_stays(tmp_path: Path) -> None:
    codecs: dict[int, CompressionType] = {}
    writer = HistoryWriter(random.Random(2), tmp_path / "t-0", keys=500, with_null_keys=False)
    writer.write(150)
    writer.roll()
    end = writer.log.log_end_offset
    writer.close()
    write_offset_checkpoint(Files(), tmp_path / "replication-offset-checkpoint", {("t", 0): end})
    for path in (tmp_path / "t-0").glob("*.log"):
        codecs |= {header.base_offset: header.compression_type for _, header in iterate_headers(path.read_bytes())}
    run(tmp_path)
    rebuilt = [
        h for p in (tmp_path / "t-0").glob("*.log") for _, h in iterate_headers(p.read_bytes()) if h.records_count
    ]
    assert {header.base_offset: header.compression_type for header in rebuilt}.items() <= codecs.items()
    assert len({header.compression_type for header in rebuilt}) == len(CompressionType)


class KilledError(Exception):
    """The process is killed at this point."""


class KilledAt(UnsyncedFiles):
    """The file layer of a process that is killed before its n-th change of the disk."""

    def __init__(self, steps_left: int) -> None:
        self.steps_left = steps_left
        self.renames = 0

    def _step(self) -> None:
        if self.steps_left == 0:
            raise KilledError
        self.steps_left -= 1

    def rename(self, source: Path, target: Path) -> None:
        self._step()
        self.renames += 1
        super().rename(source, target)

    def remove(self, path: Path) -> None:
        if path.exists():
            self._step()
        super().remove(path)

    def write(self, descriptor: int, parts: Sequence[Buffer], position: int) -> int:
        self._step()
        return super().write(descriptor, parts, position)

    def sync_directory(self, path: Path) -> None:
        self._step()
        super().sync_directory(path)


@pytest.mark.parametrize(
    ("seed", "stride"),
    [(1, 3), pytest.param(1, 1, marks=pytest.mark.nightly), pytest.param(2, 1, marks=pytest.mark.long)],
)
def test_killed_at_any_step_it_resumes_to_the_same_bytes(tmp_path: Path, seed: int, stride: int) -> None:
    original = compactable_directory(tmp_path / "original", seed, steps=35)
    expected_directory = tmp_path / "expected"
    shutil.copytree(original, expected_directory)
    counting = KilledAt(10**9)
    run(expected_directory, counting)
    expected = segment_bytes(expected_directory)
    steps = 10**9 - counting.steps_left
    assert counting.renames > 10
    for killed_at in range(0, steps, stride):
        directory = tmp_path / "killed"
        shutil.copytree(original, directory)
        with pytest.raises(KilledError):
            run(directory, KilledAt(killed_at))
        [outcome] = run(directory)
        assert outcome.refusal is None
        assert segment_bytes(directory) == expected, f"killed at step {killed_at}"
        shutil.rmtree(directory)


@pytest.mark.parametrize(("seed", "stride"), [(1, 3), pytest.param(1, 1, marks=pytest.mark.nightly)])
def test_killed_at_any_step_the_broker_reads_the_same_values(tmp_path: Path, seed: int, stride: int) -> None:
    original = compactable_directory(tmp_path / "original", seed, steps=35)
    values = latest(visible_records(original / "t-0"))
    killed_at = 0
    while True:
        directory = tmp_path / "killed"
        shutil.copytree(original, directory)
        try:
            run(directory, KilledAt(killed_at))
            break
        except KilledError:
            pass
        Log.open(directory / "t-0", LogConfig(), now_ms=HISTORY_START_MS, files=UnsyncedFiles()).close()
        assert latest(visible_records(directory / "t-0")) == values, f"killed at step {killed_at}"
        shutil.rmtree(directory)
        killed_at += stride
    assert killed_at > 20


def test_a_corrupt_partition_is_refused_and_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    directory = compactable_directory(tmp_path, 4, partitions=2)
    victim = max((directory / "t-0").glob("*.log"), key=lambda path: path.stat().st_size)
    data = bytearray(victim.read_bytes())
    data[len(data) // 2] ^= 1
    victim.write_bytes(data)
    before = segment_bytes(directory / "t-0")
    arguments = [str(directory), "--topic", "t", "--json", "--now", str(HISTORY_START_MS + 10 * HOUR_MS)]
    assert compact([*arguments, "--config", "cleanup.policy=compact"]) == 1
    first, second = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    assert "crc" in first["refusal"]
    assert second["refusal"] is None
    after = segment_bytes(directory / "t-0")
    assert {name: after[name] for name in before} == before


def test_missing_transaction_index_is_refused(tmp_path: Path) -> None:
    for seed in range(20):
        directory = compactable_directory(tmp_path / str(seed), seed)
        indexes = list((directory / "t-0").glob("*.txnindex"))
        if indexes:
            break
    for path in indexes:
        path.unlink()
    [outcome] = run(directory)
    assert outcome.refusal is not None
    assert "transaction index" in outcome.refusal


def test_it_needs_nothing_but_the_core_install(tmp_path: Path) -> None:
    directory = compactable_directory(tmp_path, 1)
    missing = "for name in ('numpy', 'numba', 'pyarrow', 'pandas', 'pyspark'): sys.modules[name] = None"
    call = "from odradek.__main__ import main; sys.exit(main())"
    words = ["compact", str(directory), "--topic", "t", "--config", "cleanup.policy=compact"]
    command = [sys.executable, "-c", f"import sys\n{missing}\n{call}", *words]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert result.returncode == 0, result.stderr
    assert "t-0" in result.stdout


def test_refused_while_a_broker_holds_the_lock(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    directory = compactable_directory(tmp_path, 1)
    lock = DirectoryLock(directory)
    assert compact([str(directory), "--topic", "t"]) == 3
    lock.close()
    assert "has this log directory open" in capsys.readouterr().err
    assert compact([str(directory), "--topic", "t", "--config", "cleanup.policy=compact"]) == 0


def test_a_topic_that_is_not_compacted_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    directory = compactable_directory(tmp_path, 1)
    assert compact([str(directory), "--topic", "t"]) == 3
    assert "--config cleanup.policy=compact" in capsys.readouterr().err
    assert compact([str(directory), "--topic", "other"]) == 3
    assert compact([str(directory), "--topic", "t", "--config", "retention.ms=1"]) == 3


def test_dry_run_changes_nothing(tmp_path: Path) -> None:
    directory = compactable_directory(tmp_path, 6)
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in directory.rglob("*") if path.is_file()}
    [outcome] = run(directory, is_dry_run=True)
    after = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in directory.rglob("*") if path.is_file()}
    after.pop(directory / ".lock")
    assert after == before
    [done] = run(directory)
    assert 0 < outcome.bytes_after < outcome.bytes_before
    assert outcome == done


def test_a_log_that_is_clean_already_is_not_written_once_more(tmp_path: Path) -> None:
    class WithoutCleaned(UnsyncedFiles):
        def open(self, path: Path, flags: int = EXISTING) -> int:
            assert path.suffix != ".cleaned"
            return super().open(path, flags)

    directory = compactable_directory(tmp_path, 6)
    with pytest.raises(AssertionError):
        run(directory, WithoutCleaned())
    [done] = run(directory)
    [again] = run(directory, WithoutCleaned())
    assert (again.rounds, again.bytes_before, again.bytes_after) == (1, done.bytes_after, done.bytes_after)


@pytest.mark.parametrize("seed", range(6))
def test_a_dry_run_says_what_a_run_does_in_all_its_rounds(tmp_path: Path, seed: int) -> None:
    directory = compactable_directory(tmp_path, seed)
    configs = {**CONFIGS, "delete.retention.ms": "0"}  # tombstones and markers are removed in a second round
    [outcome] = run(directory, configs=configs, is_dry_run=True)
    assert outcome.rounds > 2
    assert [outcome] == run(directory, configs=configs)


def test_a_dry_run_after_an_interruption_begins_where_the_next_run_begins(tmp_path: Path) -> None:
    directory = compactable_directory(tmp_path, 3)
    run(directory)
    first = sorted((directory / "t-0").glob("*.log"))[0]
    for path in first.parent.glob(first.stem + ".*"):
        if path.suffix in (".log", ".index", ".timeindex", ".txnindex"):
            path.rename(path.with_name(path.name + ".swap"))
    [outcome] = run(directory, is_dry_run=True)
    assert outcome.refusal is None
    assert not first.exists()
    assert [outcome] == run(directory)
    assert first.exists()
