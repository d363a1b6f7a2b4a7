"""Unreadable files and things that are not files: a finding with file, position and errno; the audit continues."""

import errno
import os
from pathlib import Path

import pytest

from odradek.pipeline.audit.check import Severity
from odradek.pipeline.audit.command import audit
from odradek.pipeline.audit.findings import Finding
from odradek.pipeline.audit.job import audit_directories
from odradek.pipeline.directories import file_access
from odradek.pipeline.engine.engines import LOCAL
from odradek.storage.files.regular_files import open_regular
from support.disks.odd_files import ODD, make_fifo
from support.pipeline.audited_directory import NOW_MS, AuditedDirectory


def wrong(root: Path) -> list[Finding]:
    found = audit_directories([root], LOCAL, now_ms=NOW_MS).findings
    return [one for one in found if one.check.severity is not Severity.INFO]


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("suffix", [".log", ".index", ".timeindex", ".snapshot", ".txnindex"])
def test_what_is_no_file_is_a_finding(tmp_path: Path, odd: str, suffix: str) -> None:
    directory = AuditedDirectory(tmp_path / "logs", partitions=(0, 1))
    path = directory.segment(1, suffix)
    path.unlink(missing_ok=True)
    make, symbol = ODD[odd]
    make(path)
    found = wrong(directory.root)
    [refused] = [one for one in found if one.name == "file-unreadable"]
    assert (refused.file, refused.topic, refused.partition, refused.position) == (str(path), "t", 0, 0)
    assert symbol in refused.detail
    assert {one.partition for one in found} == {0}


@pytest.mark.parametrize("name", ["partition.metadata", "leader-epoch-checkpoint"])
def test_small_files_of_a_partition(tmp_path: Path, name: str) -> None:
    directory = AuditedDirectory(tmp_path)
    (directory.partition / name).unlink(missing_ok=True)
    make_fifo(directory.partition / name)
    assert [(one.name, one.file) for one in wrong(directory.root)] == [
        ("file-unreadable", str(directory.partition / name))
    ]


@pytest.mark.parametrize("name", ["meta.properties", "replication-offset-checkpoint"])
def test_files_in_the_root(tmp_path: Path, name: str) -> None:
    directory = AuditedDirectory(tmp_path)
    (directory.root / name).unlink()
    make_fifo(directory.root / name)
    assert {(one.name, one.file) for one in wrong(directory.root)} == {("file-unreadable", str(directory.root / name))}


def test_a_linked_partition_is_not_followed(tmp_path: Path) -> None:
    directory = AuditedDirectory(tmp_path / "logs")
    directory.partition.rename(tmp_path / "elsewhere")
    directory.partition.symlink_to(tmp_path / "elsewhere")
    [found] = wrong(directory.root)
    assert (found.name, found.file) == ("file-unreadable", str(directory.partition))
    assert "symbolic link" in found.detail


@pytest.mark.parametrize("code", [errno.EIO, errno.EACCES])
def test_a_file_that_cannot_be_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    directory = AuditedDirectory(tmp_path)
    bad = directory.segment(0)

    def refuse(path: Path, *, follows_links: bool) -> int:
        if path == bad:
            raise OSError(code, os.strerror(code), str(path))
        return open_regular(path, follows_links=follows_links)

    monkeypatch.setattr(file_access, "open_regular", refuse)
    refused = [one for one in wrong(directory.root) if one.name == "file-unreadable"]
    assert [(one.file, one.position) for one in refused] == [(str(bad), 0)]
    assert errno.errorcode[code] in refused[0].detail


def test_a_bad_sector_costs_what_lies_in_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = AuditedDirectory(tmp_path)
    bad = directory.segment(0)
    whole = audit_directories([directory.root], LOCAL, now_ms=NOW_MS).partitions[0]
    sector = bad.stat().st_size // 2
    real = file_access._LocalFile.read

    def read(self: file_access._LocalFile, position: int, size: int) -> bytes:
        if self.size == bad.stat().st_size and position <= sector < position + size:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return real(self, position, size)

    monkeypatch.setattr(file_access._LocalFile, "read", read)
    result = audit_directories([directory.root], LOCAL, now_ms=NOW_MS)
    [refused] = [one for one in result.findings if one.name == "file-unreadable"]
    assert refused.file == str(bad)
    assert 0 <= refused.position <= sector
    assert "EIO" in refused.detail
    assert 0 < result.partitions[0].batches < whole.batches
    assert result.partitions[0].log_end_offset == whole.log_end_offset


def test_a_directory_without_logs_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "python-3").mkdir()
    assert audit(["/etc"]) == 3
    assert audit([str(tmp_path)]) == 3
    assert "not a Kafka log directory" in capsys.readouterr().err
