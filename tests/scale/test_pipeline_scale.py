"""The pipeline on a large log directory and a real standalone cluster. Numbers are printed.

``make test-large``: ``SCALE_BYTES`` of logs (by default half of the free disk, 50 GB at most), read by the data source
and audited, on one worker and on two. Memory of each worker, its JVM and its Python processes, stays below 1 GiB.
"""

import json
import os
import shutil
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import pyspark_odradek
from odradek.pipeline.engines import available_cores
from support.large_directory import write_large_directory
from support.spark_cluster import SparkCluster

pytestmark = [pytest.mark.long, pytest.mark.java]

MOST_BYTES = 50 * 10**9
PARTITIONS = 16
GIB = 1 << 30
EXECUTOR_MEMORY = "512m"  # little more than the least that Spark takes
EXECUTOR_OPTIONS = {"spark.executor.extraJavaOptions": "-XX:+UseSerialGC"}
LEAST_SPEED_UP = 1.7
COUNT_RECORDS = Path(__file__).parents[1] / "support" / "count_records.py"
TREE = Path(pyspark_odradek.__file__).parent
"""On the path, so that Spark finds the data source: it lists modules, and an editable install is not listed."""


def asked_bytes() -> int:
    """What the run is to be about."""
    free = shutil.disk_usage(tempfile.gettempdir()).free
    return int(os.environ.get("SCALE_BYTES", min(MOST_BYTES, free // 2)))


@pytest.fixture(scope="module")
def directory() -> Iterator[tuple[Path, dict[str, int]]]:
    """A log directory of the size, and the records of each partition; removed behind the tests."""
    with tempfile.TemporaryDirectory(prefix="odradek-large-") as place:
        begin = time.monotonic()
        counts = write_large_directory(Path(place) / "logs", asked_bytes(), PARTITIONS)
        took = time.monotonic() - begin
        print(f"\nwrote {log_bytes(Path(place)) / 1e9:.1f} GB, {sum(counts.values()):,} records in {took:.0f} s")
        yield Path(place) / "logs", counts


class MemoryOfWorkers:
    """Watches the memory of each worker of a cluster: its executors' JVMs and their Python processes (PSS, Linux)."""

    def __init__(self, cluster: SparkCluster) -> None:
        self.cluster = cluster
        self.greatest: dict[int, int] = {}
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self) -> "MemoryOfWorkers":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._is_over.wait(1.0):
            children = children_by_parent()
            for worker in self.cluster.worker_pids:
                used = sum(proportional_bytes(pid) for pid in descendants(worker, children))
                self.greatest[worker] = max(self.greatest.get(worker, 0), used)


def children_by_parent() -> dict[int, list[int]]:
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
            except (FileNotFoundError, ProcessLookupError):
                continue
            children.setdefault(parent, []).append(int(entry.name))
    return children


def descendants(pid: int, children: dict[int, list[int]]) -> Iterator[int]:
    for child in children.get(pid, []):
        yield child
        yield from descendants(child, children)


def proportional_bytes(pid: int) -> int:
    """A process's memory, pages that are shared counted in parts."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))


def log_bytes(root: Path) -> int:
    """What was written: whole segments, at least one for each partition."""
    return sum(path.stat().st_size for path in root.rglob("*.log"))


def measured(name: str, workers: int, memory: MemoryOfWorkers, seconds: float, size: int) -> None:
    peak = max(memory.greatest.values(), default=0) / (1 << 20)
    rate = size / 1e6 / seconds
    print(f"{name}, {workers} worker(s): {seconds:.1f} s, {rate:.0f} MB/s, {peak:.0f} MiB in the larger worker at most")


def test_records_are_read_in_bounded_memory_and_faster_by_two(
    directory: tuple[Path, dict[str, int]], tmp_path: Path
) -> None:
    root, counts = directory
    seconds = {}
    for workers in (1, 2):
        with cluster_of(workers, tmp_path) as cluster:
            with MemoryOfWorkers(cluster) as memory:
                result = cluster.submit(COUNT_RECORDS, root, tmp_path / f"{workers}.json", configs=EXECUTOR_OPTIONS)
            assert result.returncode == 0, cluster.what_was_said(result)
        found = json.loads((tmp_path / f"{workers}.json").read_text())
        assert {name: records for name, (records, _, _) in found["partitions"].items()} == counts
        seconds[workers] = found["seconds"]
        measured("read", workers, memory, seconds[workers], log_bytes(root))
        assert max(memory.greatest.values()) < GIB
    assert_speed_up(seconds)


def test_an_audit_in_bounded_memory_and_faster_by_two(directory: tuple[Path, dict[str, int]], tmp_path: Path) -> None:
    root, _ = directory
    seconds = {}
    for workers in (1, 2):
        with cluster_of(workers, tmp_path) as cluster:
            begin = time.monotonic()
            with MemoryOfWorkers(cluster) as memory:
                job = Path(pyspark_odradek.__file__)
                output = tmp_path / f"audit-{workers}"
                result = cluster.submit(job, "audit", root, "--output", output, configs=EXECUTOR_OPTIONS)
            seconds[workers] = time.monotonic() - begin
            assert result.returncode == 0, cluster.what_was_said(result)
        measured("audit, with the start of its driver", workers, memory, seconds[workers], log_bytes(root))
        assert max(memory.greatest.values()) < GIB
    assert_speed_up(seconds)


def cluster_of(workers: int, tmp_path: Path) -> SparkCluster:
    return SparkCluster(tmp_path / f"{workers}", workers=workers, python_path=TREE, executor_memory=EXECUTOR_MEMORY)


def assert_speed_up(seconds: dict[int, float]) -> None:
    """Two workers on cores of their own; with fewer cores than two workers and a driver keep busy, they only share."""
    speed_up = seconds[1] / seconds[2]
    print(f"two workers: {speed_up:.2f} times one, load {statistics.fmean(os.getloadavg()):.1f}", file=sys.stderr)
    if available_cores() > 2:
        assert speed_up >= LEAST_SPEED_UP
