"""The state of `audit --state`: what it spares, what it finds, and what a fault of it or of the run costs."""

import io
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import fsspec
import numpy
import pytest
from pyspark.sql import SparkSession

from odradek.pipeline.audit.command import audit
from odradek.pipeline.audit.job import audit_directories
from odradek.pipeline.audit.known_segments import SET_ASIDE, folder_of
from odradek.pipeline.audit.packed_arrays import PackedArray, as_described
from odradek.pipeline.audit.plan import AuditOptions, plan_audit
from odradek.pipeline.audit.portions import portions_of
from odradek.pipeline.audit.result import AuditResult
from odradek.pipeline.audit.state_file import VERSION, StateError, StoredSums, decode_state, encode_state
from odradek.pipeline.audit.state_run import begin_run
from odradek.pipeline.audit.tasks import StateOptions
from odradek.pipeline.directories.file_access import path_of
from odradek.pipeline.engine.engines import LOCAL, SPARK
from support.data.log_directories import flip_a_byte, history_directory
from support.disks.small_disk import SmallDisk
from support.pipeline.audited_directory import NOW_MS, AuditedDirectory

from ..object_storage import upload

PARTITIONS = (0, 1, 2)


@pytest.fixture
def directory(tmp_path: Path) -> AuditedDirectory:
    return AuditedDirectory(tmp_path / "logs", partitions=PARTITIONS)


def audited(root: Path, state: Path, scrub_every: int = 0) -> AuditResult:
    return audit_directories([root], LOCAL, now_ms=NOW_MS, state=begin_run(state, scrub_every))


def known(result: AuditResult) -> int:
    return sum(reading.bytes_known for reading in result.readings)


def closed_bytes(root: Path) -> int:
    """The size of all segments but the last of each partition."""
    return sum(log.stat().st_size for path in root.glob("t-*") for log in sorted(path.glob("*.log"))[:-1])


def names(result: AuditResult) -> set[str]:
    return {finding.name for finding in result.findings}


def test_the_second_audit_reads_only_the_active_segments(directory: AuditedDirectory, tmp_path: Path) -> None:
    first = audited(directory.root, tmp_path / "state")
    second = audited(directory.root, tmp_path / "state")
    assert known(first) == 0
    assert known(second) == closed_bytes(directory.root) > 0
    assert second == first
    assert [path.name for path in sorted(folder_of(tmp_path / "state", directory.root).iterdir())] == [
        f"t-{partition}.records" for partition in PARTITIONS
    ]


def test_what_was_read_before_is_no_work(directory: AuditedDirectory, tmp_path: Path) -> None:
    """A pool of processes, or Spark, is started only for what is new."""

    def work(scrub_every: int = 0) -> int:
        state = StateOptions(tmp_path / "state", 2, scrub_every, 0)
        tasks = plan_audit([directory.root], AuditOptions(now_ms=NOW_MS, state=state)).tasks
        return sum(portion.work for portion in portions_of(tasks, None, ()))

    before = work()
    audited(directory.root, tmp_path / "state")
    assert before - work() == closed_bytes(directory.root) > 0
    assert closed_bytes(directory.root) // 2 <= before - work(2) <= closed_bytes(directory.root) // 2 + len(PARTITIONS)


def test_the_summary_says_what_was_spared(
    directory: AuditedDirectory, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [str(directory.root), "--now", str(NOW_MS), "--state", str(tmp_path / "state"), "--scrub", "1%"]
    assert audit(words) == 0
    assert "were known" not in capsys.readouterr().out
    assert audit(words) == 0
    assert "of closed segments were known" in capsys.readouterr().out
    assert audit([str(directory.root), "--scrub", "1%"]) == 3
    assert "--scrub needs --state" in capsys.readouterr().err


def test_a_state_in_a_log_directory_is_refused(directory: AuditedDirectory, capsys: pytest.CaptureFixture[str]) -> None:
    for place in (directory.root, directory.root / "state"):
        assert audit([str(directory.root), "--state", str(place)]) == 3
        assert "Kafka would not start with it" in capsys.readouterr().err
    assert not (directory.root / "state").exists()


@pytest.mark.parametrize("kind", ["<i4", "<i8", "|u1"])
@pytest.mark.parametrize("share", [0.0, 0.01, 0.9])
def test_arrays_are_unpacked_as_they_were_packed(kind: str, share: float) -> None:
    chance = numpy.random.default_rng(3)
    for size in (0, 1, 1000):
        low = 0 if kind == "|u1" else -5
        values = chance.integers(low, 100, size).astype(kind) * (chance.random(size) < share)
        packed = PackedArray.of(values.astype(kind))
        assert packed.values().dtype == numpy.dtype(kind)
        assert packed.values().tolist() == values.tolist()
        stored = io.BytesIO(b"".join(part.data for part in packed.parts))
        assert as_described(packed.described(), stored.read) == packed


def test_levels_have_their_own_state(directory: AuditedDirectory, tmp_path: Path) -> None:
    state = tmp_path / "state"
    audited(directory.root, state)
    batches = audit_directories([directory.root], LOCAL, now_ms=NOW_MS, level="batches", state=begin_run(state))
    assert known(batches) == 0
    assert known(audited(directory.root, state)) > 0


def test_a_closed_segment_that_changed_is_named_once(directory: AuditedDirectory, tmp_path: Path) -> None:
    audited(directory.root, tmp_path / "state")
    path, _ = flip_a_byte(directory.root)
    second = audited(directory.root, tmp_path / "state")
    [found] = [finding for finding in second.findings if finding.name == "closed-segment-changed"]
    assert (found.file, found.topic, found.partition) == (str(path), "t", 0)
    assert "batch-crc-mismatch" in names(second)
    third = audited(directory.root, tmp_path / "state")
    assert "closed-segment-changed" not in names(third)
    assert "batch-crc-mismatch" in names(third), "damage is reported each time"


def test_a_cleaner_and_a_copy_change_no_segment(tmp_path: Path) -> None:
    compacted = AuditedDirectory(tmp_path / "compacted", {"cleanup.policy": "compact"})
    audited(compacted.root, tmp_path / "state")
    compacted.write_batches(compacted.batches()[::2])
    assert "closed-segment-changed" not in names(audited(compacted.root, tmp_path / "state"))
    copied = AuditedDirectory(tmp_path / "copied")
    audited(copied.root, tmp_path / "state")
    data = copied.segment().read_bytes()
    copied.segment().unlink()
    copied.segment(0).with_name(f"{0:020d}.log").write_bytes(data)
    assert audited(copied.root, tmp_path / "state").findings == audited(copied.root, tmp_path / "state").findings


def test_a_scrub_finds_in_its_runs_what_the_times_do_not_show(directory: AuditedDirectory, tmp_path: Path) -> None:
    """Each known segment is read in one of five runs."""
    every = 5
    audited(directory.root, tmp_path / "state")
    status = os.stat(directory.segment())
    path, _ = flip_a_byte(directory.root)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert names(audited(directory.root, tmp_path / "state")) == {"codecs-mixed"}
    runs = [audited(directory.root, tmp_path / "state", every) for _ in range(every)]
    found = [index for index, result in enumerate(runs) if "closed-segment-changed" in names(result)]
    assert len(found) == 1
    assert all("batch-crc-mismatch" in names(result) for result in runs[found[0] :])
    scrubbed = [closed_bytes(directory.root) - known(result) for result in runs]
    assert sum(scrubbed) == closed_bytes(directory.root)


@pytest.mark.parametrize("fault", ["other version", "one byte", "cut", "another file"])
def test_a_state_that_cannot_be_used_is_set_aside(
    directory: AuditedDirectory, tmp_path: Path, fault: str, capsys: pytest.CaptureFixture[str]
) -> None:
    first = audited(directory.root, tmp_path / "state")
    path = folder_of(tmp_path / "state", directory.root) / "t-1.records"
    data = path.read_bytes()
    changed = {
        "other version": data.replace(b"state %d" % VERSION, b"state 99", 1),
        "one byte": data[:200] + bytes([data[200] ^ 1]) + data[201:],
        "cut": data[:-7],
        "another file": b"hello",
    }[fault]
    path.write_bytes(changed)
    again = audited(directory.root, tmp_path / "state")
    assert again == first
    [note] = again.notes
    assert note.startswith(f"{path}: ")
    assert note.endswith("it was set aside, and all was read")
    assert ("version 99" in note) == (fault == "other version")
    assert path.with_name(path.name + SET_ASIDE).read_bytes() == changed
    assert known(again) < known(audited(directory.root, tmp_path / "state")) == closed_bytes(directory.root)


def test_a_state_is_read_as_it_was_written(directory: AuditedDirectory, tmp_path: Path) -> None:
    audited(directory.root, tmp_path / "state")
    path = folder_of(tmp_path / "state", directory.root) / "t-0.records"
    state = decode_state(path.read_bytes())
    assert encode_state(state) == path.read_bytes()
    assert len(state.segments) == 2
    assert decode_state(encode_state(StoredSums("basis", 7))) == StoredSums("basis", 7)
    with pytest.raises(StateError, match="not a state"):
        decode_state(b"")


def test_partitions_that_are_gone_leave_the_state(directory: AuditedDirectory, tmp_path: Path) -> None:
    state = tmp_path / "state"
    audited(directory.root, state)
    (directory.root / "t-2").rename(directory.root / "t-2.0123456789abcdef0123456789abcdef-delete")
    audit_directories([directory.root], LOCAL, topics=["t"], now_ms=NOW_MS, state=begin_run(state))
    folder = folder_of(state, directory.root)
    assert (folder / "t-2.records").exists(), "an audit of some topics does not know the others"
    audited(directory.root, state)
    assert sorted(path.name for path in folder.iterdir()) == ["t-0.records", "t-1.records"]


@pytest.mark.ci
def test_spark_keeps_and_takes_the_same_sums(directory: AuditedDirectory, spark: SparkSession, tmp_path: Path) -> None:
    local = audited(directory.root, tmp_path / "state")
    first = audit_directories([directory.root], SPARK, now_ms=NOW_MS, state=begin_run(tmp_path / "of-spark"))
    second = audit_directories([directory.root], SPARK, now_ms=NOW_MS, state=begin_run(tmp_path / "state"))
    assert first == second == local
    assert known(second) == closed_bytes(directory.root)
    assert known(audited(directory.root, tmp_path / "of-spark")) == closed_bytes(directory.root)


PROGRAM = """
import os, signal, sys
from odradek.pipeline.audit import portions
from odradek.pipeline.audit.command import audit

whole = portions.audit_partition

def die_at_the_last(task, **words):
    if task.replica.partition == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return whole(task, **words)

portions.audit_partition = die_at_the_last
audit(sys.argv[1:])
"""


def test_a_killed_run_keeps_the_partitions_that_it_has_finished(directory: AuditedDirectory, tmp_path: Path) -> None:
    words = [str(directory.root), "--now", str(NOW_MS), "--state", str(tmp_path / "state")]
    killed = subprocess.run([sys.executable, "-c", PROGRAM, *words], capture_output=True, check=False)
    assert killed.returncode == -signal.SIGKILL
    result = audited(directory.root, tmp_path / "state")
    assert [reading.bytes_known > 0 for reading in result.readings] == [True, True, False]
    assert result == audit_directories([directory.root], LOCAL, now_ms=NOW_MS)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    with SmallDisk(tmp_path / "disk", 64 << 10) as disk:
        yield disk


def test_a_full_disk_loses_nothing_but_the_new_sums(disk: SmallDisk, tmp_path: Path) -> None:
    logs = history_directory(tmp_path / "logs", 3)
    folder = disk.seen_from_here / "state"
    folder.mkdir()
    (disk.seen_from_here / "filler").write_bytes(bytes(1))
    disk.shrink()
    words = ["audit", str(logs), "--state", str(disk.mount_point / "state")]
    command = [*disk.prefix, sys.executable, "-m", "odradek", *words]
    full = subprocess.run(command, capture_output=True, text=True, check=False)
    assert full.returncode == 0, full.stderr
    assert "t-0.records can't be written: errno 28 (ENOSPC)" in full.stdout
    assert "the next run reads more" in full.stdout
    assert [path for path in folder.rglob("*") if path.is_file()] == []
    disk.resize(4 << 20)
    assert subprocess.run(command, check=False).returncode == 0
    assert "were known" in subprocess.run(command, capture_output=True, text=True, check=False).stdout


@pytest.fixture
def memory() -> Iterator[str]:
    yield "memory://odradek-state"
    store = fsspec.filesystem("memory")
    if store.exists("/odradek-state"):
        store.rm("/odradek-state", recursive=True)


def test_logs_and_state_may_be_in_object_storage(directory: AuditedDirectory, memory: str) -> None:
    upload(directory.root, f"{memory}/logs")
    logs, state = path_of(f"{memory}/logs"), path_of(f"{memory}/state")
    first = audited(logs, state)
    second = audited(logs, state)
    assert second == first
    assert known(second) == closed_bytes(directory.root)
    path, _ = flip_a_byte(directory.root)
    (logs / "t-0" / path.name).write_bytes(path.read_bytes())
    third = audited(logs, state)
    assert {"closed-segment-changed", "batch-crc-mismatch"} <= names(third)
    broken = folder_of(state, logs) / "t-1.records"
    broken.write_bytes(b"odradek audit state 99\n")
    assert [note.endswith("set aside, and all was read") for note in audited(logs, state).notes] == [True]
    assert (folder_of(state, logs) / f"t-1.records{SET_ASIDE}").exists()
