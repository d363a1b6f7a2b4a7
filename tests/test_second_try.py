"""CI's second try accepts only failed tests that then pass alone."""

import subprocess
import sys
from pathlib import Path

import pytest

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

    @pytest.mark.parametrize("number", range(4))
    def test_many_flaky(number):
        once(f"many-{number}")
"""


def run(directory: Path, *names: str, workers: int = 0) -> subprocess.CompletedProcess[str]:
    """Runs the tests above in a process as in CI."""
    path = directory / "test_tried.py"
    if not path.exists():
        path.write_text("\n".join(line.removeprefix("    ") for line in TESTS.splitlines()))
    arguments = [sys.executable, "-m", "tests.support.second_try", "-p", "no:cacheprovider", "-n", str(workers)]
    return subprocess.run(
        [*arguments, *(f"{path}::{name}" for name in names)], cwd=ROOT, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("workers", [0, 2])
def test_what_passes_alone_is_named_and_forgiven(tmp_path: Path, workers: int) -> None:
    ended = run(tmp_path, "test_flaky", "test_flaky_setup", "test_sound", workers=workers)
    assert ended.returncode == 0, ended.stdout
    named = [line.rpartition("::")[2] for line in ended.stdout.splitlines() if line.startswith("FLAKY")]
    assert sorted(named) == ["test_flaky", "test_flaky_setup"]


@pytest.mark.parametrize(
    ("names", "said"),
    [
        pytest.param(["test_flaky", "test_broken"], "FAILED TWICE", id="fails-again"),
        pytest.param(["test_many_flaky"], "4 tests failed: more than 3", id="too-many"),
        pytest.param(["test_not_there"], "not found", id="not-a-failed-test"),
    ],
)
def test_nothing_else_is_forgiven(tmp_path: Path, names: list[str], said: str) -> None:
    ended = run(tmp_path, *names)
    assert ended.returncode != 0
    assert said in ended.stdout + ended.stderr
