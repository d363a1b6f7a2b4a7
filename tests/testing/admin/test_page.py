"""The commands in docs/testing-over-http.md work, and the page names every path."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from odradek.testing.admin.controlled_broker import ControlledBroker
from odradek.testing.admin.routes import ROUTES, AdminControl
from odradek.testing.admin.server import AdminServer
from support.pipeline.wheel import ROOT

PAGE = (ROOT / "docs/testing-over-http.md").read_text()
RECORDING = (ROOT / "docs/recording.md").read_text()
PAGE_ADDRESS = "http://127.0.0.1:9644"


@pytest.fixture
def address() -> Iterator[str]:
    """The address of an admin port."""
    with ControlledBroker("127.0.0.1", 0, None, {}) as broker:
        server = AdminServer("127.0.0.1", 0, AdminControl(broker, lambda: broker.advertised))
        server.start()
        try:
            yield f"http://127.0.0.1:{server.port}"
        finally:
            server.stop()


def block(language: str, heading: str, page: str = PAGE) -> str:
    """The first block of a language under a heading."""
    found = re.search(rf"^```{language}\n(.*?)^```", page.split(f"\n## {heading}\n")[1], re.MULTILINE | re.DOTALL)
    assert found
    return found[1]


def typed(commands: str, address: str, directory: Path) -> list[str]:
    """Runs the commands of a page, which must succeed; returns the lines that they print."""
    assert PAGE_ADDRESS in commands
    done = subprocess.run(
        ["sh", "-e", "-c", commands.replace(PAGE_ADDRESS, address).replace("curl -s", "curl -sS --fail-with-body")],
        cwd=directory,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()


def test_the_commands_of_the_page(address: str, tmp_path: Path) -> None:
    lines = typed(block("sh", "One test, with curl"), address, tmp_path)
    assert len(lines) == 6
    assert '"value": "one"' in lines[4]


def test_the_commands_that_record(address: str, tmp_path: Path) -> None:
    lines = typed(block("sh", "Over HTTP", RECORDING), address, tmp_path)
    assert len(lines) == 5
    assert lines[1] == "[]"
    assert (tmp_path / "session.jsonl").read_text() == '{"odradek_traffic": 1}\n'
    assert "all 0 answers are as recorded" in lines[4]


def test_the_page_names_every_path() -> None:
    for _, path in ROUTES:
        assert path in PAGE, path


@pytest.mark.ci
def test_the_program_for_node(address: str, tmp_path: Path) -> None:
    if shutil.which("npm") is None:
        pytest.skip("npm is not there")
    (tmp_path / "test.js").write_text(block("js", "The same in Node").replace(PAGE_ADDRESS, address))
    subprocess.run(["npm", "install", "--silent", "kafkajs"], cwd=tmp_path, check=True)
    done = subprocess.run(["node", "test.js"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.stderr) == ("fired 1, records one", "")
