"""Installs a library with its own package manager, and builds the program that uses it.

What the package managers fetch stays in their own caches; programs are built in the directory of the test, those of
Python and Java in the tests' cache.
"""

import os
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from support.debian import program_or_skip
from support.kafka.java import fetched, jar_arguments, java_command
from systems.libraries.table import Library, Registry
from systems.python_environment import environment

PROGRAMS = Path(__file__).parent / "programs"
SLF4J = ("org.slf4j", "slf4j-simple", "1.7.36")


class Program(NamedTuple):
    """A program that is ready to run: the start of its command, and variables for its environment."""

    command: Sequence[str | Path]
    variables: Mapping[str, str] = {}


def installed(library: Library, directory: Path) -> Program:
    """Installs the library and builds its program in ``directory``.

    Raises ``subprocess.CalledProcessError`` or JavaMissingError if that fails, FileNotFoundError without the
    package manager.
    """
    return _INSTALLERS[library.registry](library, directory)


def run(command: Sequence[str | Path], directory: Path, variables: Mapping[str, str] | None = None) -> str:
    """The output of a command. Raises AssertionError with the end of its output if it fails."""
    done = subprocess.run(
        [str(part) for part in command],
        cwd=directory,
        env={**os.environ, **(variables or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{command[0]} ended with {done.returncode}\n{done.stdout[-8000:]}"
    return done.stdout


def _with_pip(library: Library, directory: Path) -> Program:
    python = environment(library.name, (f"{library.name}=={library.version}", *library.also))
    return Program([python, PROGRAMS / "python" / library.program])


def _with_npm(library: Library, directory: Path) -> Program:
    (directory / "package.json").write_text("{}")
    packages = [f"{library.name}@{library.version}", *library.also]
    run(["npm", "install", "--no-audit", "--no-fund", *packages], directory)
    shutil.copy(PROGRAMS / "node" / library.program, directory)
    own = directory / "node_modules" / ".bin" / "node"  # if the library needs a newer Node
    return Program([own if own.exists() else "node", directory / library.program])


def _with_go(library: Library, directory: Path) -> Program:
    (directory / "main.go").write_bytes((PROGRAMS / "go" / library.program).read_bytes())
    run(["go", "mod", "init", "example.com/scenario"], directory)
    run(["go", "get", f"{library.name}@{library.version}", *library.also], directory)
    run(["go", "build", "-mod=mod", "-o", "scenario", "."], directory)
    return Program([directory / "scenario"])


def _with_cargo(library: Library, directory: Path) -> Program:
    lines = [f'{library.name} = "={library.version}"', *library.also]
    package = '[package]\nname = "scenario"\nversion = "0.0.0"\nedition = "2021"\n\n[dependencies]\n'
    (directory / "Cargo.toml").write_text(package + "".join(f"{line}\n" for line in lines))
    (directory / "src").mkdir()
    shutil.copy(PROGRAMS / "rust" / library.program, directory / "src" / "main.rs")
    run(["cargo", "build", "--quiet"], directory)
    return Program([directory / "target" / "debug" / "scenario"])


def _with_maven(library: Library, directory: Path) -> Program:
    group, _, name = library.name.partition(":")
    artifacts = [(group, name, library.version), *(_coordinates(one) for one in library.also), SLF4J]
    digest = sha256(repr(artifacts).encode()).hexdigest()[:12]
    libs = fetched(f"library-{name}-{digest}", artifacts)
    source = PROGRAMS / "java" / library.program
    compiler = [java_command(), "-m", "jdk.compiler/com.sun.tools.javac.Main", "-proc:none", "-nowarn"]
    class_path = os.pathsep.join(map(str, sorted(libs.glob("*.jar"))))
    run([*compiler, "-d", directory, "-classpath", class_path, source], directory)
    *options, on_path = jar_arguments(libs, "256m")
    return Program([*options, f"{on_path}{os.pathsep}{directory}", source.stem])


def _with_apt(library: Library, directory: Path) -> Program:
    """Installs Debian's packages, and compiles C and C++ with their compilers."""
    source = PROGRAMS / "debian" / library.program
    if source.suffix == ".sh":
        program_or_skip("kcat", "kcat")
        return Program(["sh", source])
    header = Path("/usr/include/librdkafka/rdkafka.h")
    program_or_skip("gcc", "librdkafka-dev", is_complete=header.exists())
    compiler, library_name = {".c": ("gcc", "-lrdkafka"), ".cpp": ("g++", "-lrdkafka++")}[source.suffix]
    run([compiler, "-o", "scenario", source, library_name], directory)
    return Program([directory / "scenario"])


def _coordinates(text: str) -> tuple[str, str, str]:
    group, artifact, version = text.split(":")
    return group, artifact, version


_INSTALLERS: dict[Registry, Callable[[Library, Path], Program]] = {
    Registry.PYPI: _with_pip,
    Registry.NPM: _with_npm,
    Registry.GO: _with_go,
    Registry.CRATES: _with_cargo,
    Registry.MAVEN: _with_maven,
    Registry.DEBIAN: _with_apt,
}
