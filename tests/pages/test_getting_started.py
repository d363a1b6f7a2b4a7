"""The programs of docs/getting-started.md print the output on the page, each with its unmodified client."""

import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.brokers.our_broker import OurBroker
from support.debian import program_or_skip
from support.kafka.java import KAFKA_VERSION, java_arguments, java_or_skip
from support.pages import INDENTED, only_block
from support.reader import PAGE_ADDRESS, Reader, written

PAGE = "docs/getting-started.md"
PYTHON = ("kafka-python", "confluent-kafka", "aiokafka", "Odradek's own client")

pytestmark = pytest.mark.ci


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OurBroker]:
    with OurBroker(tmp_path_factory.mktemp("broker")) as one:
        yield one


def program(heading: str, language: str, broker: OurBroker) -> tuple[str, str]:
    """The program below a heading, with the address of the broker, and its output on the page."""
    text = written(only_block(PAGE, heading, language).text, (PAGE_ADDRESS, broker.bootstrap_servers))
    return text, only_block(PAGE, heading, "text").text


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


def install(heading: str) -> str:
    """The command of the page that installs the client."""
    (command,) = only_block(PAGE, heading, INDENTED).commands()
    return command


def test_the_program_for_node(broker: OurBroker, tmp_path: Path) -> None:
    program_or_skip("npm", "nodejs", "npm")
    text, printed = program("Node", "js", broker)
    (tmp_path / "hello.mjs").write_text(text)
    run_here(tmp_path, *shlex.split(install("Node")))
    assert run_here(tmp_path, "node", "hello.mjs") == printed


def test_the_program_in_go(broker: OurBroker, tmp_path: Path) -> None:
    program_or_skip("go", "golang-go")
    text, printed = program("Go", "go", broker)
    (tmp_path / "main.go").write_text(text)
    run_here(tmp_path, "sh", "-c", install("Go"))
    assert run_here(tmp_path, "go", "run", ".") == printed


def test_the_dependency_for_maven_is_the_release_that_the_tests_use() -> None:
    assert f"<version>{KAFKA_VERSION}</version>" in only_block(PAGE, "Java", "xml").text


def test_the_commands(broker: OurBroker, tmp_path: Path) -> None:
    reader = Reader(tmp_path, broker.bootstrap_servers)
    _, read = reader.run_block(only_block(PAGE, "The command line", INDENTED))
    assert "hello from a shell" in read
