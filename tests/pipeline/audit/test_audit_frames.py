"""An audit from a notebook has the tables of the command, as DataFrames of the notebook's session."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from odradek.pipeline.audit import AuditFrames, audit
from odradek.pipeline.audit.command import audit as command
from odradek.pipeline.directories.log_directories import LogDirectoryError
from odradek.pipeline.engine.engines import LOCAL
from support.kafka.directory import NOW_MS
from support.pages import only_block

from ..audit_tables import rows_in, without_run
from .two_brokers import two_brokers


@pytest.fixture
def roots(tmp_path: Path) -> list[Path]:
    return two_brokers(tmp_path)


def rows_of(frames: AuditFrames) -> dict[str, list[dict[str, Any]]]:
    return {name: [row.asDict() for row in frame.collect()] for name, frame in frames._asdict().items()}


@pytest.mark.ci
def test_a_notebook_has_the_tables_of_the_command(roots: list[Path], tmp_path: Path, spark: SparkSession) -> None:
    output = tmp_path / "out"
    assert command([*map(str, roots), "--now", str(NOW_MS), "--output", str(output), "--format", "parquet"]) == 2
    frames = audit(spark, roots, now_ms=NOW_MS)
    tables, found = rows_in(output), rows_of(frames)
    assert list(found) == list(tables)
    for name, rows in tables.items():
        assert rows, name
        assert without_run(found[name]) == without_run(rows), name
        written = spark.read.parquet(str(output / f"{name}.parquet")).dtypes
        assert frames._asdict()[name].dtypes == written, name
    assert frames.findings.where("severity = 'ERROR' and name = 'batch-crc-mismatch'").count() > 0
    assert {(row["directory"], row["broker"]) for row in found["partitions"]} == {
        (str(root), broker) for broker, root in enumerate(roots)
    }
    assert len({(row["run"], row["time"]) for rows in found.values() for row in rows}) == 1


@pytest.mark.ci
def test_the_program_of_the_page(roots: list[Path], spark: SparkSession, capsys: pytest.CaptureFixture[str]) -> None:
    program = only_block("docs/audit.md", "From a notebook", "python").text
    assert "/var/lib/kafka/data" in program
    names: dict[str, Any] = {"spark": spark}
    exec(program.replace("/var/lib/kafka/data", str(roots[0])), names)
    assert "consumer-stopped" in capsys.readouterr().out
    assert names["worst"].first()["group"] == "share"


@pytest.mark.ci
def test_the_session_of_another_thread_is_used_and_stays(roots: list[Path], spark: SparkSession) -> None:
    with ThreadPoolExecutor(1) as thread:
        frames = thread.submit(audit, spark, [roots[1], str(roots[1])], now_ms=NOW_MS).result()
    assert [row["topic"] for row in frames.partitions.collect()] == ["t"], "one directory, given twice"
    assert spark.range(3).count() == 3


@pytest.mark.ci
def test_options_of_the_command_are_arguments(roots: list[Path], spark: SparkSession) -> None:
    frames = audit(
        spark, roots, topics=["t"], now_ms=NOW_MS, level="batches", ignored=["batch-crc-mismatch"], engine=LOCAL
    )
    assert {row["topic"] for row in frames.partitions.collect()} == {"t"}
    assert frames.groups.count() == 0
    assert frames.findings.where("name = 'batch-crc-mismatch'").count() == 0


@pytest.mark.ci
def test_what_it_cannot_do_is_said_before_it_reads(roots: list[Path], tmp_path: Path, spark: SparkSession) -> None:
    with pytest.raises(ValueError, match=r"^level: deep is not one of batches, records$"):
        audit(spark, roots[0], level="deep")
    with pytest.raises(ValueError, match=r"^engine: flink is not one of local, spark, auto$"):
        audit(spark, roots[0], engine="flink")
    with pytest.raises(ValueError, match=r"^ignored: nosuch is not one of "):
        audit(spark, roots[0], ignored=["nosuch"])
    with pytest.raises(LogDirectoryError, match="nowhere"):
        audit(spark, tmp_path / "nowhere")
