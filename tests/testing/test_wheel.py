"""The built wheel in an empty environment: it serves, runs the programs of our pages, and brings the pytest fixtures.

One test marked ``long`` does the same on every supported Python that this machine has.
"""

import re
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

from support.pipeline.wheel import ROOT, build_sdist, build_wheel, run
from tools.release import contents

from .installed import (
    SUPPORTED,
    environment,
    interpreter_of,
    run_client_page,
    run_getting_started,
    run_readme_quickstart,
    run_tests_of_users,
    served,
)

ROOMS = {"broker", "client", "console", "pipeline", "protocol", "storage", "testing"}
"""The files that a wheel installs. An sdist has these, and those that are needed to build a wheel."""
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
    return environment(sys.executable, wheel, wheel.parents[1])


def test_wheel_and_sdist_hold_what_they_should(wheel: Path) -> None:
    sdist = build_sdist(wheel.parents[1])
    with zipfile.ZipFile(wheel) as file:
        names = [Path(name) for name in file.namelist()]
    tops = {name.parts[0] for name in names} - {"odradek", "pyspark_odradek.py"}
    assert [top.partition("-")[2].partition(".dist-info")[1] for top in tops] == [".dist-info"]
    rooms = {name.parts[1] for name in names if name.parts[0] == "odradek"}
    assert rooms == {*ROOMS, "__init__.py", "__main__.py"}
    assert {name.suffix for name in names if name.parts[0] == "odradek"} == {
        ".py",
        ".json",
        ".html",
        ".css",
        ".js",
        ".typed",
    }
    with tarfile.open(sdist) as archive:
        members = [Path(*Path(name).parts[1:]) for name in archive.getnames()]
    assert {member.parts[0] for member in members if member.parts} == SDIST
    assert {
        member.parts[1] for member in members if member.parts[:1] == ("odradek",) and len(member.parts) > 1
    } == rooms
    assert contents.main(wheel.parent) == 0, "`make release-check` would fail"


@pytest.mark.nightly
def test_twine_accepts_them(wheel: Path, tmp_path: Path) -> None:
    sdist = build_sdist(wheel.parents[1])
    venv.create(tmp_path / "venv", with_pip=True)
    interpreter = tmp_path / "venv" / "bin" / "python"
    run(interpreter, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "twine", directory=tmp_path)
    assert run(interpreter, "-m", "twine", "check", "--strict", wheel, sdist, directory=tmp_path).count("PASSED") == 2


def test_a_zip_of_the_repository_makes_the_same_wheel(wheel: Path, tmp_path: Path) -> None:
    """A zip holds links as text files, as a checkout without links does."""
    archive, unpacked = tmp_path / "odradek.zip", tmp_path / "unpacked"
    run("git", "archive", "--format=zip", f"--output={archive}", "HEAD", directory=ROOT)
    with zipfile.ZipFile(archive) as file:
        file.extractall(unpacked)
    assert (unpacked / "broker").read_text() == "odradek/broker"
    with zipfile.ZipFile(build_wheel(tmp_path, unpacked)) as made, zipfile.ZipFile(wheel) as usual:
        assert [one.filename for one in made.infolist()] == [one.filename for one in usual.infolist()]


def test_it_holds_no_more_than_it_needs(python: Path, tmp_path: Path) -> None:
    """The core install does not include Spark, pandas and packages that only tests need."""
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


def test_the_quickstart_of_the_readme_runs(python: Path, tmp_path: Path) -> None:
    with served(python, tmp_path) as address:
        run_readme_quickstart(python, address, tmp_path)


def test_the_first_program_of_the_page_about_the_client_runs(python: Path, tmp_path: Path) -> None:
    with served(python, tmp_path) as address:
        run_client_page(python, address, tmp_path)


def test_it_brings_the_pytest_fixtures(python: Path, tmp_path: Path) -> None:
    run_tests_of_users(python, tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("version", SUPPORTED)
def test_the_pages_on_each_python(wheel: Path, tmp_path: Path, version: str) -> None:
    """The quickstart and the test of the README, the page about the client, and the page for getting started."""
    interpreter = interpreter_of(version)
    if interpreter is None:
        pytest.skip(f"no Python {version} on this machine")
    python = environment(interpreter, wheel, tmp_path)
    for run_page in (run_readme_quickstart, run_client_page, run_getting_started):
        directory = tmp_path / run_page.__name__
        directory.mkdir()
        with served(python, directory) as address:
            run_page(python, address, directory)
    run_tests_of_users(python, tmp_path)
