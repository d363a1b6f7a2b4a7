"""Runs a suite of a library against a broker, and reads its results."""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

from systems.libraries.installed import run
from systems.libraries.suites import Suite
from systems.libraries.table import Registry
from systems.python_environment import environment as environment_of

Results = dict[str, str]
"""``pass``, ``fail`` or ``skip`` of each test, by its name."""

PROGRAMS = {Registry.PYPI: "python3", Registry.GO: "go", Registry.CRATES: "cargo"}
"""What runs the tests of a registry's packages."""

TIMEOUT_S = 1500
PYTEST = ("pytest==8.4.2", "pytest-mock==3.15.1", "pytest-timeout==2.4.0", "pytest-asyncio==1.2.0")
"""What the suites of Python libraries need besides."""

SERVICE = """\
class ExternalService:
    def __init__(self, host, port): pass


SpawnedService = None
"""
"""The distribution of kafka-python lacks two files of its tests: ``test/__init__.py`` and ``test/service.py``. Of the
second one, tests at a broker that runs use only this."""


def results_of(suite: Suite, servers: str, directory: Path) -> Results:
    """Runs the tests at a broker. ``directory``: their sources are copied there. Raises AssertionError with their
    output if they don't compile."""
    environment = {**os.environ, **{key: text.format(servers=servers) for key, text in suite.variables.items()}}
    if suite.registry is Registry.PYPI:
        return _pytest(suite, directory, environment)
    if suite.registry is Registry.GO:
        return _go(suite, servers, directory, environment)
    return _cargo(suite, directory, environment)


def _pytest(suite: Suite, directory: Path, environment: dict[str, str]) -> Results:
    """The tests of the source distribution, with the library as installed."""
    requirement = f"{suite.name}=={suite.version}"
    python = environment_of(f"{suite.name}-suite", (requirement, *PYTEST))
    fetch = ["-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:", requirement]
    run([python, *fetch], directory)
    [archive] = directory.glob("*.tar.gz")
    shutil.unpack_archive(archive, directory, filter="data")
    sources = directory / archive.name.removesuffix(".tar.gz")
    (sources / "test" / "__init__.py").touch()
    (sources / "test" / "service.py").write_text(SERVICE)
    report = directory / "report.xml"
    output = _output([str(python), "-m", "pytest", f"--junitxml={report}", *suite.arguments], sources, environment)
    assert report.exists(), output[-8000:]
    results: Results = {}
    for case in ElementTree.parse(report).iter("testcase"):
        is_failed = case.find("failure") is not None or case.find("error") is not None
        how = "fail" if is_failed else "skip" if case.find("skipped") is not None else "pass"
        results[f"{case.get('classname', '').rpartition('.')[2]}::{case.get('name')}"] = how
    return results


def _go(suite: Suite, servers: str, directory: Path, environment: dict[str, str]) -> Results:
    """The tests with names of their own; a test with subtests passes if all of these do."""
    module = json.loads(run(["go", "mod", "download", "-json", f"{suite.name}@{suite.version}"], directory))
    sources = directory / "module"
    shutil.copytree(module["Dir"], sources)
    run(["chmod", "-R", "u+w", str(sources)], directory)
    if "." in suite.arguments:
        _replace_port(sources, servers.rpartition(":")[2])
    output = _output(
        ["go", "test", "-mod=mod", "-json", "-count=1", "-timeout=20m", *suite.arguments], sources, environment
    )
    events = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    ended = {
        one["Test"]: one["Action"] for one in events if one["Action"] in ("pass", "fail", "skip") and "Test" in one
    }
    assert ended, output[-8000:]
    return {name: how for name, how in ended.items() if "/" not in name}


def _replace_port(sources: Path, port: str) -> None:
    for path in sources.glob("*_test.go"):
        if path.name == "address_test.go":  # it needs no broker
            continue
        text = path.read_text().replace(":9092", f":{port}")
        path.write_text(text.replace('TCP("localhost")', f'TCP("localhost:{port}")'))


def _cargo(suite: Suite, directory: Path, environment: dict[str, str]) -> Results:
    sources = directory / "crate"
    shutil.copytree(_crate(suite, directory), sources)
    for name in ("rust-toolchain.toml", "Cargo.lock"):  # they name a compiler and crates for it that may not be here
        (sources / name).unlink(missing_ok=True)
    command = ["cargo", "test", "--no-fail-fast", *suite.arguments, "--", "--test-threads=1"]
    output = _output(command, sources, environment)
    results: Results = {}
    file = ""
    for line in output.splitlines():
        if found := re.match(r"\s+Running (?:unittests )?(\S+)", line):
            file = Path(found[1]).stem
        elif found := re.match(r"test (\S+) \.\.\. .*?(ok|FAILED|ignored)?$", line):
            results[f"{file}::{found[1]}"] = {"ok": "pass", "ignored": "skip"}.get(found[2] or "", "fail")
    assert results, output[-8000:]
    return results


def _crate(suite: Suite, directory: Path) -> Path:
    """The directory with the crate's sources, as cargo has unpacked them."""
    package = directory / "package"
    (package / "src").mkdir(parents=True)
    (package / "src" / "lib.rs").touch()
    (package / "Cargo.toml").write_text(
        f'[package]\nname = "p"\nversion = "0.0.0"\n\n[dependencies]\n{suite.name} = "={suite.version}"\n'
    )
    packages = json.loads(run(["cargo", "metadata", "--quiet", "--format-version", "1"], package))["packages"]
    [manifest] = [one["manifest_path"] for one in packages if one["name"] == suite.name]
    return Path(manifest).parent


def _output(command: Sequence[str], directory: Path, environment: dict[str, str]) -> str:
    """The output of tests, whether they pass or not."""
    done = subprocess.run(
        command, cwd=directory, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, check=False, timeout=TIMEOUT_S,
    )  # fmt: skip
    return done.stdout
