"""pytest as CI runs it: a failed test is tried once more, in its own process, and reported if it then passes.

Apache Kafka's own CI does the same with the same numbers (``maxTestRetries=1``, ``maxTestRetryFailures=3``): among ten
thousand tests, thousands of them with unmodified clients and real brokers, a few occasionally hit a race of a client.
A test that passes at the second try is still a defect to find, so it is printed last. ``make test`` never tries twice.
"""

import subprocess
import sys
from pathlib import Path

import pytest

MOST_FAILED = 3  # more failures are no accident: none of them is tried again


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
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
