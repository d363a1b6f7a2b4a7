"""`make bench-pipeline`: jobs over log directories beside Apache Kafka's tools, on the same bytes, in one run.

Builds one data set (pipeline_data.py), then runs the modules pipeline_reading, pipeline_spark, pipeline_compaction and
pipeline_audit, where they are there. Each has a function `comparisons(data, scratch)`, a context manager that gives a
list of `Comparison`: what it starts for several of them (a Spark session, a JVM) lives as long as the block. Rounds
alternate between the contestants, so that what else the machine does falls on all; the best of the rounds is reported,
for all. Written to docs/benchmarks-pipeline.json.
"""

import argparse
import json
import platform
import statistics
import sys
import tempfile
from contextlib import AbstractContextManager
from datetime import date
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol, cast

from rich.console import Console
from rich.table import Table

from pipeline_comparison import Comparison, measure
from pipeline_data import DataSet, build

ROOT = Path(__file__).parent.parent
PARTS = ("reading", "spark", "compaction", "audit")


class Part(Protocol):
    """A module of comparisons."""

    def comparisons(self, data: DataSet, scratch: Path) -> AbstractContextManager[list[Comparison]]:
        """What is compared over the data set, as long as the block lasts; ``scratch`` is a directory of its own."""
        ...


def figure(value: float) -> str:
    """A figure with as many digits as it is worth."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.2f}"


def rows(results: list[tuple[Comparison, dict[str, list[float]]]]) -> list[list[str]]:
    """What, who, seconds, MB/s, records/s, times as fast as the peer; the first contestant is ours."""
    found = []
    for comparison, samples in results:
        for name, seconds in samples.items():
            best = min(seconds)
            ratio = "" if name == comparison.peer else figure(min(samples[comparison.peer]) / best)
            rates = [figure(comparison.bytes / best / 1e6), figure(comparison.records / best / 1e6)]
            found.append([comparison.name, name, figure(best), *rates, ratio])
    return found


HEADINGS = ("what", "who", "s", "MB/s", "M records/s", "times as fast")


def markdown(results: list[tuple[Comparison, dict[str, list[float]]]]) -> str:
    """The table for docs/developers/benchmarks.md."""
    lines = [f"| {' | '.join(HEADINGS)} |", "|---|---|" + "---:|" * 4]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows(results))]) + "\n"


def show(results: list[tuple[Comparison, dict[str, list[float]]]]) -> None:
    """Prints the table."""
    table = Table(*HEADINGS, title="best of the rounds")
    for row in rows(results):
        table.add_row(*row)
    Console(width=max(120, Console().width)).print(table)


def main() -> int:
    """Runs the comparisons in turn, prints the table and its Markdown, writes JSON; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--scale", type=float, default=1.0, help="factor for the numbers of records (0.1 for a quick look)"
    )
    parser.add_argument("--part", choices=PARTS, action="append", help="only this part; may be repeated")
    parser.add_argument("--only", default="", help="only comparisons whose names contain this text")
    parser.add_argument("--output", type=Path, default=ROOT / "docs/benchmarks-pipeline.json")
    arguments = parser.parse_args()
    results: list[tuple[Comparison, dict[str, list[float]]]] = []
    with tempfile.TemporaryDirectory(prefix="odradek-bench-") as place:
        scratch = Path(place)
        print("building the data set", file=sys.stderr)
        data = build(scratch / "data", arguments.scale)
        for name in arguments.part or PARTS:
            if find_spec(f"pipeline_{name}") is None:
                continue
            part = cast(Part, import_module(f"pipeline_{name}"))
            with part.comparisons(data, scratch / name) as comparisons:
                for comparison in comparisons:
                    if arguments.only in comparison.name:
                        print(f"{name}: {comparison.name}", file=sys.stderr)
                        results.append((comparison, measure(comparison, scratch / name, arguments.rounds)))
    show(results)
    print(markdown(results))
    about = {"date": date.today().isoformat(), "python": platform.python_version(), "machine": platform.machine()}
    measured = [
        {
            "name": comparison.name,
            "bytes": comparison.bytes,
            "records": comparison.records,
            "peer": comparison.peer,
            "seconds": {name: {"samples": s, "median": statistics.median(s)} for name, s in samples.items()},
        }
        for comparison, samples in results
    ]
    text = json.dumps({"about": about, "scale": arguments.scale, "results": measured}, indent=1)
    arguments.output.write_text(text + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
