"""The image of the jobs is run with an engine: exit codes, users, signals, and the compose file's Spark cluster."""

import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from support.data.log_directories import flip_a_byte, history_directory
from support.pages import blocks

from .compose import Project, project
from .container import Image

pytestmark = pytest.mark.nightly

ROOT = Path(__file__).parent.parent.parent
HARDENED = ("--read-only", "--tmpfs", "/tmp", "--cap-drop", "ALL", "--security-opt", "no-new-privileges")


def run(image: Image, logs: Path, *arguments: str, options: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    """Runs a container without a network, with the log directory read-only at /logs."""
    start = ("run", "--rm", "--network", "none", "--volume", f"{logs}:/logs:ro", *options, image.tag)
    return image.engine.attempt(*start, *arguments, timeout_s=600)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log directory without findings."""
    return history_directory(tmp_path_factory.mktemp("whole") / "logs", steps=60)


def test_an_audit_on_spark_finds_damage_as_a_user_whom_the_image_does_not_know(
    jobs_image: Image, tmp_path: Path
) -> None:
    logs = history_directory(tmp_path / "logs")
    flip_a_byte(logs)
    audit = ("audit", "--engine", "spark", "/logs")
    found = run(jobs_image, logs, *audit, options=("--user", "31337:31337", *HARDENED))
    assert found.returncode == 2, found.stdout
    assert "batch-crc-mismatch" in found.stdout.replace("\n", "")


def test_other_jobs_and_their_exit_codes(jobs_image: Image, whole: Path) -> None:
    clean = run(jobs_image, whole, "audit", "--engine", "local", "/logs", options=HARDENED)
    assert clean.returncode == 0, clean.stdout
    nothing = run(jobs_image, whole, "audit", "--engine", "local", "/nowhere")
    assert (nothing.returncode, "/nowhere" in nothing.stdout) == (3, True)
    version = run(jobs_image, whole, "spark-submit", "--version")
    assert (version.returncode, "OpenJDK 64-Bit Server VM, 17" in version.stdout) == (0, True), version.stdout


def registered(composed: Project) -> set[str]:
    """The addresses of the workers that the master knows. A worker may have registered more than once."""
    return set(re.findall(r"Registering worker (\S+)", composed.run("logs", "master")))


def test_the_compose_file_is_a_cluster_whose_workers_audit(jobs_image: Image, whole: Path, tmp_path: Path) -> None:
    """With the commands of docs/docker-and-kubernetes.md."""
    export, *commands = blocks("docs/docker-and-kubernetes.md", "The jobs")[1].commands()
    assert export.startswith("export ODRADEK_LOGS=")
    up, audit, copy, down = (shlex.split(command) for command in commands)
    for words in (up, audit, copy, down):
        assert [words.pop(0) for _ in range(4)] == ["docker", "compose", "-f", "docker/jobs/compose.yaml"]
    for number in (1, 2):
        shutil.copytree(whole, tmp_path / "brokers" / f"broker-{number}")
    variables = {"ODRADEK_JOBS_IMAGE": jobs_image.tag, "ODRADEK_LOGS": str(tmp_path / "brokers")}
    with project(jobs_image.engine, ROOT / "docker/jobs/compose.yaml", variables) as composed:
        composed.run(*up, "--no-build")
        while len(registered(composed)) < 2:  # a job starts with the workers that have registered
            pass
        composed.run(*audit, "--format", "jsonl")
        composed.run(*copy[:-1], str(tmp_path))
        rows = (tmp_path / "today" / "partitions.jsonl").read_text().splitlines()
        assert [json.loads(row)["topic"] for row in rows] == ["t", "t"]
        composed.run(*down)
