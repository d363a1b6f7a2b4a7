"""Measures the processes of a Spark cluster while a job runs: memory of each worker, processor time by role (Linux)."""

import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from support.brokers.processor_time import cpu_seconds
from support.pipeline.spark_cluster import SparkCluster

LOOK_S = 0.5


class SparkProcesses:
    """``with SparkProcesses(cluster) as used: cluster.submit(...)``: samples twice a second until the block ends.

    The processes of a worker are its descendants: executors' JVMs and their Python processes. The driver is the other
    children of this process. The usage of an ended process after its last sample is not included.
    """

    def __init__(self, cluster: SparkCluster) -> None:
        self.memory: dict[int, int] = {}
        """The peak memory of each worker in bytes, with shared pages counted proportionally (PSS)."""
        self.seconds = 0.0
        self._cluster = cluster
        self._cpu_seconds: dict[tuple[int, str], float] = {}
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self) -> "SparkProcesses":
        self._begin = time.monotonic()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()
        self.seconds = time.monotonic() - self._begin

    @property
    def cpu_seconds(self) -> dict[str, float]:
        """Processor time by role: ``executor JVM``, ``executor Python``, ``driver JVM``, ``driver Python``."""
        total: dict[str, float] = {}
        for (_, role), seconds in self._cpu_seconds.items():
            total[role] = total.get(role, 0.0) + seconds
        return total

    def _watch(self) -> None:
        while not self._is_over.wait(LOOK_S):
            self._look()

    def _look(self) -> None:
        children = children_by_parent()
        of_workers: set[int] = set()
        for worker in self._cluster.worker_pids:
            pids = set(descendants(worker, children))
            self.memory[worker] = max(self.memory.get(worker, 0), sum(map(proportional_bytes, pids)))
            of_workers |= pids
        for pid in of_workers:
            self._note(pid, "executor")
        for pid in set(descendants(os.getpid(), children)) - of_workers - set(self._cluster.pids):
            self._note(pid, "driver")

    def _note(self, pid: int, side: str) -> None:
        try:
            program = Path(f"/proc/{pid}/comm").read_text().strip()
            seconds = cpu_seconds(pid)
        except (FileNotFoundError, ProcessLookupError):
            return
        language = "JVM" if program == "java" else "Python"
        self._cpu_seconds[pid, f"{side} {language}"] = seconds


def children_by_parent() -> dict[int, list[int]]:
    """The process ids of each process's children."""
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
    """Children, their children, and so on."""
    for child in children.get(pid, []):
        yield child
        yield from descendants(child, children)


def proportional_bytes(pid: int) -> int:
    """A process's memory, with shared pages counted proportionally; 0 if it has ended."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))
