"""The option ``--kafka-image``: the command line, the errors, and that no container stays, with a ``docker`` of ours.

``tests/docker/test_kafka_image.py`` runs it with a real engine.
"""

import itertools
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from odradek.testing.container.container_command import is_port_taken, run_command, variables
from support.eventually import eventually

pytest_plugins = ["pytester"]

RUNNING = "true 0"
TAKEN = "docker: Error response from daemon: driver failed: Bind for 127.0.0.1:1 failed: port is already allocated."
MISSING = "Unable to find image 'missing:latest' locally\ndocker: Error response from daemon: pull access denied"
USERS_TESTS = """
import pytest

@pytest.mark.kafka(topics="orders:2")
def test_a_mark(kafka):
    assert len(kafka.topic("orders").partitions) == 2

@pytest.mark.parametrize("turn", range(2))
def test_a_clean_broker(kafka, turn):
    assert kafka.topics() == []
    assert kafka.produce("orders", "one")[0].offset == 0

def test_a_fault(kafka):
    kafka.faults.fail("Produce", "NOT_LEADER_OR_FOLLOWER")
"""
WAITS = """
import signal
from pathlib import Path

def test_waits(kafka):
    kafka.produce("orders", "one")
    Path("running").touch()
    signal.pause()
"""


class FakeDocker:
    """The fake program on the PATH of processes that tests start."""

    def __init__(self, directory: Path) -> None:
        self.home = directory / "docker"
        self.bin = directory / "bin"
        self.home.mkdir()
        self.bin.mkdir()
        program = Path(__file__).with_name("fake_docker.py")
        file = self.bin / "docker"
        file.write_text(f'#!/bin/sh\nexec {shlex.join([sys.executable, str(program)])} "$@"\n')
        file.chmod(0o755)
        self.plan()

    def plan(
        self, *, run: tuple[tuple[int, str], ...] = (), inspect: str = RUNNING, logs: str = "", serves: bool = True
    ) -> None:
        """Sets what its commands answer."""
        plan = {"run": run, "inspect": inspect, "logs": logs, "serves": serves}
        (self.home / "plan.json").write_text(json.dumps(plan))

    def calls(self, command: str) -> list[list[str]]:
        """The arguments of each call of a command."""
        file = self.home / "calls"
        lines = file.read_text().splitlines() if file.exists() else []
        return [call for call in map(json.loads, lines) if call[0] == command]

    def names(self, command: str) -> set[str]:
        """The containers that a command was called for."""
        if command == "run":
            return {call[call.index("--name") + 1] for call in self.calls(command)}
        return {call[-1] for call in self.calls(command)}

    @property
    def has_container(self) -> bool:
        """Whether a container runs."""
        return (self.home / "pid").exists()


@pytest.fixture
def docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeDocker:
    """The fake ``docker``, for the processes that the test starts."""
    fake = FakeDocker(tmp_path)
    monkeypatch.setenv("FAKE_DOCKER", str(fake.home))
    monkeypatch.setenv("PATH", f"{fake.bin}{os.pathsep}{os.environ['PATH']}")
    return fake


def option(call: list[str], name: str) -> list[str]:
    """The values of an option that may be given several times."""
    return [value for previous, value in itertools.pairwise(call) if previous == name]


def test_the_command_line_has_the_variables_of_apaches_image() -> None:
    command = run_command("apache/kafka:4.4.0", "one", 40001, {"message.max.bytes": 2_000_000})
    assert command[:7] == ["docker", "run", "--detach", "--name", "one", "--publish", "127.0.0.1:40001:40001"]
    assert command[-1] == "apache/kafka:4.4.0"
    given = dict(value.split("=", 1) for value in option(command, "--env"))
    assert given["KAFKA_LISTENERS"] == "PLAINTEXT://:40001,CONTROLLER://localhost:9093"
    assert given["KAFKA_ADVERTISED_LISTENERS"] == "PLAINTEXT://127.0.0.1:40001"
    assert given["KAFKA_PROCESS_ROLES"] == "broker,controller"
    assert given["KAFKA_MESSAGE_MAX_BYTES"] == "2000000"


def test_configs_win_over_defaults_but_not_over_the_listeners() -> None:
    configs: dict[str, Any] = {
        "group.initial.rebalance.delay.ms": 100,
        "auto.create.topics.enable": False,
        "listener.name.a_b.scram-sha-256.x": "1",
        "listeners": "PLAINTEXT://:1",
    }
    given = variables(40001, configs)
    assert given["KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS"] == "100"
    assert given["KAFKA_AUTO_CREATE_TOPICS_ENABLE"] == "false"
    assert given["KAFKA_LISTENER_NAME_A__B_SCRAM___SHA___256_X"] == "1"
    assert given["KAFKA_LISTENERS"].startswith("PLAINTEXT://:40001,")


@pytest.mark.parametrize(
    ("error", "is_taken"),
    [(TAKEN, True), ("listen tcp4 127.0.0.1:1: bind: address already in use.", True), (MISSING, False)],
)
def test_a_port_that_is_taken_is_recognised(error: str, is_taken: bool) -> None:
    assert is_port_taken(error) is is_taken


def test_a_container_serves_the_tests_and_is_removed(pytester: pytest.Pytester, docker: FakeDocker) -> None:
    pytester.makeini("[pytest]\nkafka_configs =\n    num.partitions=3\n")
    pytester.makepyfile(USERS_TESTS)
    result = pytester.runpytest_subprocess("-rs", "--kafka-image=some/kafka:1")
    result.assert_outcomes(passed=3, skipped=1)
    result.stdout.fnmatch_lines(["*kafka.faults needs a broker in this process, without * and --kafka-image"])
    (call,) = docker.calls("run")
    assert call[-1] == "some/kafka:1"
    assert "KAFKA_NUM_PARTITIONS=3" in option(call, "--env")
    assert docker.names("rm") == docker.names("run")
    assert not docker.has_container


def test_each_worker_of_xdist_has_a_container(pytester: pytest.Pytester, docker: FakeDocker) -> None:
    docker.plan(serves=False, inspect="false 1", run=((125, MISSING), (125, MISSING)))
    pytester.makepyfile("def test_one(kafka): pass\ndef test_two(kafka): pass")
    pytester.runpytest_subprocess("-n2", "--kafka-image=missing").assert_outcomes(errors=2)
    assert len(docker.names("run")) == 2
    assert docker.names("rm") == docker.names("run")


def test_the_ini_file_names_an_image_and_the_option_another(pytester: pytest.Pytester, docker: FakeDocker) -> None:
    docker.plan(run=((125, MISSING), (125, MISSING)))
    pytester.makeini("[pytest]\nkafka_image = of/the-file\n")
    pytester.makepyfile("def test_one(kafka):\n    assert kafka.port")
    pytester.runpytest_subprocess().assert_outcomes(errors=1)
    pytester.runpytest_subprocess("--kafka-image=of/the-option").assert_outcomes(errors=1)
    assert [call[-1] for call in docker.calls("run")] == ["of/the-file", "of/the-option"]
    pytester.runpytest_subprocess("--kafka-image=").assert_outcomes(passed=1)  # in the process again
    assert len(docker.calls("run")) == 2


def test_an_address_and_an_image_exclude_each_other(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest_subprocess("--kafka-image=one", "--kafka-bootstrap-servers=127.0.0.1:1")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--kafka-bootstrap-servers and --kafka-image exclude each other"])


def test_an_image_that_is_missing(pytester: pytest.Pytester, docker: FakeDocker) -> None:
    docker.plan(run=((125, MISSING),))
    pytester.makepyfile("def test_one(kafka): pass\ndef test_two(kafka): pass\ndef test_without(): pass")
    result = pytester.runpytest_subprocess("--kafka-image=missing")
    result.assert_outcomes(errors=2, passed=1)
    result.stdout.fnmatch_lines(
        ["--kafka-image: docker run failed for the image missing: Unable to find image*", "*pull access denied"]
    )
    result.stdout.no_fnmatch_line("*container.py:*")
    assert len(docker.calls("run")) == 1


def test_a_container_that_ends_shows_its_log(pytester: pytest.Pytester, docker: FakeDocker) -> None:
    docker.plan(serves=False, inspect="false 3", logs="the broker says why")
    pytester.makepyfile("def test_one(kafka): pass")
    result = pytester.runpytest_subprocess("--kafka-image=some/kafka")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        [
            "--kafka-image: the container of some/kafka ended with exit code 3. Its log ends with:",
            "the broker says why",
            "an error of the container",
        ]
    )
    assert docker.names("rm") == docker.names("run")


def test_without_docker(pytester: pytest.Pytester, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sh = shutil.which("sh")
    assert sh is not None
    (tmp_path / "sh").symlink_to(sh)
    monkeypatch.setenv("PATH", str(tmp_path))
    pytester.makepyfile("def test_one(kafka): pass")
    result = pytester.runpytest_subprocess("--kafka-image=some/kafka")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["--kafka-image needs the command docker, which is not on the PATH"])


def test_another_port_is_tried_if_the_first_is_taken(pytester: pytest.Pytester, docker: FakeDocker) -> None:
    docker.plan(run=((125, TAKEN),))
    pytester.makepyfile("def test_one(kafka):\n    assert kafka.topics() == []")
    pytester.runpytest_subprocess("--kafka-image=some/kafka").assert_outcomes(passed=1)
    assert len(docker.calls("run")) == 2
    assert len(docker.names("run")) == 1
    assert not docker.has_container


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_the_container_is_removed_after_ctrl_c_and_a_kill(
    tmp_path: Path, docker: FakeDocker, number: signal.Signals
) -> None:
    (tmp_path / "test_waits.py").write_text(WAITS)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--kafka-image=some/kafka", "test_waits.py"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as users:
        assert users.stdout is not None
        eventually("the test runs", lambda: (tmp_path / "running").exists() or users.poll() is not None)
        assert docker.has_container
        users.send_signal(number)
        said = users.stdout.read()
        code = users.wait()
    assert code == (pytest.ExitCode.INTERRUPTED if number is signal.SIGINT else -signal.SIGKILL), said
    eventually("the container is removed", lambda: not docker.has_container)
    assert docker.names("rm") == docker.names("run")
