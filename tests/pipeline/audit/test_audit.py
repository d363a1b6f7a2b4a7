"""`odradek audit`: no finding on clean directories, no damage ends it; its options, output and exit codes."""

import os
import random
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as parquet
import pytest
from pyspark.sql import SparkSession

from odradek.pipeline.audit.check import Severity
from odradek.pipeline.audit.command import audit
from odradek.pipeline.audit.findings import CHECKS, Finding
from odradek.pipeline.audit.job import audit_directories
from odradek.pipeline.audit.result import AuditResult
from odradek.pipeline.audit.tasks import BATCHES
from odradek.pipeline.compact.command import compact
from odradek.pipeline.engine.engines import LOCAL, SPARK
from odradek.protocol.records.batch import iterate_headers
from support.data.log_directories import compactable_directory, flip_a_byte, history_directory
from support.data.log_histories import HISTORY_START_MS
from support.pipeline.audited_directory import NOW_MS, AuditedDirectory, stamp

from .damaged_batches import MAX_TIME

DAY_MS = 86_400_000


def audited(*directories: Path, now_ms: int | None = NOW_MS) -> AuditResult:
    return audit_directories(directories, LOCAL, now_ms=now_ms)


def wrong(result: AuditResult) -> list[Finding]:
    """The findings of a severity above INFO."""
    return [found for found in result.findings if found.check.severity is not Severity.INFO]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("is_clean", [True, False])
def test_a_clean_directory_has_no_findings(tmp_path: Path, seed: int, is_clean: bool) -> None:
    directory = history_directory(tmp_path, seed, is_clean=is_clean)
    result = audited(directory)
    assert {found.name for found in result.findings} <= {"codecs-mixed"}
    [report] = result.partitions
    headers = [h for path in (directory / "t-0").glob("*.log") for _, h in iterate_headers(path.read_bytes())]
    assert report.batches == len(headers)
    assert report.records == sum(header.records_count for header in headers if not header.is_control)
    assert report.log_end_offset == max(header.next_offset for header in headers)
    assert sum(day.size for day in report.volume) == report.size
    assert sum(day.records for day in report.volume) == report.records
    assert report.distinct_keys == 50


@pytest.mark.parametrize("seed", range(8))
def test_compaction_leaves_nothing_wrong(tmp_path: Path, seed: int) -> None:
    directory = compactable_directory(tmp_path, seed)
    for day in range(4):
        now = str(NOW_MS + day * 2 * DAY_MS)
        assert compact([str(directory), "--topic", "t", "--now", now, "--config", "cleanup.policy=compact"]) == 0
        assert wrong(audited(directory, now_ms=int(now))) == []


@pytest.mark.parametrize("seed", range(40))
def test_random_damage_never_ends_the_audit(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    directory = AuditedDirectory(tmp_path, {"cleanup.policy": rng.choice(("compact", "delete"))}, seed=seed % 4).root
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
    found = {finding.name for finding in audited(directory, now_ms=HISTORY_START_MS + 600_000).findings}
    assert found <= {"log-tail-torn", "checkpoint-beyond-log", "codecs-mixed"}
    assert "log-tail-torn" in found


def test_batches_are_enough_for_what_needs_no_record(tmp_path: Path) -> None:
    directory = AuditedDirectory(tmp_path)
    path, position = flip_a_byte(directory.root)
    result = audit_directories([directory.root], LOCAL, now_ms=NOW_MS, level=BATCHES)
    assert [(found.name, found.file, found.position) for found in wrong(result)] == [
        ("batch-crc-mismatch", str(path), position)
    ]
    assert result.partitions[0].decoded_size == -1


def test_the_clock_is_when_the_directory_was_last_in_use(tmp_path: Path) -> None:
    directory = AuditedDirectory(tmp_path, {"retention.ms": "86400000"})
    assert wrong(audited(directory.root, now_ms=None)) == []
    assert {found.name for found in wrong(audited(directory.root, now_ms=NOW_MS + 2 * DAY_MS))} == {"retention-overdue"}
    os.utime(directory.root / "recovery-point-offset-checkpoint", ns=(0, (NOW_MS + 2 * DAY_MS) * 1_000_000))
    assert {found.name for found in wrong(audited(directory.root, now_ms=None))} == {"retention-overdue"}


def test_replicas_that_are_the_same_have_no_findings(tmp_path: Path) -> None:
    roots = [AuditedDirectory(tmp_path / name).root for name in ("one", "two", "three")]
    assert wrong(audited(*roots)) == []


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
    assert parquet.read_table(output / "partitions.parquet").num_rows == 1
    assert "batch-crc-mismatch" in capsys.readouterr().out
    assert audit([str(tmp_path / "nowhere"), "--output", str(output)]) == 3


def test_times_beyond_all_dates_are_findings_and_no_end(tmp_path: Path) -> None:
    directory = AuditedDirectory(tmp_path / "logs")
    batches = directory.batches()
    index, _, header = directory.find(after=0, is_control=False)
    stamp(batches[index], MAX_TIME, ">q", 1 << 62)
    directory.write_batches(batches)
    output = tmp_path / "out"
    formats = [part for name in ("parquet", "jsonl", "html") for part in ("--format", name)]
    assert audit([str(directory.root), "--now", str(NOW_MS), "--output", str(output), *formats]) >= 1
    rows = parquet.read_table(output / "findings.parquet").to_pylist()
    assert ("timestamp-in-future", header.base_offset) in {(row["name"], row["offset"]) for row in rows}
    assert (output / "index.html").exists()


def test_a_small_audit_of_batches_imports_nothing_that_it_does_not_need(tmp_path: Path) -> None:
    AuditedDirectory(tmp_path)
    foreign = {"concurrent", "cramjam", "html", "multiprocessing", "numba", "pandas", "pyarrow", "pyspark", "rich"}
    own = {"pipeline.audit.groups.audit", "pipeline.audit.replicas", "pipeline.decode.records"}
    needless = foreign | {f"odradek.{name}" for name in own} | {"odradek.protocol.messages.group_records"}
    program = (
        "import sys; from odradek.pipeline.audit.command import audit; "
        f"audit([{str(tmp_path)!r}, '--level', 'batches', '--ignore', 'codecs-mixed']); "
        "executed = {name for name, module in sys.modules.items() if type(module).__name__ != '_LazyModule'}; "
        f"sys.exit(' '.join({needless} & executed))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "\n")


@pytest.mark.skipif(sys.platform != "linux", reason="threads are counted in /proc")
def test_a_command_has_no_threads_for_linear_algebra() -> None:
    program = """
import os, sys, types
import odradek.__main__ as program

def run(arguments):
    import numpy
    print(len(os.listdir("/proc/self/task")))

sys.modules["told"] = types.SimpleNamespace(run=run)
program.COMMANDS["told"] = ("told:run", "")
sys.argv = ["odradek", "told"]
program.main()
"""
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout == "1\n"


def test_a_summary_in_a_file_has_paths_on_one_line_and_each_directory_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    directory = AuditedDirectory(tmp_path / "data")
    flip_a_byte(directory.root)
    assert audit([str(directory.root)]) == 2
    once = capsys.readouterr().out
    damaged = [line for line in once.splitlines() if "batch-crc-mismatch" in line and "│" in line]
    assert len(damaged) == 1
    assert f"{directory.root / 't-0'}/00000000000000000000.log at " in damaged[0]
    assert audit([str(directory.root), f"{directory.root}/"]) == 2
    assert capsys.readouterr().out == once


def test_the_exit_code_tells_what_is_asked_for(tmp_path: Path) -> None:
    directory = AuditedDirectory(tmp_path, {"retention.ms": "1000"})
    late = str(NOW_MS + DAY_MS)
    assert audit([str(directory.root), "--now", late]) == 1
    assert audit([str(directory.root), "--now", late, "--fail-on", "error"]) == 0
    assert audit([str(directory.root), "--now", late, "--ignore", "retention-overdue"]) == 0
    assert audit([str(directory.root), "--ignore", "retention-overdu"]) == 3
    assert audit([str(directory.root), "--topic", "nosuch"]) == 3
    flip_a_byte(directory.root)
    assert audit([str(directory.root), "--now", late, "--fail-on", "error"]) == 2
    assert audit([str(directory.root), "--now", "2026-05-29", "--fail-on", "never"]) == 0
    with pytest.raises(SystemExit):
        audit([str(directory.root), "--now", "yesterday"])


def test_the_page_has_all_findings(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        audit(["--list-findings"])
    assert ended.value.code == 0
    catalogue = capsys.readouterr().out
    page = (Path(__file__).parents[3] / "docs" / "audit-findings.md").read_text(encoding="utf-8")
    assert page.endswith(catalogue), "put the output of `odradek audit --list-findings` at the end of the page"


@pytest.mark.ci
def test_both_engines_find_the_same(tmp_path: Path, spark: SparkSession) -> None:
    roots = [
        AuditedDirectory(tmp_path / str(seed), {"cleanup.policy": "compact"}, seed=seed, partitions=(0, 1, 2)).root
        for seed in range(2)
    ]
    flip_a_byte(roots[0])
    local = audit_directories(roots, LOCAL, now_ms=NOW_MS)
    assert {"batch-crc-mismatch", "replicas-diverge"} <= {found.name for found in local.findings}
    assert audit_directories(roots, SPARK, now_ms=NOW_MS) == local


def test_every_check_says_what_it_means_and_what_to_do() -> None:
    for name, check in CHECKS.items():
        assert check.meaning.endswith("."), name
        assert check.action.endswith("."), name
    assert Finding("batch-crc-mismatch", "t", 0, "f", 0, 0, "").check.severity > 0
