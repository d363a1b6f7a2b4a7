"""The same jobs on both engines: equal tables, equal files, equal exit codes. `make test` has one of each job."""

import shutil
from pathlib import Path
from typing import NoReturn

import pytest
from pyspark.sql import SparkSession

import pyspark_odradek
from odradek.pipeline.audit.command import audit
from odradek.pipeline.compact.command import compact
from odradek.pipeline.export.command import export
from support.data.log_directories import compactable_directory, flip_a_byte, history_directory, segment_bytes
from support.data.log_histories import HISTORY_START_MS

from ..audit_tables import lines_in

HOUR_MS = 3_600_000
CONFIGS = {"cleanup.policy": "compact", "delete.retention.ms": str(HOUR_MS), "internal.segment.bytes": "8000"}


def files_in(directory: Path) -> dict[str, bytes]:
    return {str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


@pytest.mark.spark
def test_an_audit_on_spark_equals_the_local_one(spark: SparkSession, tmp_path: Path) -> None:
    first = history_directory(tmp_path / "one", 1, steps=60)
    second = history_directory(tmp_path / "two", 2, steps=60)
    flip_a_byte(second)
    directories = [str(first), str(second)]
    formats = ["--format", "jsonl"]
    assert audit([*directories, "--engine", "local", "--output", str(tmp_path / "local"), *formats]) == 2
    assert pyspark_odradek.main(["audit", *directories, "--output", str(tmp_path / "spark"), *formats]) == 2
    tables = lines_in(tmp_path / "local")
    assert "batch-crc-mismatch" in {row["name"] for row in tables["findings"]}
    assert lines_in(tmp_path / "spark") == tables


@pytest.mark.spark
def test_a_compaction_on_spark_equals_the_local_one(spark: SparkSession, tmp_path: Path) -> None:
    local = compactable_directory(tmp_path / "local", 1, steps=50, partitions=3)
    shutil.copytree(local, tmp_path / "spark")
    words = [word for key, value in CONFIGS.items() for word in ("--config", f"{key}={value}")]
    arguments = ["--topic", "t", *words, "--now", str(HISTORY_START_MS + 11 * HOUR_MS)]
    before = segment_bytes(local)
    assert compact([str(local), *arguments]) == 0
    assert segment_bytes(local) != before
    assert pyspark_odradek.main(["compact", str(tmp_path / "spark"), *arguments]) == 0
    assert segment_bytes(tmp_path / "spark") == segment_bytes(local)


@pytest.mark.spark
def test_an_export_on_spark_equals_the_local_one(spark: SparkSession, tmp_path: Path) -> None:
    directory = history_directory(tmp_path / "logs", 3, steps=60)
    arguments = [str(directory), "--split-bytes", "5000"]
    assert export([*arguments, "--output", str(tmp_path / "local")]) == 0
    assert pyspark_odradek.main(["export", *arguments, "--output", str(tmp_path / "spark")]) == 0
    assert files_in(tmp_path / "spark") == files_in(tmp_path / "local") != {}


@pytest.mark.spark
def test_the_data_source_has_the_records_that_an_export_has(spark: SparkSession, tmp_path: Path) -> None:
    directory = history_directory(tmp_path / "logs", 4, steps=60)
    assert export([str(directory), "--output", str(tmp_path / "export")]) == 0
    columns = ("topic", "partition", "offset")
    pyspark_odradek.register(spark)
    read = spark.read.format("kafkalog").load(str(directory)).select(*columns)
    exported = spark.read.parquet(str(tmp_path / "export")).select(*columns)
    assert sorted(read.collect()) == sorted(exported.collect()) != []


@pytest.mark.parametrize("job", pyspark_odradek.JOBS)
@pytest.mark.parametrize(("option", "exit_code"), [("--help", 0), ("--no-such-option", 2)])
def test_options_are_read_before_a_session_is_started(
    job: str, option: str, exit_code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def start(name: str) -> NoReturn:
        pytest.fail(f"a session for {name}")

    monkeypatch.setattr(pyspark_odradek, "spark_context", start)
    with pytest.raises(SystemExit) as ended:
        pyspark_odradek.main([job, option])
    assert ended.value.code == exit_code
    assert f"usage: odradek {job}" in "".join(capsys.readouterr())


def test_a_job_that_spark_does_not_run_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert pyspark_odradek.main(["dump-log"]) == 2
    assert "audit|compact|export" in capsys.readouterr().err
