"""Builds a tool of operators from the sources that its makers publish, with Go."""

import os
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

from systems.process import PATIENCE_S

CACHE = Path(__file__).parents[3] / ".cache" / "gallery"
SOURCES = "GALLERY_SOURCES"
"""Names a directory with a checkout of each repository, where GitHub can't be reached."""


class Tool(NamedTuple):
    """A program in Go. ``version``: the tag of its ``repository`` on GitHub. ``package``: what is built of it."""

    name: str
    repository: str
    version: str
    package: str = "."


def built(tool: Tool) -> Path:
    """The program. Skips the test without Go or git."""
    binary = CACHE / f"{tool.name}-{tool.version}"
    if binary.exists():
        return binary
    for needed in ("go", "git"):
        if shutil.which(needed) is None:
            pytest.skip(f"needs {needed}")
    CACHE.mkdir(parents=True, exist_ok=True)
    given = os.environ.get(SOURCES)
    source = CACHE / "sources" / tool.name if given is None else Path(given) / tool.name
    if not source.exists():
        address = f"https://github.com/{tool.repository}"
        _run(["git", "clone", "--quiet", "--depth=1", f"--branch={tool.version}", address, str(source)], CACHE)
    _run(["go", "build", "-o", str(binary), tool.package], source)
    return binary


def _run(command: list[str], directory: Path) -> None:
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}\n{done.stderr[-5000:]}"


def output(command: list[str | Path], directory: Path, **variables: str) -> list[str]:
    """The lines that a program writes, those to standard error first. It must exit with 0."""
    done = subprocess.run(
        list(map(str, command)),
        cwd=directory,
        env={**os.environ, **variables},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout[-2000:]}{done.stderr[-5000:]}"
    return (done.stderr + done.stdout).splitlines()


def jar_of_distribution(artifact: str, pattern: str) -> Path:
    """The jar that starts a program of Maven Central, unpacked beside its libraries.

    ``artifact``: GROUP:NAME:VERSION:tar.gz:CLASSIFIER. ``pattern``: of the jar's name. Skips the test without Maven.
    """
    maven = shutil.which("mvn")
    if maven is None:
        pytest.skip("needs Maven")
    _, name, version, kind, classifier = artifact.split(":")
    directory = CACHE / f"{name}-{version}"
    if not list(directory.glob(pattern)):
        directory.mkdir(parents=True, exist_ok=True)
        copy = [maven, "-q", "-B", "dependency:copy", f"-Dartifact={artifact}", f"-DoutputDirectory={directory}"]
        _run(copy, directory)
        archive = directory / f"{name}-{version}-{classifier}.{kind}"
        _run(["tar", "xzf", archive.name], directory)
        archive.unlink()
    return next(directory.glob(pattern))
