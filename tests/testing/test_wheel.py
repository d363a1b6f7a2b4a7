"""The built wheel in an empty environment: it serves, runs the README's quickstart, and brings the pytest fixtures.

Everything runs outside the repository, where ``odradek`` is what pip installed.
"""

import re
import signal
import subprocess
import tarfile
import venv
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.eventually import eventually
from support.pipeline.wheel import ROOT, build_sdist, build_wheel, run

QUICKSTART_ADDRESS = "127.0.0.1:9092"
START_TIMEOUT_S = 180.0
ROOMS = {"broker", "client", "pipeline", "protocol", "storage", "testing"}
"""What a wheel installs. An sdist has the same and what is needed to build a wheel."""
SDIST = {"LICENSE", "MANIFEST.in", "PKG-INFO", "README.md", "odradek", "odradek.egg-info", "pyproject.toml"}
SDIST |= {"pyspark_odradek.py", "setup.cfg"}

pytestmark = pytest.mark.ci


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from a copy of the sources."""
    return build_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def python(wheel: Path) -> Path:
    """The Python of an environment with the wheel and its dependencies, and nothing else."""
    directory = wheel.parents[1]
    venv.create(directory / "venv", with_pip=True)
    interpreter = directory / "venv" / "bin" / "python"
    run(interpreter, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel, directory=directory)
    return interpreter


@pytest.fixture
def served(python: Path, tmp_path: Path) -> Iterator[str]:
    """``odradek serve`` of the installed wheel; ``host:port``."""
    ready = tmp_path / "ready.json"
    command = [str(python.parent / "odradek"), "serve", "--override", "listeners=PLAINTEXT://127.0.0.1:0"]
    command += ["--override", f"log.dirs={tmp_path / 'data'}", "--ready-file", str(ready)]
    with (tmp_path / "log").open("wb") as out:
        process = subprocess.Popen(command, cwd=tmp_path, stdout=out, stderr=subprocess.STDOUT)

    def is_ready() -> bool:
        assert process.poll() is None, (tmp_path / "log").read_text()
        return ready.exists()

    eventually(lambda: "it serves\n" + (tmp_path / "log").read_text(), is_ready, patience_s=START_TIMEOUT_S)
    address = re.search(r'"bootstrap.servers": "([^"]+)"', ready.read_text())
    assert address
    yield address[1]
    process.send_signal(signal.SIGTERM)
    assert process.wait(START_TIMEOUT_S) == 0, (tmp_path / "log").read_text()


def test_wheel_and_sdist_hold_what_they_should_and_pass_twine(wheel: Path, tmp_path: Path) -> None:
    sdist = build_sdist(wheel.parents[1])
    with zipfile.ZipFile(wheel) as file:
        names = [Path(name) for name in file.namelist()]
    tops = {name.parts[0] for name in names} - {"odradek", "pyspark_odradek.py"}
    assert [top.partition("-")[2].partition(".dist-info")[1] for top in tops] == [".dist-info"]
    rooms = {name.parts[1] for name in names if name.parts[0] == "odradek"}
    assert rooms == {*ROOMS, "__init__.py", "__main__.py"}
    assert {name.suffix for name in names if name.parts[0] == "odradek"} == {".py", ".json", ".css", ".js", ".typed"}
    with tarfile.open(sdist) as archive:
        members = [Path(*Path(name).parts[1:]) for name in archive.getnames()]
    assert {member.parts[0] for member in members if member.parts} == SDIST
    assert {
        member.parts[1] for member in members if member.parts[:1] == ("odradek",) and len(member.parts) > 1
    } == rooms
    venv.create(tmp_path / "venv", with_pip=True)
    interpreter = tmp_path / "venv" / "bin" / "python"
    run(interpreter, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "twine", directory=tmp_path)
    assert run(interpreter, "-m", "twine", "check", "--strict", wheel, sdist, directory=tmp_path).count("PASSED") == 2


def test_it_holds_no_more_than_it_needs(python: Path, tmp_path: Path) -> None:
    """The core install is free of Spark, pandas and what only tests need."""
    listed = run(python, "-m", "pip", "list", "--format=freeze", "--disable-pip-version-check", directory=tmp_path)
    installed = {line.partition("==")[0].lower() for line in listed.splitlines()}
    assert not installed & {"pyspark", "pandas", "numpy", "pyarrow", "numba", "pytest", "confluent-kafka", "aiokafka"}
    version = run(python, "-c", "import odradek; print(odradek.__version__)", directory=tmp_path)
    assert run(python.parent / "odradek", "--version", directory=tmp_path) == f"odradek {version}"


@pytest.mark.parametrize(
    "job", [["audit", "."], ["export", ".", "--output", "out"], ["import", "rows.jsonl", "--into", "d"]]
)
def test_a_job_without_the_extra_says_how_to_get_it(python: Path, tmp_path: Path, job: list[str]) -> None:
    (tmp_path / "rows.jsonl").write_text('{"value": "x", "topic": "t"}\n')
    command = [str(python.parent / "odradek"), *job]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert re.fullmatch(
        rf"odradek {job[0]}: No module named '\w+'; install odradek with the extra 'spark' .*\n", done.stderr
    )


def test_the_quickstart_of_the_readme_runs(python: Path, served: str, tmp_path: Path) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    programs = [block for block in blocks if QUICKSTART_ADDRESS in block]
    assert len(programs) == 2, "one for kafka-python, one for confluent-kafka"
    clients = ("kafka-python", "confluent-kafka")
    run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *clients, directory=tmp_path)
    for number, program in enumerate(programs):
        path = tmp_path / f"quickstart_{number}.py"
        path.write_text(program.replace(QUICKSTART_ADDRESS, served))
        printed = run(python, path, directory=tmp_path)
        assert len(printed.splitlines()) == 10, printed


def test_the_first_program_of_the_page_about_the_client_runs(python: Path, served: str, tmp_path: Path) -> None:
    program = re.findall(r"^```python\n(.*?)^```", (ROOT / "docs/client.md").read_text(), re.MULTILINE | re.DOTALL)[0]
    path = tmp_path / "program.py"
    path.write_text(program.replace(QUICKSTART_ADDRESS, served))
    produced, consumed = run(python, "-W", "error", path, directory=tmp_path).splitlines()
    assert re.fullmatch(r"[012] 0", produced)
    assert consumed == "0 b'world' b'hello'"


def test_it_brings_the_pytest_fixtures(python: Path, tmp_path: Path) -> None:
    run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "pytest", directory=tmp_path)
    (tmp_path / "test_user.py").write_text(
        "import socket\n\n"
        "def test_mine(kafka_broker):\n"
        "    socket.create_connection((kafka_broker.host, kafka_broker.port)).close()\n"
    )
    # An error of its own for every warning: the plugin must not cause one in its users' runs.
    assert "1 passed" in run(
        python, "-m", "pytest", "-q", "-W", "error", "--basetemp=users", "test_user.py", directory=tmp_path
    )
