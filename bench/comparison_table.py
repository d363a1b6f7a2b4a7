"""Tables of the benches that measure Odradek and Apache Kafka in turn: figures, ratios, and the file of all samples.

A bench keeps the samples of other benches in that file.
"""

import json
import platform
import statistics
from collections.abc import Callable, Mapping
from datetime import date
from pathlib import Path

from rich.console import Console
from rich.table import Table

BIGGER_IS_BETTER = ("records/s", "MB/s", "requests/s")

MEDIAN = ("without writes s", "until all is counted, s")

Goal = Callable[[str], float | None]
"""Row -> how many times better ours shall be; None without a goal."""
Samples = dict[str, list[float]]
"""Name of a row -> one figure of each round."""


def best(name: str, samples: list[float]) -> float:
    """The best of the rounds: the greatest of a rate, the least of anything else.

    The median of a fail-over: most of it is the time until controllers or members notice, which varies by chance.
    """
    if name.endswith(MEDIAN):
        return statistics.median(samples)
    return max(samples) if name.endswith(BIGGER_IS_BETTER) else min(samples)


def ratio(name: str, ours: float, theirs: float) -> float:
    """How many times better ours is (below 1: worse)."""
    if name.endswith(BIGGER_IS_BETTER):
        return ours / theirs
    return theirs / ours if ours else float("inf")


def figure(value: float) -> str:
    """A figure with as many digits as it is worth."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.2f}"


def no_worse(_: str) -> float | None:
    """The goal of a bench without goals of its own; its Markdown names none."""
    return None


def markdown(results: Mapping[str, Samples], goal: Goal = no_worse) -> str:
    """The table for docs/developers/benchmarks.md."""
    has_goals = any(goal(name) for name in results["odradek"])
    lines = ["| what | Odradek | Apache Kafka | times better |", "|---|---:|---:|---:|"]
    if has_goals:
        lines = [lines[0] + " goal |", lines[1] + "---:|"]
    for name, samples in results["odradek"].items():
        ours, theirs = best(name, samples), best(name, results["kafka"][name])
        line = f"| {name} | {figure(ours)} | {figure(theirs)} | {ratio(name, ours, theirs):.2f} |"
        lines.append(f"{line} {_goal_text(goal(name))} |" if has_goals else line)
    return "\n".join(lines) + "\n"


def show(results: Mapping[str, Samples], goal: Goal = no_worse) -> None:
    """Prints the table, green where the goal is reached; without one, where ours is no worse."""
    table = Table("what", "Odradek", "Apache Kafka", "times better", "goal", title="best of the rounds")
    for name, samples in results["odradek"].items():
        ours, theirs = best(name, samples), best(name, results["kafka"][name])
        better, least = ratio(name, ours, theirs), goal(name)
        colour = "green" if better >= (least or 1) else "red"
        table.add_row(name, figure(ours), figure(theirs), f"[{colour}]{better:.2f}[/]", _goal_text(least))
    Console().print(table)


def _goal_text(least: float | None) -> str:
    return "" if least is None else f"{least:.3g}"


def save(path: Path, settings: Mapping[str, object], results: Mapping[str, Samples], key: str | None = None) -> None:
    """Writes the samples of a bench to a JSON file: under ``key``, or at the top level. Keeps the rest of the file."""
    samples = {
        name: {what: {"samples": s, "median": statistics.median(s)} for what, s in measured.items()}
        for name, measured in results.items()
    }
    about = {"date": date.today().isoformat(), "python": platform.python_version(), "machine": platform.machine()}
    section = {"about": about, **settings, "results": samples}
    saved = json.loads(path.read_text()) if path.exists() else {}
    saved.update(section if key is None else {key: section})
    path.write_text(json.dumps(saved, indent=1) + "\n")
