"""The wheel of this checkout, installed as a user has it."""

import shutil
import subprocess
import sys
from pathlib import Path

from interpreters import fastest

ROOT = Path(__file__).parent.parent


def leave_out(directory: str, names: list[str]) -> list[str]:
    """What the wheel is not built from."""
    if Path(directory) != ROOT:
        return [name for name in names if name == "__pycache__"]
    return [name for name in names if name.startswith(".") or name in ("build", "data", "dist", "tests")]


def install_wheel(directory: Path) -> Path:
    """Builds the wheel and installs it in an environment of its own, as a user has it; the command's path."""
    source = directory / "source"
    shutil.copytree(ROOT, source, symlinks=True, ignore=leave_out)  # a build folder in the tree may hold old modules
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--outdir", str(directory), str(source)],
        check=True,
        capture_output=True,
    )
    wheel = next(directory.glob("odradek-*.whl"))
    environment = directory / "venv"
    subprocess.run([fastest(), "-m", "venv", str(environment)], check=True)
    subprocess.run(
        [str(environment / "bin/pip"), "install", "--quiet", "--disable-pip-version-check", str(wheel)], check=True
    )
    return environment / "bin/odradek"
