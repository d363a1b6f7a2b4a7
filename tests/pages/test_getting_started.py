"""The programs of docs/getting-started.md print the output on the page, each with its unmodified client."""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.brokers.our_broker import OurBroker
from support.kafka.java import java_arguments, java_or_skip
from support.pipeline.wheel import ROOT

PAGE_ADDRESS = "127.0.0.1:9092"
PYTHON = ("kafka-python", "confluent-kafka", "aiokafka", "Odradek's own client")

pytestmark = pytest.mark.ci


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OurBroker]:
    with OurBroker(tmp_path_factory.mktemp("broker")) as one:
        yield one


def program(heading: str, language: str, broker: OurBroker) -> tuple[str, str]:
    """The program below a heading, with the address of the broker, and its output on the page."""
    section = (ROOT / "docs/getting-started.md").read_text().split(f"\n## {heading}\n")[1].split("\n## ")[0]
    found = re.search(rf"^```{language}\n(.*?)^```\n\n```text\n(.*?)^```", section, re.MULTILINE | re.DOTALL)
    assert found, f"{heading}: a program in {language}, then what it prints"
    assert PAGE_ADDRESS in found[1]
    return found[1].replace(PAGE_ADDRESS, broker.bootstrap_servers), found[2]


def run_here(directory: Path, *command: str) -> str:
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("heading", PYTHON)
def test_a_program_in_python(broker: OurBroker, tmp_path: Path, heading: str) -> None:
    text, printed = program(heading, "python", broker)
    (tmp_path / "hello.py").write_text(text)
    assert run_here(tmp_path, sys.executable, "hello.py") == printed


@pytest.mark.java
def test_the_program_in_java(broker: OurBroker, tmp_path: Path) -> None:
    java_or_skip()
    text, printed = program("Java", "java", broker)
    (tmp_path / "Hello.java").write_text(text)
    assert run_here(tmp_path, *java_arguments(), "Hello.java") == printed


@pytest.mark.long
def test_the_program_for_node(broker: OurBroker, tmp_path: Path) -> None:
    if shutil.which("npm") is None:
        pytest.skip("needs node and npm")
    text, printed = program("Node", "js", broker)
    (tmp_path / "hello.mjs").write_text(text)
    run_here(tmp_path, "npm", "install", "--silent", "kafkajs")
    assert run_here(tmp_path, "node", "hello.mjs") == printed


@pytest.mark.long
def test_the_program_in_go(broker: OurBroker, tmp_path: Path) -> None:
    if shutil.which("go") is None:
        pytest.skip("needs Go")
    text, printed = program("Go", "go", broker)
    (tmp_path / "main.go").write_text(text)
    run_here(tmp_path, "go", "mod", "init", "hello")
    run_here(tmp_path, "go", "get", "github.com/twmb/franz-go/pkg/kgo")
    assert run_here(tmp_path, "go", "run", ".") == printed


def test_the_commands(broker: OurBroker, tmp_path: Path) -> None:
    section = (ROOT / "docs/getting-started.md").read_text().split("\n## The command line\n")[1]
    lines = re.findall(r"^    (.*odradek .*)$", section, re.MULTILINE)
    commands = "\n".join(lines).replace("odradek ", f"{sys.executable} -m odradek ")
    script = f"set -e\nexport ODRADEK_BOOTSTRAP_SERVER={broker.bootstrap_servers}\n{commands}\n"
    assert run_here(tmp_path, "sh", "-c", script) == "hello from a shell\n"
