"""Each table of an audit says which run wrote a row, and which broker of which cluster the row is about."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pyarrow.parquet as parquet
import pytest
from pyspark.sql import SparkSession

from odradek.pipeline.audit.command import audit
from odradek.pipeline.audit.report.tables import RUN_SCHEMA, TABLES
from odradek.pipeline.audit.run_identity import DirectoryOwner, RunIdentity, begin_identity
from odradek.pipeline.engine.engines import LOCAL, SPARK
from odradek.protocol.common.wall_clock import clock_ms
from odradek.storage.files.meta_properties import META_PROPERTIES
from support.kafka.directory import NOW_MS

from ..audit_tables import rows_in
from .two_brokers import CLUSTER, belongs_to, two_brokers

OTHER_CLUSTER = "BBBBBBBBBBBBBBBBBBBBBB"


@pytest.fixture
def roots(tmp_path: Path) -> list[Path]:
    return two_brokers(tmp_path)


def check_columns(roots: list[Path], engine: str, tmp_path: Path) -> None:
    """Audits twice. Each row has the run of the table of runs, and the broker of its directory."""
    for number in range(2):
        begun_ms = clock_ms()
        output, runs = tmp_path / f"out-{number}", tmp_path / f"runs-{number}"
        words = [*map(str, roots), "--engine", engine, "--now", str(NOW_MS)]
        words += ["--format", "parquet", "--format", "jsonl"]
        assert audit([*words, "--output", str(output), "--runs", str(runs)]) == 2
        tables = rows_in(output)
        recorded = parquet.read_table(runs).to_pylist()
        assert [(row["directory"], row["broker"]) for row in recorded] == [(str(roots[0]), 0), (str(roots[1]), 1)]
        [(run, time)] = {(row["run"], row["time"]) for row in recorded}
        assert begun_ms <= round(time.timestamp() * 1000) <= clock_ms()
        for name, rows in tables.items():
            assert rows, name
            assert parquet.read_schema(next((output / f"{name}.parquet").iterdir())).names[-4:] == RUN_SCHEMA.names
            assert {(row["cluster"], row["run"], row["time"]) for row in rows} == {(CLUSTER, run, time)}, name
            lines = (output / f"{name}.jsonl").read_text("utf-8").splitlines()
            assert {json.loads(line)["time"] for line in lines} == {time.isoformat()}
        brokers = {str(root): broker for broker, root in enumerate(roots)}
        for name in ("partitions", "volume"):
            assert all(row["broker"] == brokers[row["directory"]] for row in tables[name]), name
        found = {(row["name"], row["broker"]) for row in tables["findings"]}
        assert {("consumer-stopped", 0), ("batch-crc-mismatch", 1)} <= found
        assert ("batch-crc-mismatch", 0) not in found
        for name in ("groups", "growth", "shares"):
            assert {row["broker"] for row in tables[name]} == {None}, "they are computed from both directories"
    first, second = (rows_in(tmp_path / f"out-{number}")["partitions"][0]["run"] for number in range(2))
    assert first != second


def test_each_row_names_its_run_and_broker(roots: list[Path], tmp_path: Path) -> None:
    check_columns(roots, LOCAL, tmp_path)


@pytest.mark.ci
def test_tasks_of_spark_name_them_too(roots: list[Path], tmp_path: Path, spark: SparkSession) -> None:
    check_columns(roots, SPARK, tmp_path)
    read = spark.read.parquet(str(tmp_path / "out-0" / "partitions.parquet"))
    assert {row["broker"] for row in read.select("broker").distinct().collect()} == {0, 1}


def test_groups_of_one_broker_name_it(roots: list[Path], tmp_path: Path) -> None:
    assert audit([str(roots[0]), "--now", str(NOW_MS), "--output", str(tmp_path / "out")]) >= 1
    tables = rows_in(tmp_path / "out")
    assert {name: {row["broker"] for row in rows} for name, rows in tables.items()} == {name: {0} for name in TABLES}


def test_a_path_belongs_to_the_innermost_directory_or_to_what_all_have_in_common() -> None:
    one, two, other = DirectoryOwner("c", 1), DirectoryOwner("c", 2), DirectoryOwner("d", 1)

    def run(**owners: DirectoryOwner) -> RunIdentity:
        return RunIdentity("run", 0, {f"/{name}": owner for name, owner in owners.items()})

    nested = RunIdentity("run", 0, {"/": one, "/data/": two, "/data/t-0": other})
    assert [nested.owner_of(path) for path in ("/data/t-0", "/data/t-0/0.log", "/data/t-01", "/x")] == [
        other, other, two, one
    ]  # fmt: skip
    assert run(a=one, b=two).owner_of("/ab") == DirectoryOwner("c", None)
    assert run(a=one, b=one).owner_of("") == one
    assert run(a=one, b=other).owner_of("") == DirectoryOwner(None, None), "broker 1 of two clusters are two brokers"
    assert run(a=one, b=DirectoryOwner(None, None)).owner_of("") == DirectoryOwner(None, None)


def test_a_directory_without_an_owner_has_rows_without_one(roots: list[Path], tmp_path: Path) -> None:
    (roots[1] / META_PROPERTIES).unlink()
    owners = begin_identity(roots).owners
    assert owners == {str(roots[0]): (CLUSTER, 0), str(roots[1]): (None, None)}
    before = datetime.now(UTC)
    assert audit([str(roots[1]), "--now", str(NOW_MS), "--output", str(tmp_path / "out")]) == 2
    rows = rows_in(tmp_path / "out")["partitions"]
    assert [(row["cluster"], row["broker"]) for row in rows] == [(None, None)]
    assert rows[0]["time"] >= before.replace(microsecond=before.microsecond // 1000 * 1000)


def test_clusters_are_told_apart(roots: list[Path], tmp_path: Path) -> None:
    belongs_to(roots[1], OTHER_CLUSTER, 0)
    words = [*map(str, roots), "--engine", LOCAL, "--now", str(NOW_MS), "--output", str(tmp_path / "out")]
    assert audit(words) == 2
    rows = rows_in(tmp_path / "out")["partitions"]
    assert {(row["cluster"], row["broker"], row["directory"]) for row in rows} == {
        (CLUSTER, 0, str(roots[0])),
        (OTHER_CLUSTER, 0, str(roots[1])),
    }
