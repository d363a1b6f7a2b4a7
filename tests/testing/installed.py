"""The wheel as a user installs it: in an empty environment, on any Python, and the programs of our pages there.

Everything runs outside the repository, where ``odradek`` is what pip installed.
"""

import json
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from support.eventually import eventually
from support.pipeline.wheel import ROOT, run

ADDRESS = "127.0.0.1:9092"
"""What the pages write."""
SUPPORTED = ("3.11", "3.12", "3.13", "3.14")
START_TIMEOUT_S = 180.0
ON_GETTING_STARTED = {
    "kafka-python": "kafka-python",
    "confluent-kafka": "confluent-kafka",
    "aiokafka": "aiokafka",
    "Odradek's own client": None,
}
"""The headings with programs in Python, and the package that each needs."""


def interpreter_of(version: str) -> str | None:
    """The command of a Python with venv: this process's own, one on the PATH, or one of pyenv; None without any."""
    name = f"python{version}"
    of_pyenv = (Path.home() / ".pyenv" / "versions").glob(f"{version}.*/bin/{name}")
    for command in filter(None, [sys.executable, shutil.which(name), *map(str, sorted(of_pyenv))]):
        ask = [command, "-c", "import sys, venv, ensurepip; print('%d.%d' % sys.version_info[:2])"]
        answer = subprocess.run(ask, capture_output=True, text=True, check=False)  # a shim of pyenv may fail
        if answer.returncode == 0 and answer.stdout.strip() == version:
            return command
    return None


def environment(interpreter: str | Path, wheel: Path, directory: Path) -> Path:
    """The Python of a new environment with the wheel and its dependencies, and nothing else."""
    run(interpreter, "-m", "venv", directory / "venv", directory=directory)
    python = directory / "venv" / "bin" / "python"
    install(python, wheel)
    return python


def install(python: Path, *requirements: str | Path) -> None:
    """Installs into an environment."""
    quietly = ("--quiet", "--disable-pip-version-check")
    run(python, "-m", "pip", "install", *quietly, *requirements, directory=python.parents[2])


@contextmanager
def served(python: Path, directory: Path) -> Iterator[str]:
    """``odradek serve`` of an environment; ``host:port``. It must stop cleanly."""
    ready = directory / "ready.json"
    command = [str(python.parent / "odradek"), "serve", "--override", "listeners=PLAINTEXT://127.0.0.1:0"]
    command += ["--override", f"log.dirs={directory / 'data'}", "--ready-file", str(ready)]
    with (directory / "log").open("wb") as out:
        process = subprocess.Popen(command, cwd=directory, stdout=out, stderr=subprocess.STDOUT)

    def is_ready() -> bool:
        assert process.poll() is None, (directory / "log").read_text()
        return ready.exists()

    try:
        eventually(lambda: "it serves\n" + (directory / "log").read_text(), is_ready, patience_s=START_TIMEOUT_S)
        yield json.loads(ready.read_text())["bootstrap_servers"]
        process.send_signal(signal.SIGTERM)
        assert process.wait(START_TIMEOUT_S) == 0, (directory / "log").read_text()
    finally:
        process.kill()
        process.wait()


def blocks(page: str, heading: str | None = None) -> list[str]:
    """The Python blocks of a page, or of the part of it below a heading."""
    text = (ROOT / page).read_text()
    if heading is not None:
        text = text.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def run_program(python: Path, program: str, address: str, directory: Path, *options: str) -> str:
    """Runs a program of a page with the broker at ``address``; its output."""
    path = directory / "program.py"
    path.write_text(program.replace(ADDRESS, address))
    return run(python, *options, path, directory=directory)


def run_readme_quickstart(python: Path, address: str, directory: Path) -> None:
    """The two programs of the README's quickstart."""
    programs = [block for block in blocks("README.md") if ADDRESS in block]
    assert len(programs) == 2, "one for kafka-python, one for confluent-kafka"
    install(python, "kafka-python", "confluent-kafka")
    for program in programs:
        printed = run_program(python, program, address, directory)
        assert len(printed.splitlines()) == 10, printed


def run_client_page(python: Path, address: str, directory: Path) -> None:
    """The first program of docs/client.md."""
    printed = run_program(python, blocks("docs/client.md")[0], address, directory, "-W", "error")
    produced, consumed = printed.splitlines()
    assert re.fullmatch(r"[012] 0", produced)
    assert consumed == "0 b'world' b'hello'"


def run_getting_started(python: Path, address: str, directory: Path) -> None:
    """The programs in Python of docs/getting-started.md, and its commands."""
    for heading, package in ON_GETTING_STARTED.items():
        if package is not None:
            install(python, package)
        (program,) = blocks("docs/getting-started.md", heading)
        assert run_program(python, program, address, directory).startswith("0 hello from ")
    text = (ROOT / "docs/getting-started.md").read_text().split("\n## The command line\n")[1]
    commands = "\n".join(re.findall(r"^    (.*odradek .*)$", text, re.MULTILINE))
    script = f"set -e\nPATH='{python.parent}':$PATH\nexport ODRADEK_BOOTSTRAP_SERVER={address}\n{commands}\n"
    assert run("sh", "-c", script, directory=directory) == "hello from a shell\n"


def run_tests_of_users(python: Path, directory: Path) -> None:
    """The test of the README, and a test with a fixture of the package for which each warning is an error: the plugin
    must not cause one in its users' runs. (kafka-python causes some.)"""
    (program,) = [block for block in blocks("README.md") if "def test_" in block]
    install(python, "pytest", "kafka-python")
    (directory / "test_readme.py").write_text(program)
    (directory / "test_user.py").write_text(
        "import socket\n\n"
        "def test_mine(kafka_broker):\n"
        "    socket.create_connection((kafka_broker.host, kafka_broker.port)).close()\n"
    )
    for options in (["test_readme.py"], ["-W", "error", "test_user.py"]):
        assert "1 passed" in run(python, "-m", "pytest", "-q", "--basetemp=users", *options, directory=directory)
