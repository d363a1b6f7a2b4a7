"""The audit of directories under URLs has the findings of the local disk, and reports what URLs do not allow."""

import pickle
from collections.abc import Iterator
from pathlib import Path

import fsspec
import pyarrow.parquet as parquet
import pytest
from fsspec.implementations.memory import MemoryFileSystem

from odradek.pipeline.audit.command import audit
from odradek.pipeline.audit.job import audit_directories
from odradek.pipeline.audit.plan import AuditOptions, plan_audit
from odradek.pipeline.audit.portions import audit_portion, portions_of
from odradek.pipeline.compact.command import compact
from odradek.pipeline.directories.file_access import path_of
from odradek.pipeline.engine.engines import LOCAL
from odradek.pipeline.export.command import export
from odradek.pipeline.importing.command import import_topics
from support.data.log_directories import flip_a_byte
from support.pipeline.audited_directory import NOW_MS, AuditedDirectory

from ..audit_tables import without_run
from ..groups_directory import GroupsDirectory
from ..object_storage import upload


@pytest.fixture
def memory() -> Iterator[str]:
    """The URL of a directory in fsspec's file system in memory."""
    yield "memory://odradek-audit/data"
    store = fsspec.filesystem("memory")
    if store.exists("/odradek-audit"):
        store.rm("/odradek-audit", recursive=True)


@pytest.fixture
def damaged(tmp_path: Path) -> Path:
    """Three partitions of a compacted topic, with one wrong byte, a malformed checkpoint and a leftover file."""
    root = AuditedDirectory(tmp_path / "data", {"cleanup.policy": "compact"}, partitions=(0, 1, 2)).root
    flip_a_byte(root)
    (root / "log-start-offset-checkpoint").write_text("0\nmany\n")
    (root / "t-1" / "00000000000000000777.index").write_bytes(bytes(8))
    (root / "t-9.0123456789abcdef0123456789abcdef-delete").mkdir()
    (root / "t-9.0123456789abcdef0123456789abcdef-delete" / "partition.metadata").write_bytes(b"x")
    return root


def check_equal(directory: Path, url: str, at_ms: int | None = None) -> None:
    """Asserts equal findings, numbers, groups and volume, apart from paths."""
    here = audit_directories([directory], LOCAL, now_ms=NOW_MS, at_ms=at_ms)
    there = audit_directories([path_of(url)], LOCAL, now_ms=NOW_MS, at_ms=at_ms)
    assert here.findings
    assert str(there).replace(url, str(directory)) == str(here)


def test_a_directory_in_memory_is_audited_as_the_local_one(damaged: Path, memory: str) -> None:
    upload(damaged, memory)
    check_equal(damaged, memory)
    names = {found.name for found in audit_directories([path_of(memory)], LOCAL, now_ms=NOW_MS).findings}
    expected = {"batch-crc-mismatch", "checkpoint-unreadable", "index-without-log", "leftover-delete-directory"}
    assert expected <= names


def test_groups_and_their_lag_are_told_from_a_url(tmp_path: Path, memory: str) -> None:
    directory = GroupsDirectory()
    for step in range(50):
        directory.commit("readers", step)
    directory.group("readers", 1)
    root = directory.write(tmp_path / "data")
    upload(root, memory)
    check_equal(root, memory)
    check_equal(root, memory, at_ms=NOW_MS - 1)


def test_replicas_here_and_there_are_compared(damaged: Path, tmp_path: Path, memory: str) -> None:
    other = AuditedDirectory(tmp_path / "other", {"cleanup.policy": "compact"}, seed=1, partitions=(0, 1, 2)).root
    upload(other, memory)
    here = audit_directories([damaged, other], LOCAL, now_ms=NOW_MS)
    there = audit_directories([damaged, path_of(memory)], LOCAL, now_ms=NOW_MS)
    assert "replicas-diverge" in {found.name for found in there.findings}
    assert str(there).replace(memory, str(other)) == str(here)


def test_a_task_under_a_url_travels(damaged: Path, memory: str) -> None:
    upload(damaged, memory)
    [portion] = portions_of(plan_audit([path_of(memory)], AuditOptions(now_ms=NOW_MS)).tasks, None, ())
    assert audit_portion(pickle.loads(pickle.dumps(portion))) == audit_portion(portion)


def test_what_can_not_be_asked_is_said(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert audit(["nonsense://volumes/data"]) == 3
    assert "odradek audit: nonsense://volumes/data: " in capsys.readouterr().err
    assert audit(["memory://odradek-nothing/data"]) == 3
    assert "odradek audit: memory://odradek-nothing/data is not a directory" in capsys.readouterr().err

    def refuse(*_: object, **__: object) -> None:
        raise RuntimeError("unable to locate credentials")

    monkeypatch.setattr(MemoryFileSystem, "info", refuse)
    monkeypatch.setattr(MemoryFileSystem, "isdir", refuse)
    assert audit(["memory://odradek-nothing/data"]) == 3
    said = capsys.readouterr().err
    assert said == "odradek audit: memory://odradek-nothing/data: RuntimeError: unable to locate credentials\n"


def test_what_is_written_must_lie_on_a_disk(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    url = "s3://volumes/data"
    for command, words in (
        (audit, [str(tmp_path), "--output", url]),
        (export, [str(tmp_path), "--output", url]),
        (compact, [url]),
        (import_topics, [str(tmp_path), "--into", url]),
        (import_topics, [url, "--into", str(tmp_path)]),
    ):
        with pytest.raises(SystemExit) as ended:
            command(words)
        assert ended.value.code == 2
        said = capsys.readouterr().err
        assert f"{url} is a URL: this command renames and locks files, which object storage does not support" in said


@pytest.mark.ci
@pytest.mark.usefixtures("s3_server")
def test_a_bucket_is_audited_as_the_local_directory(damaged: Path, tmp_path: Path) -> None:
    url = "s3://audited/broker-1/data"
    store = fsspec.filesystem("s3", skip_instance_cache=True)
    store.mkdir("audited")
    upload(damaged, url)
    check_equal(damaged, url)
    for place, output in ((str(damaged), "here"), (url, "there")):
        assert audit([place, "--now", str(NOW_MS), "--output", str(tmp_path / output)]) == 2
    here, there = (
        parquet.read_table(tmp_path / output / "findings.parquet").to_pylist() for output in ("here", "there")
    )
    assert here
    assert str(without_run(there)).replace(url, str(damaged)) == str(without_run(here))
