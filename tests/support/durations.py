"""How long each test takes: a pytest plugin that writes ``tests/durations.json``, and what reads it.

The file has the mean seconds of a case for each test function whose cases take together a second or more, with their
fixtures. ``make durations`` writes it; a run of some of the tests replaces only their lines. ``support/order.py`` lets
the longest tests begin first.
"""

import json
import os
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

FILE = Path(__file__).parents[1] / "durations.json"
SHORTEST_S = 1.0
"""Functions whose cases take less are not in the file: they change no order, only the file."""


def known() -> dict[str, float]:
    """Test function -> mean seconds of a case, as last measured."""
    found: dict[str, float] = json.loads(FILE.read_text())
    return found


def function(node_id: str) -> str:
    """The test function of a case."""
    return node_id.partition("[")[0]


def total(node_ids: Iterable[str], means: Mapping[str, float]) -> float:
    """The seconds that cases take one after another."""
    return sum(means.get(function(node_id), 0.0) for node_id in node_ids)


def merged(before: Mapping[str, float], measured: Mapping[str, float]) -> dict[str, float]:
    """The means of the file after a run. ``measured``: case -> seconds."""
    cases: defaultdict[str, list[float]] = defaultdict(list)
    for node_id, seconds in measured.items():
        cases[function(node_id)].append(seconds)
    kept = {name: mean for name, mean in before.items() if name not in cases}
    new = {name: round(sum(one) / len(one), 2) for name, one in cases.items() if sum(one) >= SHORTEST_S}
    return dict(sorted((kept | new).items()))


class Recorder:
    """Adds up the phases of each test, and writes the file at the end of the run."""

    def __init__(self) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Takes one phase (setup, call, teardown) of one test."""
        self.seconds[report.nodeid] += report.duration

    def pytest_sessionfinish(self) -> None:
        """Writes the file."""
        FILE.write_text(json.dumps(merged(known(), self.seconds), indent=0) + "\n")


def pytest_configure(config: pytest.Config) -> None:
    """Records in the process that has all reports, which is not one of pytest-xdist's workers."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        config.pluginmanager.register(Recorder())
