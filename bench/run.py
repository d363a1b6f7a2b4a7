"""`make bench`: ours and real Kafka in turn on this machine, the same keys, the same client; one table with ratios.

Rounds alternate between the two, so that what else the machine does falls on both; the best of the rounds is reported,
for both. Written to docs/benchmarks.json; docs/benchmarks.md holds the table as last measured.
"""

import argparse
import json
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import date
from pathlib import Path

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

import brokers
import workloads
from brokers import Running
from support.kafka.java import kafka_libs

ROOT = Path(__file__).parent.parent
Starter = Callable[[Path], AbstractContextManager[Running]]

BIGGER_IS_BETTER = ("records/s", "MB/s", "requests/s")


def leave_out(directory: str, names: list[str]) -> list[str]:
    """What the wheel is not built from."""
    if Path(directory) != ROOT:
        return [name for name in names if name == "__pycache__"]
    return [name for name in names if name.startswith(".") or name in ("build", "data", "dist", "tests")]


def install_wheel(directory: Path) -> Path:
    """Builds the wheel and installs it in an environment of its own, as a user has it; the command's path."""
    source = directory / "source"
    shutil.copytree(ROOT, source, symlinks=True, ignore=leave_out)  # a build folder in the tree may hold old modules
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--outdir", str(directory), str(source)],
        check=True,
        capture_output=True,
    )
    wheel = next(directory.glob("odradek-*.whl"))
    environment = directory / "venv"
    subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True)
    subprocess.run(
        [str(environment / "bin/pip"), "install", "--quiet", "--disable-pip-version-check", str(wheel)], check=True
    )
    return environment / "bin/odradek"


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


def best(name: str, samples: list[float]) -> float:
    """The best of the rounds: the greatest of a rate, the least of anything else."""
    return max(samples) if name.endswith(BIGGER_IS_BETTER) else min(samples)


def ratio(name: str, ours: float, theirs: float) -> float:
    """How many times better ours is (below 1: worse)."""
    if name.endswith(BIGGER_IS_BETTER):
        return ours / theirs
    return theirs / ours if ours else float("inf")


def figure(value: float) -> str:
    """A figure with as many digits as it is worth."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.2f}"


def markdown(results: dict[str, dict[str, list[float]]]) -> str:
    """The table for docs/benchmarks.md."""
    lines = ["| what | Odradek | Apache Kafka | times better |", "|---|---:|---:|---:|"]
    for name, samples in results["odradek"].items():
        ours, theirs = best(name, samples), best(name, results["kafka"][name])
        lines.append(f"| {name} | {figure(ours)} | {figure(theirs)} | {ratio(name, ours, theirs):.2f} |")
    return "\n".join(lines) + "\n"


def show(results: dict[str, dict[str, list[float]]]) -> None:
    """Prints the table, green where we are no worse."""
    table = Table("what", "Odradek", "Apache Kafka", "times better", title="best of the rounds")
    for name, samples in results["odradek"].items():
        ours, theirs = best(name, samples), best(name, results["kafka"][name])
        better = ratio(name, ours, theirs)
        colour = "green" if better >= 1 else "red"
        table.add_row(name, figure(ours), figure(theirs), f"[{colour}]{better:.2f}[/]")
    Console().print(table)


def main() -> int:
    """Measures both brokers in turn, prints the table and its Markdown, writes JSON; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--scale", type=float, default=1.0, help="of the numbers of records (0.1 for a quick look)")
    parser.add_argument("--output", type=Path, default=ROOT / "docs/benchmarks.json")
    arguments = parser.parse_args()
    libs = kafka_libs()
    results: dict[str, dict[str, list[float]]] = {"odradek": {}, "kafka": {}}
    with tempfile.TemporaryDirectory(prefix="odradek-bench-") as place, Progress() as progress:
        scratch = Path(place)
        task = progress.add_task("build and install the wheel", total=1 + 2 * arguments.rounds)
        executable = install_wheel(scratch / "wheel")
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
    spread = {
        name: {what: {"samples": s, "median": statistics.median(s)} for what, s in measured.items()}
        for name, measured in results.items()
    }
    about = {"date": date.today().isoformat(), "python": platform.python_version(), "machine": platform.machine()}
    arguments.output.write_text(
        json.dumps({"about": about, "scale": arguments.scale, "results": spread}, indent=1) + "\n"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
