"""CI's second try accepts only failed tests that then pass alone, and each of them only twice in ten runs."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.second_try import RECORD, RUN, RUNS_KEPT, noted, too_often

ROOT = Path(__file__).parents[1]
TESTS = """
    from pathlib import Path

    import pytest

    def once(name):
        marker = Path(__file__).with_name(name)
        if not marker.exists():
            marker.touch()
            raise AssertionError("the first time")

    @pytest.fixture
    def setup_fails_once():
        once("setup")

    def test_flaky():
        once("call")

    def test_flaky_setup(setup_fails_once):
        pass

    def test_sound():
        pass

    def test_broken():
        assert False, "always"

    @pytest.mark.parametrize("number", range(6))
    def test_many_flaky(number):
        once(f"many-{number}")
"""


def run(directory: Path, *names: str, workers: int = 0, ci_run: str = "") -> subprocess.CompletedProcess[str]:
    """Runs the tests above in a process as in CI, where the run may have a name."""
    path = directory / "test_tried.py"
    if not path.exists():
        path.write_text("\n".join(line.removeprefix("    ") for line in TESTS.splitlines()))
    arguments = [sys.executable, "-m", "tests.support.second_try", "-p", "no:cacheprovider", "-n", str(workers)]
    return subprocess.run(
        [*arguments, *(f"{path}::{name}" for name in names)],
        cwd=ROOT,
        env=os.environ | {RECORD: str(directory / "kept" / "record.json") if ci_run else "", RUN: ci_run},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("workers", [0, pytest.param(2, marks=pytest.mark.ci)])
def test_what_passes_alone_is_named_and_forgiven(tmp_path: Path, workers: int) -> None:
    ended = run(tmp_path, "test_flaky", "test_flaky_setup", "test_sound", workers=workers)
    assert ended.returncode == 0, ended.stdout
    named = [line.rpartition("::")[2] for line in ended.stdout.splitlines() if line.startswith("FLAKY")]
    assert sorted(named) == ["test_flaky", "test_flaky_setup"]


@pytest.mark.parametrize(
    ("names", "said"),
    [
        pytest.param(["test_flaky", "test_broken"], "FAILED TWICE", id="fails-again"),
        pytest.param(["test_many_flaky"], "6 tests failed: more than 5", id="too-many", marks=pytest.mark.ci),
        pytest.param(["test_not_there"], "not found", id="not-a-failed-test", marks=pytest.mark.ci),
    ],
)
def test_nothing_else_is_forgiven(tmp_path: Path, names: list[str], said: str) -> None:
    ended = run(tmp_path, *names)
    assert ended.returncode != 0
    assert said in ended.stdout + ended.stderr


@pytest.mark.ci
def test_the_third_second_try_in_ten_runs_is_a_failure(tmp_path: Path) -> None:
    codes = []
    for number in range(3):
        (tmp_path / "call").unlink(missing_ok=True)
        ended = run(tmp_path, "test_flaky", ci_run=f"run {number}")
        codes.append(ended.returncode)
    assert codes == [0, 0, 1]
    assert "FLAKY in 3 of 10 runs: repair " in ended.stdout
    kept = json.loads((tmp_path / "kept" / "record.json").read_text())
    assert [len(names) for names in kept.values()] == [1, 1, 1]


def test_only_the_last_ten_runs_count_and_a_repaired_test_is_forgiven() -> None:
    runs: dict[str, list[str]] = {}
    for number in range(RUNS_KEPT + 1):
        runs = noted(runs, str(number), ["a"] if number in (0, 5, 10) else [])
    assert list(runs) == [str(number) for number in range(1, RUNS_KEPT + 1)]
    assert too_often(runs, "10") == []
    runs = noted(runs, "11", ["a", "b"])
    assert too_often(runs, "11") == ["a"]
    assert too_often(noted(runs, "12", ["b"]), "12") == []


def test_the_parts_of_a_run_are_one_run() -> None:
    runs = noted(noted({}, "1", ["a"]), "1", ["b", "a"])
    assert runs == {"1": ["a", "b"]}
