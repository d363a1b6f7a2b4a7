"""Testcontainers' published modules start the image under the names that they pull: Python, Java and Go, and for the
long tests Node and Rust.

The modules for Go and Rust come with their own tests, which run unchanged. Ryuk, their cleaner, is switched off: it is
an image of its own.
"""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from odradek.testing.security.certificates import CertificateAuthority
from support.docker.engine import Engine
from support.kafka.java import compiled, fetched, jar_arguments, java_or_skip
from systems.python_environment import environment

from .container import Image
from .module_environments import node_environment, rust_crate
from .names import named

PYTHON = ("testcontainers==4.15.0", "packaging", "kafka-python==3.0.12")
"""packaging is a dependency that this version imports and does not name."""
JAVA = "2.0.5"
GO = "v0.40.0"
NODE = {"@testcontainers/kafka": "12.1.0", "kafkajs": "2.2.4", "node": "22"}
RUST = "0.15.0"
RUST_NEEDS = ("futures", "pretty_env_logger", "rdkafka", "testcontainers", "tokio")
PASSWORD = "store-secret"
COPIED = "from a module"
PROGRAMS = Path(__file__).parent / "programs"

SETTINGS = {
    "TESTCONTAINERS_RYUK_DISABLED": "true",
    "TESTCONTAINERS_HOST_OVERRIDE": "localhost",
    "TESTCONTAINERS_CONNECTION_MODE": "docker_host",
}
"""Ports are published on this machine, also if it is a container itself."""

pytestmark = pytest.mark.ci


def run(command: list[str | Path], engine: Engine, directory: Path) -> str:
    """The output of a program that uses the engine."""
    done = subprocess.run(
        [str(part) for part in command],
        cwd=directory,
        env={**os.environ, **engine.variables, **SETTINGS},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout[-8000:]}\n{done.stderr[-8000:]}"
    return done.stdout


@pytest.mark.parametrize("mode", [pytest.param("zookeeper", marks=pytest.mark.nightly), "kraft"])
def test_python(image: Image, tmp_path: Path, mode: str) -> None:
    python = environment("testcontainers", PYTHON)
    with named(image, "confluentinc/cp-kafka:7.6.0"):
        copied = run([python, PROGRAMS / "testcontainers_python.py", mode], image.engine, tmp_path)
    assert copied.splitlines()[-1] == COPIED


@pytest.mark.nightly
@pytest.mark.java
def test_java(image: Image, tmp_path: Path) -> None:
    java_or_skip()
    group = "org.testcontainers"
    artifacts = [(group, "testcontainers-kafka", JAVA), ("org.slf4j", "slf4j-simple", "1.7.36")]
    libs = fetched(f"testcontainers-{JAVA}", [*artifacts, ("org.apache.kafka", "kafka-clients", "4.3.1")])
    names = ["apache/kafka:4.1.0", "apache/kafka-native:4.1.0", "confluentinc/cp-kafka:8.0.0"]
    with named(image, *names):
        program = compiled("TestcontainersKafka", libs)
        printed = run([*jar_arguments(libs, "256m"), program, *names], image.engine, tmp_path)
    assert printed.splitlines()[-len(names) :] == [f"{name} {COPIED}" for name in names]


@pytest.mark.nightly
def test_go(image: Image, tmp_path: Path) -> None:
    """The tests of the module of Go's proxy."""
    go = program_or_skip("go")
    module = "github.com/testcontainers/testcontainers-go/modules/kafka"
    run([go, "mod", "init", "example.com/kafka"], image.engine, tmp_path)
    run([go, "get", "-t", f"{module}@{GO}"], image.engine, tmp_path)
    with named(image, "confluentinc/confluent-local:7.5.0"):
        told = run([go, "test", "-json", module], image.engine, tmp_path)
    results = [json.loads(line) for line in told.splitlines()]
    passed = {one["Test"] for one in results if one["Action"] == "pass" and "Test" in one}
    assert {"TestKafka", "ExampleRun"} <= passed
    assert not [one for one in results if one["Action"] in ("fail", "skip")]


@pytest.mark.long
@pytest.mark.parametrize("mode", ["zookeeper", "kraft"])
@pytest.mark.parametrize("login", ["plain", "scram"])
def test_node(image: Image, tmp_path: Path, mode: str, login: str) -> None:
    program_or_skip("npm")
    directory = node_environment(NODE)
    node = directory / "node_modules" / ".bin" / "node"
    program = shutil.copy(PROGRAMS / "testcontainers_node.mjs", directory)
    files: list[str | Path] = []
    if login == "scram":
        authority = CertificateAuthority()
        authority.write_pem(tmp_path / "authority.pem")
        store = authority.issue("broker", ["localhost", "127.0.0.1"]).write_pkcs12(tmp_path / "server.pfx", PASSWORD)
        files = [store, PASSWORD, tmp_path / "authority.pem"]
    with named(image, "confluentinc/cp-kafka:7.9.1"):
        copied = run([node, program, mode, *files], image.engine, tmp_path)
    assert copied.splitlines()[-1] == COPIED


@pytest.mark.long
def test_rust(image: Image) -> None:
    """The tests of the crate on crates.io."""
    program_or_skip("cargo")
    crate = rust_crate(RUST, "kafka", RUST_NEEDS)
    with named(image, "apache/kafka:3.8.0", "apache/kafka-native:3.8.0", "confluentinc/cp-kafka:6.1.1"):
        told = run(["cargo", "test", "--features", "kafka", "--lib", "kafka"], image.engine, crate)
    assert "test result: ok. 3 passed; 0 failed; 0 ignored" in told


def program_or_skip(name: str) -> str:
    """The path of a program. Without it the test is skipped; in CI a skipped test fails (``tests/conftest.py``)."""
    path = shutil.which(name)
    if path is None:
        pytest.skip(f"needs {name}")
    return path
