"""The table of runs in Delta's format has the rows of Parquet, once for each run, also of audits that end at once."""

import multiprocessing
import sys
from pathlib import Path

import pyarrow.parquet as parquet
import pytest
from deltalake import DeltaTable

from odradek.pipeline.audit.command import audit
from odradek.pipeline.audit.report.runs_table import DELTA, RunRow, append_run
from odradek.pipeline.audit.result import AuditResult
from odradek.pipeline.audit.run_identity import DirectoryOwner, RunIdentity
from support.kafka.directory import NOW_MS

from .two_brokers import two_brokers

OWNER = {"/logs": DirectoryOwner("c", 1)}


def append(table: Path, run: str) -> None:
    append_run(table, AuditResult(), RunIdentity(run, NOW_MS, OWNER), RunRow("records", 1.5, 0), DELTA)


def runs_in(table: Path) -> list[str]:
    return sorted(row["run"] for row in DeltaTable(str(table)).to_pyarrow_table().to_pylist())


def test_a_delta_table_has_the_rows_of_parquet(tmp_path: Path) -> None:
    roots = two_brokers(tmp_path)
    words = [*map(str, roots), "--engine", "local", "--now", str(NOW_MS)]
    for _ in range(2):
        assert audit([*words, "--runs", str(tmp_path / "delta"), "--runs-format", "delta"]) == 2
    assert audit([*words, "--runs", str(tmp_path / "delta")]) == 2, "the format of a table is known"
    assert audit([*words, "--runs", str(tmp_path / "parquet")]) == 2
    rows = DeltaTable(str(tmp_path / "delta")).to_pyarrow_table().to_pylist()
    assert len({row["run"] for row in rows}) == 3
    [first, *_] = sorted({row["run"] for row in rows})
    once = [row for row in rows if row["run"] == first]
    others = parquet.read_table(tmp_path / "parquet").to_pylist()
    of_each_run = {"run", "time", "seconds"}
    known = sorted(({key: value for key, value in row.items() if key not in of_each_run} for row in once), key=str)
    assert known == sorted(({key: row[key] for key in known[0]} for row in others), key=str)


def test_a_run_is_appended_once(tmp_path: Path) -> None:
    for run in ("run-1", "run-2", "run-1"):
        append(tmp_path / "table", run)
    assert runs_in(tmp_path / "table") == ["run-1", "run-2"]


def test_audits_append_at_once(tmp_path: Path) -> None:
    append(tmp_path / "table", "run-0")
    context = multiprocessing.get_context("spawn")
    names = [f"run-{number}" for number in range(1, 5)]
    workers = [context.Process(target=append, args=(tmp_path / "table", name)) for name in names]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0] * len(workers)
    assert runs_in(tmp_path / "table") == ["run-0", *names]


def test_tables_of_the_other_format_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    roots = two_brokers(tmp_path)
    words = [*map(str, roots), "--engine", "local", "--now", str(NOW_MS)]
    table = tmp_path / "table"
    assert audit([*words, "--runs", str(table)]) == 2
    assert audit([*words, "--runs", str(table), "--runs-format", "delta"]) == 3
    assert "is not empty and no Delta table" in capsys.readouterr().err
    append(tmp_path / "delta", "run-0")
    assert audit([*words, "--runs", str(tmp_path / "delta"), "--runs-format", "parquet"]) == 3
    assert "is a Delta table" in capsys.readouterr().err


def test_without_the_extra_the_command_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "deltalake", None)
    with pytest.raises(OSError, match="install odradek with the extra 'delta'"):
        append(tmp_path / "table", "run-0")
