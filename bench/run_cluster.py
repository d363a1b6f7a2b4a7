"""`make bench-cluster`: three brokers of ours and three real ones in turn, each under a real controller of its own.

The controllers have the same settings, the brokers the same keys, the client is the same; one table with ratios. Rounds
alternate between the two. The best of the rounds is reported for both, of fail-overs the median. Written to
docs/developers/benchmarks.json and, with --document, into docs/developers/benchmarks.md.
"""

import argparse
import gc
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from confluent_kafka import KafkaException

import cluster_brokers
import cluster_workloads
from cluster_brokers import QUICK_SESSION, SESSION, Command
from cluster_workloads import Figures, Topics
from comparison_table import Samples, markdown, save, show
from installed_wheel import ROOT, install_wheel
from support.kafka.java import KAFKA_VERSION, kafka_libs
from support.kafka.real_kafka import keep_classes

GOALS = {
    "start until unfenced s": 15,
    "memory of three brokers": 3,
    "records/s": 1,
    "p50 ms": 1 / 0.7,
    "p99 ms": 1 / 0.7,
    "without writes s": 1,
    "until all take writes s": 1,
}
"""Part of a row's name -> how many times better ours shall be. Other rows have no goal."""
PARTS = ("produce", "fail-over", "partitions")
BEGIN, END = "<!-- make bench-cluster writes the table below -->", "<!-- end of the table -->"


class Bench:
    """What is measured, and the figures so far."""

    def __init__(self, arguments: argparse.Namespace, commands: dict[str, Command], scratch: Path) -> None:
        self.results: dict[str, Samples] = {name: {} for name in commands}
        self.failures: list[str] = []
        """Parts that could not be measured, with the reason."""
        self._arguments = arguments
        self._commands = commands
        self._scratch = scratch
        self._begin = time.monotonic()

    def say(self, what: str) -> None:
        """Prints a line of progress."""
        print(f"[{self.seconds:4.0f} s] {what}", flush=True)

    @property
    def seconds(self) -> float:
        """Since the beginning."""
        return time.monotonic() - self._begin

    def round(self, number: int) -> None:
        """Measures each cluster once, all parts."""
        for name in self._commands:
            self._measure(name, f"round {number}, {name}")

    def _measure(self, name: str, title: str) -> None:
        arguments = self._arguments
        directory = self._scratch / "cluster"
        session = QUICK_SESSION if arguments.quick else SESSION

        def add(part: str, measure: Callable[[], Figures]) -> None:
            try:
                figures = measure()
            except (AssertionError, KafkaException) as failure:
                self.failures.append(f"{title}: {part}: {failure}")
                self.say(self.failures[-1])
                return
            for what, value in figures.items():
                self.results[name].setdefault(what, []).append(value)
            self.say(f"{title}: {part}: " + "; ".join(f"{what} {value:.4g}" for what, value in figures.items()))

        with cluster_brokers.cluster(self._commands[name], directory, session) as cluster:
            add("start", lambda: cluster_workloads.start_all(cluster))
            topics = Topics(cluster.bootstrap)
            if "produce" in arguments.parts:
                add("produce", lambda: cluster_workloads.produce(cluster, topics, arguments.scale))
            if "fail-over" in arguments.parts:
                for _ in range(arguments.fail_overs):
                    add("fail-over", lambda: cluster_workloads.fail_over(cluster, topics))
            if "partitions" in arguments.parts:
                count, idle_s = arguments.partitions, 1 if arguments.quick else 10
                add("partitions", lambda: cluster_workloads.many_partitions(cluster, topics, count, idle_s))
        shutil.rmtree(directory)
        gc.collect()


def goal(name: str) -> float | None:
    """How many times better ours shall be in a row; None without a goal."""
    return next((least for part, least in GOALS.items() if part in name), None)


def document(path: Path, table: str) -> None:
    """Replaces the table in docs/developers/benchmarks.md."""
    before, _, rest = path.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    assert rest, f"{path} has no markers for the table"
    path.write_text(f"{before}{BEGIN}\n{table}{END}{after}")


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--minutes", type=float, default=12, help="start no round that would end after this time")
    parser.add_argument(
        "--scale", type=float, default=1.0, help="factor for the numbers of records (0.1 for a quick look)"
    )
    parser.add_argument("--fail-overs", type=int, default=2, help="the number of fail-overs of each kind in each round")
    parser.add_argument("--partitions", type=int, default=2_000)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--only", choices=("odradek", "kafka"), help="measure one of the two, and print no table")
    parser.add_argument("--executable", type=Path, help="the odradek command to measure, instead of a new wheel")
    parser.add_argument(
        "--quick", action="store_true", help="short sessions and small heaps, to check that the bench works"
    )
    parser.add_argument("--output", type=Path, default=ROOT / "docs/developers/benchmarks.json")
    parser.add_argument("--document", type=Path, help="the page whose table is replaced")
    return parser.parse_args()


def main() -> int:
    """Measures both clusters in turn, prints the table, writes the files; the exit code."""
    arguments = parse()
    libs = kafka_libs()
    if arguments.quick:
        keep_classes(KAFKA_VERSION)
    with tempfile.TemporaryDirectory(prefix="odradek-bench-") as place:
        executable = arguments.executable or install_wheel(Path(place) / "wheel")
        commands = {
            "kafka": cluster_brokers.kafka(libs, is_quick=arguments.quick),
            "odradek": cluster_brokers.odradek(executable),
        }
        if arguments.only:
            commands = {arguments.only: commands[arguments.only]}
        bench = Bench(arguments, commands, Path(place))
        for number in range(1, arguments.rounds + 1):
            if bench.seconds * number / max(1, number - 1) > 60 * arguments.minutes:
                bench.say(f"round {number} would take longer than {arguments.minutes:g} minutes in all: it is left out")
                break
            bench.round(number)
    if arguments.only:
        return bool(bench.failures)
    both = bench.results["odradek"].keys() & bench.results["kafka"].keys()
    results = {
        name: {what: samples for what, samples in bench.results[name].items() if what in both}
        for name in ("odradek", "kafka")
    }
    show(results, goal)
    table = markdown(results, goal)
    print(table)
    save(arguments.output, {"scale": arguments.scale}, results, "cluster")
    if arguments.document is not None:
        document(arguments.document, table)
    bench.say("done" if not bench.failures else "not all was measured:\n" + "\n".join(bench.failures))
    return bool(bench.failures)


if __name__ == "__main__":
    sys.exit(main())
