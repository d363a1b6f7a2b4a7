"""Environments of the modules for Node and Rust, made once and kept in the tests' cache."""

import json
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path

from support.kafka.java import cache_directory, locked


def node_environment(packages: Mapping[str, str]) -> Path:
    """A directory with packages of npm. One of them is ``node``, which has the program ``node_modules/.bin/node``."""
    manifest = json.dumps({"private": True, "dependencies": dict(packages)})

    def install(directory: Path) -> None:
        (directory / "package.json").write_text(manifest)
        _run(["npm", "install", "--silent", "--no-audit", "--no-fund"], directory)

    return _made("testcontainers-node", manifest, install)


def rust_crate(version: str, feature: str, needed: Sequence[str]) -> Path:
    """A directory with the published crate ``testcontainers-modules``, whose tests are compiled for one feature.

    The tests of all its modules depend on hundreds of crates. ``needed``: those that are kept, among them all that the
    tests of the feature need.
    """
    inputs = f"{version} {feature} {sorted(needed)}"
    made = _made("testcontainers-rust", inputs, lambda directory: _compile(directory, version, feature, needed))
    return made / "crate"


def _compile(directory: Path, version: str, feature: str, needed: Sequence[str]) -> None:
    name = "testcontainers-modules"
    fetched = directory / "fetched"
    (fetched / "src").mkdir(parents=True)
    (fetched / "src" / "lib.rs").touch()
    package = '[package]\nname = "fetched"\nversion = "0.1.0"\nedition = "2021"\n'
    (fetched / "Cargo.toml").write_text(f'{package}[dependencies]\n{name} = "={version}"\n')
    packages = json.loads(_run(["cargo", "metadata", "--format-version", "1"], fetched))["packages"]
    (manifest,) = (Path(one["manifest_path"]) for one in packages if one["name"] == name)
    crate = directory / "crate"
    shutil.copytree(manifest.parent, crate, ignore=shutil.ignore_patterns("Cargo.lock", "Cargo.toml.orig", "examples"))
    (crate / "Cargo.toml").write_text(with_dependencies_of_tests(manifest.read_text(), needed))
    _run(["cargo", "test", "--no-run", "--features", feature, "--lib"], crate)


def with_dependencies_of_tests(manifest: str, needed: Sequence[str]) -> str:
    """A published manifest without examples, and with only some dependencies of the tests."""
    sections = re.split(r"^(?=\[)", manifest, flags=re.MULTILINE)
    kept = []
    for section in sections:
        head = section.partition("\n")[0]
        of_tests = re.fullmatch(r"\[dev-dependencies\.([^].]+)(?:\.[^]]+)?\]", head)
        if head != "[[example]]" and (of_tests is None or of_tests[1] in needed):
            kept.append(section)
    return "".join(kept)


def _made(name: str, inputs: str, make: Callable[[Path], None]) -> Path:
    """The directory in the cache that ``make`` fills. ``inputs``: all that it depends on."""
    root = cache_directory() / f"{name}-{sha256(inputs.encode()).hexdigest()[:12]}"
    root.mkdir(parents=True, exist_ok=True)
    made, done = root / "made", root / "complete"
    with locked(root):
        if not done.exists():
            shutil.rmtree(made, ignore_errors=True)
            made.mkdir()
            make(made)
            done.touch()
    return made


def _run(command: Sequence[str], directory: Path) -> str:
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout[-4000:]}\n{done.stderr[-8000:]}"
    return done.stdout
