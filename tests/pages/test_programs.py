"""The tests and programs on our pages pass as a user would run them: outside the repository, with the plugin alone."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from support.pipeline.wheel import ROOT

# A page, and the number of tests in its blocks of Python.
PAGES = {
    "README.md": 1,
    "docs/testing.md": 10,
    "docs/recording.md": 2,
    "docs/testing-cookbook.md": 17,
    "docs/moving-tests.md": 3,
}


def blocks(page: str) -> list[str]:
    """The Python blocks of a page that use the fixtures or the classes of `odradek.testing`."""
    found = re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text(), re.MULTILINE | re.DOTALL)
    return [block for block in found if "def test_" in block or "odradek.testing import" in block]


@pytest.mark.ci
@pytest.mark.parametrize(("page", "tests"), PAGES.items(), ids=PAGES)
def test_the_tests_of_a_page_pass(tmp_path: Path, page: str, tests: int) -> None:
    """In a user's directory, without a conftest or import of ours. Two processes of pytest-xdist share the tests."""
    for number, block in enumerate(blocks(page)):
        kind = "test" if "def test_" in block else "program"
        (tmp_path / f"{kind}_{number}.py").write_text(block)
    done = run_here(tmp_path, "-m", "pytest", "-q", "-n", "2", "-p", "no:cacheprovider", str(tmp_path))
    assert f"{tests} passed" in done
    for path in tmp_path.glob("program_*.py"):
        run_here(tmp_path, path.name)


def run_here(directory: Path, *arguments: str) -> str:
    done = subprocess.run([sys.executable, *arguments], cwd=directory, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
