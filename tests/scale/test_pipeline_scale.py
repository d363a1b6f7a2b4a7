"""The pipeline on a large log directory and a real standalone cluster. Prints measurements.

``make test-large``: ``SCALE_BYTES`` of logs (by default half of the free disk, 50 GB at most), read by the data source
and audited, on one worker and on two. Memory of each worker, its JVM and its Python processes, stays below 1 GiB.
"""

import json
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import pyspark_odradek
from odradek.pipeline.engine.engines import available_cores
from scale.large_directory import write_large_directory
from scale.spark_processes import SparkProcesses
from support.pipeline.spark_cluster import SparkCluster

pytestmark = [pytest.mark.long, pytest.mark.java]

MOST_BYTES = 50 * 10**9
PARTITIONS = 16
GIB = 1 << 30
EXECUTOR_MEMORY = "512m"  # a little more than Spark's minimum
EXECUTOR_OPTIONS = {"spark.executor.extraJavaOptions": "-XX:+UseSerialGC"}
LEAST_SPEED_UP = 1.7
COUNT_RECORDS = Path(__file__).parents[1] / "support" / "pipeline" / "count_records.py"
TREE = Path(pyspark_odradek.__file__).parent
"""On the path, so that Spark finds the data source: it lists modules, and does not find an editable install."""


def asked_bytes() -> int:
    """The size of the run in bytes: SCALE_BYTES, or half of the free disk."""
    free = shutil.disk_usage(tempfile.gettempdir()).free
    return int(os.environ.get("SCALE_BYTES", min(MOST_BYTES, free // 2)))


@pytest.fixture(scope="module")
def directory() -> Iterator[tuple[Path, dict[str, int]]]:
    """A log directory of the size, and the records of each partition. It is removed after the tests."""
    with tempfile.TemporaryDirectory(prefix="odradek-large-") as place:
        begin = time.monotonic()
        counts = write_large_directory(Path(place) / "logs", asked_bytes(), PARTITIONS)
        took = time.monotonic() - begin
        print(f"\nwrote {log_bytes(Path(place)) / 1e9:.1f} GB, {sum(counts.values()):,} records in {took:.0f} s")
        yield Path(place) / "logs", counts


def log_bytes(root: Path) -> int:
    """The bytes written: whole segments, at least one for each partition."""
    return sum(path.stat().st_size for path in root.rglob("*.log"))


def report(name: str, workers: int, used: SparkProcesses, seconds: float, size: int) -> None:
    """Prints the time, the memory, and the profile: the number of busy cores by role."""
    peak = max(used.memory.values()) >> 20
    print(f"{name}, {workers} worker(s): {seconds:.1f} s, {size / 1e6 / seconds:.0f} MB/s, at most {peak} MiB in one")
    cores = sum(used.cpu_seconds.values()) / used.seconds
    parts = ", ".join(f"{role} {cpu:.1f} s" for role, cpu in sorted(used.cpu_seconds.items()))
    print(f"  {cores:.2f} of {available_cores()} cores busy for {used.seconds:.1f} s: {parts}")


def test_records_are_read_in_bounded_memory_and_faster_by_two(
    directory: tuple[Path, dict[str, int]], tmp_path: Path
) -> None:
    root, counts = directory
    seconds = {}
    for workers in (1, 2):
        with cluster_of(workers, tmp_path) as cluster:
            with SparkProcesses(cluster) as used:
                result = cluster.submit(COUNT_RECORDS, root, tmp_path / f"{workers}.json", configs=EXECUTOR_OPTIONS)
            assert result.returncode == 0, cluster.what_was_said(result)
        found = json.loads((tmp_path / f"{workers}.json").read_text())
        assert {name: records for name, (records, _, _) in found["partitions"].items()} == counts
        seconds[workers] = found["seconds"]
        report("read", workers, used, seconds[workers], log_bytes(root))
        assert max(used.memory.values()) < GIB
    assert_speed_up(seconds)


def test_an_audit_in_bounded_memory_and_faster_by_two(directory: tuple[Path, dict[str, int]], tmp_path: Path) -> None:
    root, _ = directory
    seconds = {}
    for workers in (1, 2):
        with cluster_of(workers, tmp_path) as cluster:
            begin = time.monotonic()
            with SparkProcesses(cluster) as used:
                job = Path(pyspark_odradek.__file__)
                output = tmp_path / f"audit-{workers}"
                result = cluster.submit(job, "audit", root, "--output", output, configs=EXECUTOR_OPTIONS)
            seconds[workers] = time.monotonic() - begin
            assert result.returncode == 0, cluster.what_was_said(result)
        report("audit, with the start of its driver", workers, used, seconds[workers], log_bytes(root))
        assert max(used.memory.values()) < GIB
    assert_speed_up(seconds)


def cluster_of(workers: int, tmp_path: Path) -> SparkCluster:
    return SparkCluster(tmp_path / f"{workers}", workers=workers, python_path=TREE, executor_memory=EXECUTOR_MEMORY)


def assert_speed_up(seconds: dict[int, float]) -> None:
    """Asserts a speed-up with two workers, if there are enough cores for two workers and a driver."""
    speed_up = seconds[1] / seconds[2]
    print(f"two workers: {speed_up:.2f} times one, load {statistics.fmean(os.getloadavg()):.1f}", file=sys.stderr)
    if available_cores() > 2:
        assert speed_up >= LEAST_SPEED_UP
