"""Other processors on this machine: qemu's user emulation, and file systems that are only unpacked.

Nothing here runs in a container, and the kernel is not told of the emulator (binfmt): its command line names the Python
of the unpacked file system.
"""

import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from odradek.testing.container.elsewhere import BrokerElsewhere
from support.docker.engine import Engine, EngineMissingError, install
from support.eventually import eventually

ROOT = Path(__file__).parents[2]
PYTHON_VERSION = "3.11"
GLIBC = ("2014", "_2_17", "_2_26", "_2_27", "_2_28")
"""The manylinux tags of wheels that Debian 12, the image's base, can load."""


@dataclass(frozen=True, slots=True)
class Emulated:
    """A Python of an unpacked file system, run by an emulator."""

    emulator: tuple[str, ...]
    root: Path
    python: Path
    packages: tuple[Path, ...]
    """The directories of PYTHONPATH."""

    def run(self, program: str) -> "subprocess.CompletedProcess[str]":
        """Runs a Python program to its end."""
        return subprocess.run(
            self._command("-c", program),
            env=self._environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    @contextmanager
    def serve(self, directory: Path) -> Iterator[BrokerElsewhere]:
        """``odradek serve`` until the block ends; it must end with exit code 0."""
        ready = directory / "ready.json"
        overrides = ["listeners=PLAINTEXT://127.0.0.1:0", f"log.dirs={directory / 'data'}"]
        options = [part for override in overrides for part in ("--override", override)]
        command = self._command("-m", "odradek", "serve", *options, "--ready-file", str(ready))
        log = directory / "log"
        with (
            log.open("wb") as output,
            subprocess.Popen(
                command, env=self._environment(), stdin=subprocess.DEVNULL, stdout=output, stderr=output
            ) as broker,
        ):
            try:
                eventually("the broker is ready", lambda: ready.exists() or broker.poll() is not None)
                assert broker.poll() is None, log.read_text()
                yield BrokerElsewhere(json.loads(ready.read_text())["bootstrap_servers"])
            finally:
                broker.terminate()
        assert broker.returncode == 0, log.read_text()

    def _command(self, *arguments: str) -> list[str]:
        return [*self.emulator, "-L", str(self.root), str(self.python), *arguments]

    def _environment(self) -> dict[str, str]:
        path = os.pathsep.join(map(str, self.packages))
        return {"PATH": os.environ["PATH"], "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}


def emulator(machine: str, processor: str) -> tuple[str, ...]:
    """The command of the emulator for a machine, of Debian's package. Raises EngineMissingError."""
    if shutil.which(f"qemu-{machine}") is None:
        install("qemu-user")
    return (f"qemu-{machine}", "-cpu", processor)


def wheels(machine: str, directory: Path) -> list[Path]:
    """Downloads wheels of all that the image installs with pip, for a machine. Nothing may need a compiler."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    needed = [*project["dependencies"], *project["optional-dependencies"]["security"]]
    platforms = [part for tag in GLIBC for part in ("--platform", f"manylinux{tag}_{machine}")]
    python = ["--python-version", PYTHON_VERSION, "--implementation", "cp"]
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
    command += ["--only-binary=:all:", *python, *platforms, "--dest", str(directory), *needed]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return sorted(directory.glob("*.whl"))


def installed(files: Sequence[Path], directory: Path) -> Path:
    """Unpacks wheels for another machine, as pip would install them."""
    for file in files:
        shutil.unpack_archive(file, directory, "zip")
    return directory


def debian_root(architecture: str, directory: Path) -> Path:
    """Unpacks Debian's Python for an architecture, with what it needs. Nothing of it is run. Raises
    EngineMissingError.
    """
    if shutil.which("mmdebstrap") is None:
        install("mmdebstrap")
    command = ["mmdebstrap", "--variant=extract", f"--architectures={architecture}"]
    command += ["--include=python3,ca-certificates,libstdc++6", "bookworm", str(directory)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise EngineMissingError(f"mmdebstrap: {done.stderr[-800:]}")
    return directory


def exported(engine: Engine, tag: str, directory: Path) -> Path:
    """The file system of an image."""
    container = f"odradek-export-{os.getpid()}"
    engine.run("create", "--name", container, tag)
    tar = directory.with_suffix(".tar")
    try:
        engine.run("export", "--output", str(tar), container)
    finally:
        engine.run("rm", "--volumes", container)
    directory.mkdir()
    subprocess.run(["tar", "-C", str(directory), "--exclude=dev/*", "-xf", str(tar)], check=True)
    tar.unlink()
    return directory


def inside(root: Path, path: str) -> Path:
    """A file of an unpacked file system, whose links are followed there."""
    while (file := root / path.lstrip("/")).is_symlink():
        path = os.path.normpath(os.path.join(os.path.dirname(path), os.readlink(file)))
    return file
