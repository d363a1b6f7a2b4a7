"""The tables of an audit, whose rows workers write: each engine writes the same rows, once, or none."""

import errno
import os
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as parquet
import pytest
from pyspark.sql import SparkSession

from odradek.pipeline.audit import portions
from odradek.pipeline.audit.command import audit, exit_code
from odradek.pipeline.audit.findings import first_of_each_name
from odradek.pipeline.audit.job import audit_directories
from odradek.pipeline.audit.plan import AuditOptions, plan_audit
from odradek.pipeline.audit.portions import MOST_PORTIONS, audit_portion, portions_of
from odradek.pipeline.audit.report.table_files import parts_of, tables_of_a_run, write_partition_rows
from odradek.pipeline.audit.report.tables import FINDINGS, PARTITIONS, TABLES, VOLUME
from odradek.pipeline.audit.report.write import DEFAULT_FORMATS, write_report
from odradek.pipeline.audit.result import AuditResult
from odradek.pipeline.audit.tasks import BATCHES, RECORDS
from odradek.pipeline.directories import file_access
from odradek.pipeline.directories.file_access import path_of
from odradek.pipeline.directories.log_directories import PartitionDirectory
from odradek.pipeline.directories.segment_files import SegmentFile
from odradek.pipeline.engine.engines import LOCAL, POOL, SMALL_BYTES, SPARK, run_tasks
from odradek.pipeline.engine.job import Job, TaskError
from odradek.storage.files.regular_files import open_regular
from support.data.log_directories import flip_a_byte
from support.pipeline.audited_directory import NOW_MS, AuditedDirectory

from ..audit_tables import Rows, any_run, rows_in, without_run


@pytest.fixture
def roots(tmp_path: Path) -> list[Path]:
    """Two directories with equal partition names and different content, one of them damaged."""
    found = [
        AuditedDirectory(tmp_path / str(seed), {"cleanup.policy": "compact"}, seed=seed, partitions=(0, 1, 2)).root
        for seed in range(2)
    ]
    flip_a_byte(found[0])
    return found


def whole_rows(result: AuditResult, scratch: Path) -> Rows:
    """The rows of an audit that returned everything to the driver."""
    with tables_of_a_run(scratch, any_run()) as tables:
        write_partition_rows(tables, 0, result.partitions)
        return {
            table: [row for part in parts_of(tables.directory, table, 1) for row in without_run(part.to_pylist())]
            for table in (PARTITIONS, VOLUME)
        }


def check_rows(output: Path, expected: AuditResult, scratch: Path) -> None:
    rows = rows_in(output)
    for table, found in whole_rows(expected, scratch).items():
        assert without_run(rows[table]) == found
        assert found
    details = [(row["name"], row["file"], row["position"], row["detail"], row["occurrences"]) for row in rows[FINDINGS]]
    assert details == [
        (found.name, found.file, found.position, found.detail, found.occurrences) for found in expected.findings
    ]
    assert {"batch-crc-mismatch", "replicas-diverge"} <= {row["name"] for row in rows[FINDINGS]}
    assert {row["severity"] for row in rows[FINDINGS]} >= {"ERROR"}


def write_small_portions(roots: list[Path], engine: str, output: Path) -> None:
    """Audits in portions of two replicas, and writes the output as the command does."""
    with tables_of_a_run(output, any_run(*roots)) as tables:
        result = audit_directories(roots, engine, now_ms=NOW_MS, tables=tables, portion_replicas=2)
        write_report(result, tables, output, DEFAULT_FORMATS)
    assert exit_code(result.findings, "error") == 2


def words(roots: list[Path], engine: str, output: Path) -> list[str]:
    return [*map(str, roots), "--engine", engine, "--now", str(NOW_MS), "--output", str(output)]


def test_workers_of_a_pool_write_the_rows_that_one_process_finds(roots: list[Path], tmp_path: Path) -> None:
    expected = audit_directories(roots, LOCAL, now_ms=NOW_MS, portion_replicas=2)
    assert expected.portions == 4, "three replicas of a directory in portions of two"
    write_small_portions(roots, POOL, tmp_path / "pool")
    check_rows(tmp_path / "pool", expected, tmp_path / "scratch")
    parts = sorted(path.name for path in (tmp_path / "pool" / "partitions.parquet").iterdir())
    assert parts == [f"part-{number:05d}.parquet" for number in range(4)]


@pytest.mark.ci
def test_tasks_of_spark_write_them_too(roots: list[Path], tmp_path: Path, spark: SparkSession) -> None:
    expected = audit_directories(roots, LOCAL, now_ms=NOW_MS, portion_replicas=2)
    write_small_portions(roots, SPARK, tmp_path / "spark")
    check_rows(tmp_path / "spark", expected, tmp_path / "scratch")
    read = spark.read.parquet(str(tmp_path / "spark" / "findings.parquet"))
    assert read.count() == len(expected.findings)


def test_a_task_that_runs_again_leaves_its_rows_once(roots: list[Path], tmp_path: Path) -> None:
    plan = plan_audit(roots, AuditOptions(now_ms=NOW_MS))
    with tables_of_a_run(tmp_path / "out", any_run()) as tables:
        [portion, _] = portions_of(plan.tasks, tables, ())
        first = audit_portion(portion)
        again = audit_portion(portion)
        assert again == first
        [part] = (tables.directory / "findings.parquet").iterdir()
        rows = parquet.read_table(part).num_rows
        assert parquet.read_table(tables.directory / "partitions.parquet").num_rows == 3
        assert parquet.read_table(tables.directory / "findings.parquet").num_rows == rows > 0
    assert not (tmp_path / "out").exists()


def test_what_comes_back_is_a_line_of_each_name(roots: list[Path], tmp_path: Path) -> None:
    plan = plan_audit(roots, AuditOptions(now_ms=NOW_MS))
    with tables_of_a_run(tmp_path / "out", any_run()) as tables:
        [portion, _] = portions_of(plan.tasks, tables, ())
        small = audit_portion(portion)
    whole = audit_portion(replace(portion, tables=None))
    assert small.volume == whole.volume
    for report, complete in zip(small.partitions, whole.partitions, strict=True):
        assert report.findings == first_of_each_name(complete.findings)
        assert sum(found.occurrences for found in report.findings) == sum(
            found.occurrences for found in complete.findings
        )
        assert (report.volume, report.group_facts) == ([], complete.group_facts)
        assert (report.size, report.records) == (complete.size, complete.records)


def test_a_worker_that_does_not_see_the_output_says_so_before_it_reads(roots: list[Path], tmp_path: Path) -> None:
    plan = plan_audit(roots, AuditOptions(now_ms=NOW_MS))
    with tables_of_a_run(tmp_path / "out", any_run()) as tables:
        found = portions_of(plan.tasks, tables, ())
    with pytest.raises(TaskError, match=rf"^{tmp_path / 'out'} can't be reached from .*--engine local to run on this"):
        list(run_tasks(LOCAL, Job(found, audit_portion, "odradek audit")))


def test_an_error_names_the_replica_and_leaves_no_output(
    roots: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    log = sorted((roots[0] / "t-1").glob("*.log"))[0]

    def too_many_open_files(path: Path, *, follows_links: bool) -> int:
        if path == log:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        return open_regular(path, follows_links=follows_links)

    monkeypatch.setattr(file_access, "open_regular", too_many_open_files)
    assert audit(words(roots[:1], LOCAL, tmp_path / "out")) == 3
    assert f"odradek audit: {roots[0] / 't-1'}: OSError: [Errno {errno.EMFILE}]" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_second_audit_leaves_nothing_of_the_first(roots: list[Path], tmp_path: Path) -> None:
    output = tmp_path / "out"
    (output / "findings.parquet").mkdir(parents=True)
    (output / "findings.parquet" / "part-00099.parquet").write_bytes(b"of another audit")
    (output / "growth.parquet").write_bytes(b"a file")
    assert audit([*words(roots, LOCAL, output), "--ignore", "batch-crc-mismatch"]) == 2
    assert sorted(path.name for path in output.iterdir()) == sorted(["index.html", *(f"{t}.parquet" for t in TABLES)])
    rows = rows_in(output)
    assert "replicas-diverge" in {row["name"] for row in rows[FINDINGS]}
    assert "batch-crc-mismatch" not in {row["name"] for row in rows[FINDINGS]}
    _, _, shown = (output / "index.html").read_text("utf-8").partition("<main>")  # after the command
    assert "replicas-diverge" in shown.partition("<script")[0]
    assert "batch-crc-mismatch" not in shown.partition("<script")[0]


@pytest.mark.parametrize("size", [0, 1 << 20, 1 << 30])
def test_ten_thousand_partitions_are_no_ten_thousand_files(roots: list[Path], size: int) -> None:
    task = plan_audit(roots, AuditOptions(now_ms=NOW_MS)).tasks[0]
    tasks = []
    for number in range(10_000):
        path = Path(f"/data/t-{number}")
        replica = PartitionDirectory("t", number, path, (SegmentFile(0, path / "0.log", size),))
        tasks.append(replace(task, directory=Path(f"/data-{number // 5000}"), replica=replica))
    found = portions_of(tasks, None, ())
    assert [task for portion in found for task in portion.tasks] == tasks
    assert [portion.number for portion in found] == list(range(len(found)))
    assert len(found) <= MOST_PORTIONS + 2
    assert all(len({task.directory for task in portion.tasks}) == 1 for portion in found)


def test_what_is_read_by_headers_alone_is_less_work(roots: list[Path]) -> None:
    def work(topic: str, level: str, directory: Path = roots[0]) -> int:
        replica = PartitionDirectory(
            topic, 0, directory / f"{topic}-0", (SegmentFile(0, directory / "0.log", 1 << 30),)
        )
        task = plan_audit(roots, AuditOptions(now_ms=NOW_MS, level=level)).tasks[0]
        [portion] = portions_of([replace(task, directory=directory, replica=replica)], None, ())
        return portion.work

    files = portions.REPLICA_BYTES + portions.SEGMENT_BYTES
    assert work("t", RECORDS) == work("__consumer_offsets", BATCHES) == (1 << 30) + files
    assert work("t", BATCHES) == (1 << 30) // portions.BATCHES_ARE_LIGHTER + files
    assert work("t", BATCHES, path_of("memory://data")) == (1 << 30) + files, "its bytes come over the network"


def test_many_small_partitions_are_work_for_all_cores(roots: list[Path]) -> None:
    """Each takes as long as some hundred kilobytes, although it has few bytes."""
    task = plan_audit(roots, AuditOptions(now_ms=NOW_MS)).tasks[0]
    replica = PartitionDirectory("t", 0, roots[0] / "t-0", (SegmentFile(0, roots[0] / "0.log", 1000),))
    found = portions_of([replace(task, replica=replica)] * 5000, None, ())
    assert sum(portion.work for portion in found) > 10 * SMALL_BYTES
    assert len(found) >= 64
