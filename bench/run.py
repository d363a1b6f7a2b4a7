"""`make bench`: ours and real Kafka in turn on this machine, the same keys, the same client; one table with ratios.

Rounds alternate between the two, so that what else the machine does falls on both; the best of the rounds is reported,
for both. Written to docs/developers/benchmarks.json; docs/developers/benchmarks.md holds the table as last measured.
"""

import argparse
import shutil
import sys
import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

from rich.progress import Progress

import brokers
import workloads
from brokers import Running
from comparison_table import Samples, markdown, save, show
from installed_wheel import install_wheel
from interpreters import describe
from support.kafka.java import kafka_libs

ROOT = Path(__file__).parent.parent
Starter = Callable[[Path], AbstractContextManager[Running]]


def measure(running: Running, scale: float) -> dict[str, float]:
    """All workloads against one running broker."""
    figures: dict[str, float] = {"start s": running.start_seconds, "memory idle MB": running.memory_mb()}

    def add(prefix: str, measured: dict[str, float]) -> None:
        figures.update({f"{prefix}, {name}": value for name, value in measured.items()})

    bootstrap = running.bootstrap
    workloads.create_topic(bootstrap, "latency")
    workloads.acked_latency(bootstrap, "latency", 1)
    figures["first group: subscribe to first message s"] = workloads.first_message(bootstrap, "latency", "first")
    figures["second group: subscribe to first message s"] = workloads.first_message(bootstrap, "latency", "second")
    workloads.warm_up(bootstrap, int(100_000 * scale))
    produced_bytes = 0
    cpu_before = running.cpu_seconds()
    for size, count in ((100, int(1_000_000 * scale)), (1024, int(200_000 * scale))):
        for acks in ("1", "all"):
            topic = f"produce-{size}-{acks}"
            workloads.create_topic(bootstrap, topic)
            add(f"produce {size} B acks={acks}", workloads.produce(bootstrap, topic, count, size, acks))
            produced_bytes += count * size
    figures["produce, broker CPU s/GB"] = (running.cpu_seconds() - cpu_before) / (produced_bytes / 1e9)
    cpu_before = running.cpu_seconds()
    add("consume 100 B", workloads.consume(bootstrap, "produce-100-1", int(1_000_000 * scale), "bench-100"))
    add("consume 1024 B", workloads.consume(bootstrap, "produce-1024-1", int(200_000 * scale), "bench-1024"))
    consumed = (1_000_000 * 100 + 200_000 * 1024) * scale
    figures["consume, broker CPU s/GB"] = (running.cpu_seconds() - cpu_before) / (consumed / 1e9)
    add("acked produce", workloads.acked_latency(bootstrap, "latency", int(3000 * scale)))
    add("commit", workloads.commit_latency(bootstrap, "latency", int(2000 * scale)))
    add("200 connections, one record each", workloads.many_connections(bootstrap, "latency", 200, int(50 * scale)))
    figures["memory after load MB"] = running.memory_mb()
    return figures


def main() -> int:
    """Measures both brokers in turn, prints the table and its Markdown, writes JSON; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--scale", type=float, default=1.0, help="factor for the numbers of records (0.1 for a quick look)"
    )
    parser.add_argument("--output", type=Path, default=ROOT / "docs/developers/benchmarks.json")
    arguments = parser.parse_args()
    libs = kafka_libs()
    results: dict[str, Samples] = {"odradek": {}, "kafka": {}}
    with tempfile.TemporaryDirectory(prefix="odradek-bench-") as place, Progress() as progress:
        scratch = Path(place)
        task = progress.add_task("build and install the wheel", total=1 + 2 * arguments.rounds)
        executable = install_wheel(scratch / "wheel")
        progress.console.print(describe(str(executable.parent / "python")))
        starters: dict[str, Starter] = {
            "odradek": lambda directory: brokers.odradek(executable, directory),
            "kafka": lambda directory: brokers.kafka(libs, directory),
        }
        for round_number in range(arguments.rounds):
            for name, starter in starters.items():
                progress.update(task, advance=1, description=f"round {round_number + 1}: {name}")
                directory = scratch / f"{name}-{round_number}"
                directory.mkdir()
                with starter(directory) as running:
                    for what, value in measure(running, arguments.scale).items():
                        results[name].setdefault(what, []).append(value)
                shutil.rmtree(directory)
        progress.update(task, advance=1)
    show(results)
    print(markdown(results))
    save(arguments.output, {"scale": arguments.scale}, results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
