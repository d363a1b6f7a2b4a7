"""The project's wheel, built as a user gets it."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]


def run(*command: str | Path, directory: Path) -> str:
    """Runs a command that cannot import the working tree; returns its output. Raises AssertionError with the output."""
    # PYTHONPATH and similar variables would make the working tree importable.
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "COV"))}
    result = subprocess.run(
        [str(part) for part in command], cwd=directory, env=environment, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, f"{command}\n{result.stdout[-3000:]}\n{result.stderr[-3000:]}"
    return result.stdout


def copy_of_tree(directory: Path) -> Path:
    """A copy of the tracked and new files, in a new directory below `directory`."""
    listed = run("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", directory=ROOT)
    source = directory / "source"
    for name in filter(None, listed.split("\0")):
        copy = source / name
        if not (ROOT / name).exists() and not (ROOT / name).is_symlink():
            continue
        copy.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_symlink():
            copy.symlink_to((ROOT / name).readlink())
        else:
            copy.write_bytes((ROOT / name).read_bytes())
    return source


def build_wheel(directory: Path, source: Path | None = None) -> Path:
    """The wheel of `source`, in `directory`. By default the source is a new copy of the tree, because setuptools leaves
    files beside the sources.
    """
    source = source or copy_of_tree(directory)
    run(sys.executable, "-m", "build", "--wheel", "--outdir", directory / "dist", source, directory=directory)
    (wheel,) = (directory / "dist").glob("odradek-*.whl")
    return wheel


def build_sdist(directory: Path) -> Path:
    """The sdist of the same, after `build_wheel` in `directory`."""
    run(
        sys.executable,
        "-m",
        "build",
        "--sdist",
        "--outdir",
        directory / "dist",
        directory / "source",
        directory=directory,
    )
    (sdist,) = (directory / "dist").glob("odradek-*.tar.gz")
    return sdist
