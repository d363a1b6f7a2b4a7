"""`make bench-pipeline-cost`: what an audit costs by bytes and partitions, on each engine, and a model made of it.

For each directory (pipeline_cost_data.py): the command on this machine, with and without `--state`, on Spark in one
process, and on a standalone cluster of two workers that reads from a server of S3. Prints time, processor time of all
processes, and the peak of their memory together (PSS). `--limit` names the largest directories of the slow engines.
The server's own time and memory are left out.
"""

import argparse
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import fsspec
import numpy
from pipeline_cost_data import START_MS, write_directory

import pyspark_odradek
from scale.spark_processes import children_by_parent, descendants, proportional_bytes
from support.brokers.free_ports import free_ports
from support.brokers.processor_time import cpu_seconds
from support.eventually import eventually
from support.pipeline.spark_cluster import SparkCluster

GB = 10**9
LOOK_S = 0.2
LOCAL, KNOWN, BATCHES, EXPORT = "local", "local, second run with --state", "local, --level batches", "export, local"
SPARK, CLUSTER = "Spark, one machine", "Spark, two workers, S3"
ENGINES = (LOCAL, KNOWN, BATCHES, EXPORT, SPARK, CLUSTER)
MODELS = (LOCAL, KNOWN, BATCHES)
TREE = Path(pyspark_odradek.__file__).parent
S3_ENVIRONMENT = {"AWS_ACCESS_KEY_ID": "bench", "AWS_SECRET_ACCESS_KEY": "bench", "AWS_DEFAULT_REGION": "us-east-1"}


class Cost(NamedTuple):
    """One run. Times are seconds, `memory` bytes."""

    engine: str
    size: int
    partitions: int
    seconds: float
    cpu: float
    memory: int


class Watch:
    """Sums the processor time, and the peak of the memory, of processes and all their descendants while a block lasts.

    `ended`: the processor time of this process's ended children is used if it is greater: they may live shorter than
    the time between two looks.
    """

    def __init__(self, left_out: Sequence[int] = ()) -> None:
        self.memory = 0
        self.seconds = self.cpu = 0.0
        self._left_out = set(left_out)
        self._times: dict[int, tuple[float, float]] = {}
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> "Watch":
        self._look()
        self._begin, self._ended = time.monotonic(), _ended_seconds()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.seconds = time.monotonic() - self._begin
        self._is_over.set()
        self._thread.join()
        self.cpu = max(sum(last - first for first, last in self._times.values()), _ended_seconds() - self._ended)

    def _run(self) -> None:
        while not self._is_over.wait(LOOK_S):
            self._look()

    def _look(self) -> None:
        is_first = not self.seconds and not self._thread.is_alive()
        pids = set(descendants(os.getpid(), children_by_parent())) - self._left_out
        self.memory = max(self.memory, sum(map(proportional_bytes, pids)))
        for pid in pids:
            try:
                now = cpu_seconds(pid)
            except (FileNotFoundError, ProcessLookupError):
                continue
            first = self._times.get(pid, (now if is_first else 0.0, 0.0))[0]
            self._times[pid] = (first, now)


def _ended_seconds() -> float:
    times = os.times()
    return times.children_user + times.children_system


def command(*words: str | Path) -> None:
    """Runs the command as a user does. Raises CalledProcessError."""
    subprocess.run([sys.executable, "-m", "odradek", *map(str, words)], check=True, stdout=subprocess.DEVNULL)


def audit_words(directory: Path | str, output: Path) -> list[str | Path]:
    """The words of an audit with an output."""
    return ["audit", directory, "--now", str(START_MS), "--output", output]


def run_here(engine: str, directory: Path, scratch: Path) -> Watch:
    """Measures an engine of this machine."""
    output = scratch / "output"
    words = audit_words(directory, output)
    if engine == KNOWN:
        words += ["--engine", "local", "--state", scratch / "state"]
        command(*words)
        shutil.rmtree(output)
    elif engine == SPARK:
        words += ["--engine", "spark"]
    elif engine == EXPORT:
        words = ["export", directory, "--engine", "local", "--output", output]
    else:
        words += ["--engine", "local", "--level", "batches" if engine == BATCHES else "records"]
    with Watch() as watch:
        command(*words)
    return watch


@contextmanager
def s3_server(scratch: Path) -> Iterator[int]:
    """A server of S3 as a process of its own; the environment has its address. Gives its process id."""
    (port,) = free_ports(1)
    os.environ |= S3_ENVIRONMENT | {"AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}"}
    with (scratch / "s3.log").open("wb") as log:
        words = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
        server = subprocess.Popen(words, stdout=log, stderr=log)
        try:
            eventually(lambda: "the server of S3", lambda: _is_open(port), patience_s=300.0, every_s=0.1)
            yield server.pid
        finally:
            server.terminate()
            server.wait()


def _is_open(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


def run_on_cluster(directory: Path, scratch: Path) -> Watch:
    """Measures two workers that read from the server."""
    with s3_server(scratch) as server:
        store = fsspec.filesystem("s3", skip_instance_cache=True)
        store.mkdir("logs")
        store.put(f"{directory}/", "logs/data", recursive=True)
        with SparkCluster(scratch / "cluster", workers=2, python_path=TREE) as cluster:
            with Watch([server]) as watch:
                words = [*audit_words("s3://logs/data", scratch / "output"), "--engine", "spark"]
                result = cluster.submit(Path(pyspark_odradek.__file__), *words)
            assert result.returncode == 0, cluster.what_was_said(result)
    return watch


def model(costs: Sequence[Cost]) -> dict[str, tuple[float, float, float]]:
    """For each engine of MODELS the seconds of processor time of a run, of a GB, and of 1,000 partitions.

    They are those with the least sum of squares of relative errors.
    """
    found = {}
    for engine in MODELS:
        rows = [cost for cost in costs if cost.engine == engine]
        if len(rows) < 3:
            continue
        facts = numpy.array([[1, row.size / GB, row.partitions / 1000] for row in rows])
        cpu = numpy.array([row.cpu for row in rows])
        constants = numpy.linalg.lstsq(facts / cpu[:, None], numpy.ones(len(rows)), rcond=None)[0]
        found[engine] = (float(constants[0]), float(constants[1]), float(constants[2]))
    return found


def expected(constants: tuple[float, float, float], cost: Cost) -> float:
    """What the model says of a run."""
    return constants[0] + constants[1] * cost.size / GB + constants[2] * cost.partitions / 1000


def markdown(costs: Sequence[Cost]) -> str:
    """The tables for docs/developers/benchmarks.md."""
    constants = model(costs)
    lines = ["| what | GB | partitions | s | CPU s | memory MB | model CPU s |", "|---|---:|---:|---:|---:|---:|---:|"]
    for cost in costs:
        said = f"{expected(constants[cost.engine], cost):.1f}" if cost.engine in constants else ""
        figures = f"{cost.size / GB:.1f} | {cost.partitions:,} | {cost.seconds:.1f} | {cost.cpu:.1f}"
        lines.append(f"| {cost.engine} | {figures} | {cost.memory / 1e6:,.0f} | {said} |")
    lines += ["", "| model: CPU s | of a run | of a GB | of 1,000 partitions |", "|---|---:|---:|---:|"]
    lines += [f"| {engine} | {' | '.join(f'{value:.2f}' for value in row)} |" for engine, row in constants.items()]
    return "\n".join(lines) + "\n"


def main() -> int:
    """Measures, prints each row, and the tables; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gigabytes", type=float, nargs="+", default=[1, 10])
    parser.add_argument("--partitions", type=int, nargs="+", default=[50, 500, 5_000, 50_000])
    parser.add_argument("--engine", choices=ENGINES, nargs="+", default=ENGINES)
    parser.add_argument("--limit", type=float, nargs=2, default=(1, 500), help="GB and partitions of the last engine")
    parser.add_argument("--place", type=Path, default=None, help="where directories are made")
    parser.add_argument("--output", type=Path, default=None, help="appends each row as JSON")
    arguments = parser.parse_args()
    costs = []
    for gigabytes in arguments.gigabytes:
        for partitions in arguments.partitions:
            with tempfile.TemporaryDirectory(prefix="odradek-cost-", dir=arguments.place) as place:
                directory = Path(place) / "logs"
                size = write_directory(directory, int(gigabytes * GB), partitions)
                for engine in arguments.engine:
                    if engine == CLUSTER and (gigabytes > arguments.limit[0] or partitions > arguments.limit[1]):
                        continue
                    scratch = Path(place) / "scratch"
                    scratch.mkdir()
                    watch = (
                        run_on_cluster(directory, scratch)
                        if engine == CLUSTER
                        else run_here(engine, directory, scratch)
                    )
                    cost = Cost(engine, size, partitions, watch.seconds, watch.cpu, watch.memory)
                    shutil.rmtree(scratch)
                    costs.append(cost)
                    print(cost, f"load {os.getloadavg()[0]:.1f}", file=sys.stderr, flush=True)
                    if arguments.output is not None:
                        with arguments.output.open("a") as file:
                            file.write(json.dumps(cost) + "\n")
    print(markdown(costs))
    return 0


if __name__ == "__main__":
    sys.exit(main())
