"""pytest as CI runs it: a failed test is tried once more, in its own process, and reported if it then passes.

Apache Kafka's own CI does the same (``maxTestRetries=1``, and ``maxTestRetryFailures=3`` for each module): among ten
thousand tests, thousands of them with unmodified clients and real brokers, a few occasionally hit a race of a client.
A test that passes at the second try is still a defect to find, so it is printed last, and written to a file. CI keeps
the file from run to run. A test that needs its third second try within ten runs fails. ``make test`` never tries twice.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path

import pytest

MOST_FAILED = 5  # more failures are no accident: none of them is tried again
RECORD = "TESTS_SECOND_TRIES"
"""The variable with the path of the file. Without it no file is written."""
RUN = "TESTS_RUN"
"""The variable with the name of this run of CI, which runs pytest several times."""
RUNS_KEPT = 10
MOST_TRIES = 3
"""A test that needed a second try in this number of the kept runs fails."""


def noted(runs: dict[str, list[str]], run: str, names: Iterable[str]) -> dict[str, list[str]]:
    """The record with the tests that needed a second try in a run. Keeps the last RUNS_KEPT runs."""
    added = {name: tests for name, tests in runs.items() if name != run}
    added[run] = sorted({*runs.get(run, ()), *names})
    return dict(list(added.items())[-RUNS_KEPT:])


def too_often(runs: dict[str, list[str]], run: str) -> list[str]:
    """The tests of a run that needed a second try in MOST_TRIES of the recorded runs. A repaired test is not named."""
    return [name for name in runs[run] if sum(name in tests for tests in runs.values()) >= MOST_TRIES]


def record(names: list[str]) -> list[str]:
    """Writes the tests to the file, and returns those that needed a second try too often."""
    if not os.environ.get(RECORD):
        return []
    path = Path(os.environ[RECORD])
    run = os.environ.get(RUN) or str(time.time_ns())
    runs = noted(json.loads(path.read_text()) if path.exists() else {}, run, names)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(runs, indent=1) + "\n")
    return too_often(runs, run)


class FailedTests:
    """A pytest plugin that collects the node ids of tests that failed, in a fixture or in the test."""

    def __init__(self) -> None:
        self.node_ids: list[str] = []
        self.root = Path()

    def pytest_configure(self, config: pytest.Config) -> None:
        """Notes the directory to which node ids are relative."""
        self.root = config.rootpath

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Takes one phase (setup, call, teardown) of one test."""
        if report.failed and report.nodeid not in self.node_ids:
            self.node_ids.append(report.nodeid)


def main(arguments: list[str]) -> int:
    """Runs pytest with ``arguments``; returns its exit code, or 0 if each failed test passes alone."""
    failed = FailedTests()
    code = int(pytest.main(arguments, plugins=[failed]))
    if code != pytest.ExitCode.TESTS_FAILED:
        record([])
        return code
    if len(failed.node_ids) > MOST_FAILED:
        print(f"{len(failed.node_ids)} tests failed: more than {MOST_FAILED} are not tried again", flush=True)
        return code
    for node_id in failed.node_ids:
        print(f"\nSECOND TRY of {node_id}", flush=True)
        again = subprocess.run([sys.executable, "-m", "pytest", node_id], cwd=failed.root, check=False)
        if again.returncode != 0:
            print(f"\nFAILED TWICE: {node_id}", flush=True)
            return code
    for node_id in failed.node_ids:
        print(f"FLAKY, passed at the second try, look for the cause: {node_id}", flush=True)
    refused = record(failed.node_ids)
    for node_id in refused:
        print(f"FLAKY in {MOST_TRIES} of {RUNS_KEPT} runs: repair {node_id}", flush=True)
    return int(pytest.ExitCode.TESTS_FAILED) if refused else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
