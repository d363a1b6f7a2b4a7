"""An audit of a directory that changes while it is read ends, and reports no false finding."""

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from odradek.pipeline.audit.check import Severity
from odradek.pipeline.audit.findings import Finding
from odradek.pipeline.audit.job import audit_directories
from odradek.pipeline.audit.result import AuditResult
from odradek.pipeline.directories.file_access import MOST_RESTARTS
from odradek.pipeline.engine.engines import LOCAL
from odradek.storage.files.files import Files
from odradek.storage.files.meta_properties import write_partition_metadata
from support.pipeline.audited_directory import HIGH_WATERMARK, NOW_MS, AuditedDirectory

from ..changed_while_read import changed_while_read


def audited(*roots: Path) -> AuditResult:
    return audit_directories(list(roots), LOCAL, now_ms=NOW_MS)


def wrong(result: AuditResult) -> list[Finding]:
    return [one for one in result.findings if one.check.severity is not Severity.INFO]


def delete_segment(log: Path, suffix: str = ".deleted") -> None:
    """Deletes a segment as retention does: renames its files, the log first."""
    for path in sorted(log.parent.glob(f"{log.stem}.*"), key=lambda path: path.suffix != ".log"):
        if path.suffix != ".snapshot":
            path.rename(path.with_name(path.name + suffix))


def make_unclean(directory: AuditedDirectory) -> None:
    (directory.root / ".kafka_cleanshutdown").unlink()


@pytest.mark.parametrize("suffix", [".log", ".index", ".timeindex"])
def test_retention_deletes_the_first_segment(tmp_path: Path, suffix: str) -> None:
    directory = AuditedDirectory(tmp_path)
    make_unclean(directory)
    first, second = directory.segment(0), directory.segment(1)
    with changed_while_read(first.with_suffix(suffix), lambda: delete_segment(first)):
        result = audited(directory.root)
    assert wrong(result) == []
    assert result.partitions[0].log_start_offset == int(second.stem)
    assert result.partitions[0].segments == 2


def test_the_cleaner_swaps_a_segment_after_its_index_was_read(tmp_path: Path) -> None:
    directory = AuditedDirectory(tmp_path, {"cleanup.policy": "compact"})
    make_unclean(directory)
    log = directory.segment(0)
    kept = directory.batches()[2:]

    def swap() -> None:
        new = log.with_suffix(".log.swap")
        new.write_bytes(b"".join(kept))
        delete_segment(log)
        new.rename(log)
        log.with_suffix(".index").write_bytes(b"")
        log.with_suffix(".timeindex").write_bytes(b"")

    with changed_while_read(log, swap):
        names = {one.name for one in wrong(audited(directory.root))}
    assert not [name for name in names if "mismatch" in name or "not-increasing" in name]


@pytest.mark.parametrize("number", [0, 2])
def test_a_partition_that_is_deleted_is_a_note(tmp_path: Path, number: int) -> None:
    directory = AuditedDirectory(tmp_path, partitions=(0, 1))
    make_unclean(directory)
    gone = directory.root / "t-0.0123456789abcdef0123456789abcdef-delete"
    with changed_while_read(directory.segment(number), lambda: directory.partition.rename(gone)):
        result = audited(directory.root)
    assert [(one.name, one.partition) for one in result.findings if one.name.startswith("partition-")] == [
        ("partition-gone", 0)
    ]
    assert wrong(result) == []
    assert not result.partitions[0].is_known
    assert result.partitions[1].is_known


def test_one_that_never_stands_still_is_read_four_times_and_a_note(tmp_path: Path) -> None:
    directory = AuditedDirectory(tmp_path)
    make_unclean(directory)
    log = directory.segment(0)

    def replace() -> None:
        new = log.with_suffix(".new")
        shutil.copy(log, new)
        log.rename(log.with_suffix(".old"))
        new.rename(log)
        log.with_suffix(".old").unlink()

    # a new file may get the inode of the removed one, so one is kept open
    with log.open("rb"), changed_while_read(log, replace, times=100) as opened:
        result = audited(directory.root)
    assert opened.count(log) == MOST_RESTARTS + 1
    assert [one.name for one in result.findings] == ["partition-changing"]


@contextmanager
def locked(root: Path) -> Iterator[None]:
    """Another process has the directory's lock, as a broker."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        descriptor = os.open(root / ".lock", os.O_RDWR | os.O_CREAT)
        fcntl.lockf(descriptor, fcntl.LOCK_EX)
        os.write(writing, b"x")
        os.close(writing)
        try:
            os.read(os.open(root / "end", os.O_RDONLY), 1)  # a FIFO: until the test is over
        finally:
            os._exit(0)
    os.read(reading, 1)
    try:
        yield
    finally:
        os.close(os.open(root / "end", os.O_RDWR | os.O_NONBLOCK))
        os.kill(child, 9)
        os.waitpid(child, 0)
        os.close(reading)
        os.close(writing)


def test_a_topic_made_anew_is_judged_by_its_own_metadata(tmp_path: Path) -> None:
    directory = AuditedDirectory(tmp_path)
    make_unclean(directory)
    os.mkfifo(tmp_path / "end")
    other_id = bytes(range(100, 116))

    def make_anew() -> None:
        for path in directory.partition.iterdir():
            if int(path.name.partition(".")[0] if path.stem.isdigit() else 0) or path.suffix == ".txnindex":
                path.unlink()
        for suffix in (".log", ".index", ".timeindex"):
            new = directory.partition / f"{0:020d}{suffix}"
            new.with_suffix(".new").write_bytes(b"")
            new.with_suffix(".new").replace(new)
        write_partition_metadata(Files(), directory.partition, other_id)
        data = (directory.root / "__cluster_metadata-0" / f"{0:020d}.log").read_bytes()
        assert data  # the plan keeps the metadata of the old topic
        directory.checkpoint(HIGH_WATERMARK, 0)
        (directory.root / "recovery-point-offset-checkpoint").unlink()
        directory.write_metadata_of(other_id)

    with locked(tmp_path), changed_while_read(directory.segment(0), make_anew):
        result = audited(directory.root)
    assert [one for one in wrong(result) if one.file != str(tmp_path / "end")] == []


def test_a_topic_that_the_metadata_has_a_moment_later(tmp_path: Path) -> None:
    directory = AuditedDirectory(tmp_path)
    make_unclean(directory)
    os.mkfifo(tmp_path / "end")
    metadata = directory.root / "__cluster_metadata-0" / f"{0:020d}.log"
    known = metadata.read_bytes()
    directory.write_metadata_of(bytes(range(50, 66)), "another")
    with locked(tmp_path), changed_while_read(directory.segment(2), lambda: metadata.write_bytes(known)):
        result = audited(directory.root)
    assert [one for one in wrong(result) if one.file != str(tmp_path / "end")] == []


def test_of_several_replicas_one_is_deleted_between_audit_and_comparison(tmp_path: Path) -> None:
    roots = [AuditedDirectory(tmp_path / name) for name in ("one", "two")]
    last = roots[1].segment(2)
    opened = 0

    def delete_at_the_second_reading() -> None:
        nonlocal opened
        opened += 1
        if opened == 2:
            roots[1].partition.rename(roots[1].root / "t-0.0123456789abcdef0123456789abcdef-delete")

    with changed_while_read(last, delete_at_the_second_reading, times=5):
        result = audited(*(directory.root for directory in roots))
    assert opened >= 2
    assert wrong(result) == []
    assert [one.name for one in result.findings if one.name.startswith("partition-")] == ["partition-changing"]
