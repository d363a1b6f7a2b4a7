"""The projects of ``examples/`` pass their own tests, each in its own process, in which warnings are errors."""

import subprocess
import sys
from pathlib import Path

import pytest

from support.pipeline.wheel import ROOT

PROJECTS = sorted(path.parent for path in (ROOT / "examples").glob("*/requirements.txt"))
# kafka-python 3.0 calls functions that Python 3.11 deprecates, and leaves the sockets of refused connections to the
# garbage collector.
WARNINGS = ("-W", "error", "-W", "ignore::DeprecationWarning", "-W", "ignore:unclosed <socket:ResourceWarning")
RUNS = 10

pytestmark = pytest.mark.ci


def test_there_is_one_for_each_library() -> None:
    listed = (ROOT / "examples" / "README.md").read_text()
    assert [project.name for project in PROJECTS] == [
        "with-aiokafka",
        "with-confluent-kafka",
        "with-faststream",
        "with-kafka-python",
    ]
    assert all(f"[{project.name}]({project.name})" in listed for project in PROJECTS)


def run_tests(project: Path, directory: Path, *selection: str) -> str:
    """The output of a project's tests, which must pass."""
    command = [sys.executable, "-m", "pytest", "-q", "--rootdir", str(project), *WARNINGS]
    command += ["-p", "no:cacheprovider", "--basetemp", str(directory), "test_shipping.py", *selection]
    done = subprocess.run(
        command, cwd=project, capture_output=True, text=True, check=False, env={"PYTHONDONTWRITEBYTECODE": "1"}
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("project", PROJECTS, ids=lambda project: project.name)
def test_its_tests_pass(project: Path, tmp_path: Path) -> None:
    assert "3 passed" in run_tests(project, tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("project", PROJECTS, ids=lambda project: project.name)
def test_all_orders_are_shipped_over_five_restarts_ten_times_in_a_row(project: Path, tmp_path: Path) -> None:
    for _ in range(RUNS):
        assert "1 passed" in run_tests(project, tmp_path, "-k", "five_restarts")
