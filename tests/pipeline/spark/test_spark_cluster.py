"""A real standalone cluster, a master and two workers, with the wheel: the data source and an audit."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from odradek.pipeline.audit.command import audit
from support.data.log_directories import history_directory
from support.pages import blocks
from support.pipeline.spark_cluster import HOME, SparkCluster
from support.pipeline.wheel import build_wheel, run
from support.reader import written

from ..audit_tables import lines_in
from ..kafkalog_reading import offsets_of, read_rows

# Three JVMs and two drivers: on a busy machine a test takes minutes.
pytestmark = [pytest.mark.nightly, pytest.mark.java, pytest.mark.timeout(1800)]
COUNT_RECORDS = Path(__file__).parents[2] / "support" / "pipeline" / "count_records.py"


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with only the wheel installed."""
    directory = tmp_path_factory.mktemp("wheel")
    wheel = build_wheel(directory)
    target = directory / "package"
    run(sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", target, wheel, directory=directory)
    return target


@pytest.fixture(scope="module")
def cluster(package: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkCluster]:
    with SparkCluster(tmp_path_factory.mktemp("cluster"), python_path=package) as running:
        yield running


def test_the_data_source_is_found_on_driver_and_executors(cluster: SparkCluster, package: Path, tmp_path: Path) -> None:
    directory = history_directory(tmp_path / "logs")
    result = cluster.submit(COUNT_RECORDS, directory, tmp_path / "result.json")
    assert result.returncode == 0, cluster.what_was_said(result)
    found = json.loads((tmp_path / "result.json").read_text())
    rows = read_rows(directory)
    sums = [len(rows), sum(offsets_of(rows)), sum(len(row["value"] or b"") for row in rows)]
    assert found["partitions"] == {"t-0": sums}
    assert found["executors"] == 2
    [place] = found["packages"]
    assert place.startswith(str(package)), "not the working tree"


def as_on_the_page(
    cluster: SparkCluster, directories: list[Path], output: Path, *arguments: str
) -> subprocess.CompletedProcess[str]:
    """Submits an audit with the commands of docs/spark.md."""
    *_, of_a_job, of_snapshots = (block for block in blocks("docs/spark.md", "Clusters"))
    job, submit = of_a_job.commands()
    (of_three,) = of_snapshots.commands()
    on_the_page = " ".join(f"/mnt/broker-{number}/data" for number in (1, 2, 3))
    assert submit.replace("DIR...", on_the_page) == of_three
    places = (("HOST:7077", cluster.url.removeprefix("spark://")), ("OUT", str(output)))
    command = written(submit, ("DIR...", " ".join(map(str, directories))), *places)
    path = f"{Path(sys.executable).parent}:{HOME / 'bin'}:{os.environ['PATH']}"
    return subprocess.run(
        ["sh", "-c", f"{job}\n{command} {' '.join(arguments)}"],
        cwd=cluster.directory,
        env={**cluster.environment, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )


def test_an_audit_on_the_cluster_equals_the_local_one(cluster: SparkCluster, package: Path, tmp_path: Path) -> None:
    names = ("broker-1", "broker-2", "broker-3")
    directories = [history_directory(tmp_path / name / "data", seed) for seed, name in enumerate(names)]
    arguments = ["--format", "jsonl"]
    local = audit([*map(str, directories), "--engine", "local", "--output", str(tmp_path / "local"), *arguments])
    before = cluster.applications
    result = as_on_the_page(cluster, directories, tmp_path / "spark", *arguments)
    assert result.returncode == local, cluster.what_was_said(result)
    assert len(cluster.applications - before) == 1, "its partitions and its replicas in one application"
    assert lines_in(tmp_path / "spark") == lines_in(tmp_path / "local")
