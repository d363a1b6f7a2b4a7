"""The tests and programs on our pages pass as a user would run them: outside the repository, with the plugin alone."""

import subprocess
import sys
from pathlib import Path

import pytest

from support.pages import blocks, only_block

# A page, and the number of tests in its blocks of Python.
PAGES = {
    "README.md": 1,
    "docs/testing.md": 10,
    "docs/recording.md": 2,
    "docs/testing-cookbook.md": 19,
    "docs/moving-tests.md": 3,
}


def is_of_users(text: str) -> bool:
    """Whether a block of Python uses the fixtures or the classes of `odradek.testing`."""
    return "def test_" in text or "odradek.testing import" in text


def programs(page: str) -> list[str]:
    """The Python blocks of a page for users of `odradek.testing`."""
    return [block.text for block in blocks(page) if block.language == "python" and is_of_users(block.text)]


@pytest.mark.ci
@pytest.mark.parametrize(("page", "tests"), PAGES.items(), ids=PAGES)
def test_the_tests_of_a_page_pass(tmp_path: Path, page: str, tests: int) -> None:
    """In a user's directory, without a conftest or import of ours. Two processes of pytest-xdist share the tests."""
    for number, block in enumerate(programs(page)):
        kind = "test" if "def test_" in block else "program"
        (tmp_path / f"{kind}_{number}.py").write_text(block)
    done = run_here(tmp_path, "-m", "pytest", "-q", "-n", "2", "-p", "no:cacheprovider", str(tmp_path))
    assert f"{tests} passed" in done
    for path in tmp_path.glob("program_*.py"):
        run_here(tmp_path, path.name)


@pytest.mark.ci
def test_the_settings_of_the_cookbook_configure_the_brokers(tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text(
        only_block("docs/testing-cookbook.md", "One broker for many tests", "ini").text
    )
    (tmp_path / "test_configs.py").write_text(
        "from confluent_kafka.admin import AdminClient, NewTopic\n\n\n"
        "def test_configs(kafka):\n"
        "    admin = AdminClient({'bootstrap.servers': kafka.bootstrap_servers})\n"
        "    admin.create_topics([NewTopic('orders')])['orders'].result(60)\n"
        "    assert len(kafka.topic('orders').partitions) == 3\n"
    )
    assert "1 passed" in run_here(tmp_path, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path))


def run_here(directory: Path, *arguments: str) -> str:
    done = subprocess.run([sys.executable, *arguments], cwd=directory, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
