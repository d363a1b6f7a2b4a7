"""What the wheel and the sdist of a release hold, compared with the files that git knows.

``python -m tools.release.contents DIRECTORY`` reads the two in a directory, prints how many files they have, and each
file too many or too few. A file that is forgotten in the wheel is missing for users only; one that lies about in a
checkout would be published.
"""

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

from ..places import ROOT

PACKAGE = "odradek/"
NOT_INSTALLED = {"odradek/broker/config/extract/ExtractConfigKeys.java"}
"""Files among the packages that no user runs."""
BESIDE = {"pyspark_odradek.py"}
TO_BUILD = {"LICENSE", "MANIFEST.in", "README.md", "pyproject.toml"}
MADE_BY_THE_BUILD = ("PKG-INFO", "setup.cfg", "odradek.egg-info/")


def tracked() -> set[str]:
    """The files of the packages that git knows."""
    listed = subprocess.run(["git", "ls-files", PACKAGE], cwd=ROOT, capture_output=True, text=True, check=True)
    return set(listed.stdout.split())


def wheel_names(path: Path) -> set[str]:
    """The files that a wheel installs, without those about itself (``.dist-info``)."""
    with zipfile.ZipFile(path) as file:
        return {name for name in file.namelist() if ".dist-info/" not in name}


def sdist_names(path: Path) -> set[str]:
    """The files of an sdist below its folder, without those that the build makes."""
    with tarfile.open(path) as archive:
        names = (member.name.partition("/")[2] for member in archive.getmembers() if member.isfile())
        return {name for name in names if not name.startswith(MADE_BY_THE_BUILD)}


def differences(what: str, found: set[str], expected: set[str]) -> list[str]:
    """A line for each file that is in one of the two sets only."""
    missing = [f"{what} lacks {name}" for name in sorted(expected - found)]
    return missing + [f"{what} has {name}, which git does not know there" for name in sorted(found - expected)]


def main(directory: Path) -> int:
    """Compares the two files in a directory. Returns the exit code."""
    (wheel,) = directory.glob("odradek-*.whl")
    (sdist,) = directory.glob("odradek-*.tar.gz")
    installed = tracked() - NOT_INSTALLED | BESIDE
    in_wheel, in_sdist = wheel_names(wheel), sdist_names(sdist)
    wrong = differences(wheel.name, in_wheel, installed)
    wrong += differences(sdist.name, in_sdist, installed | TO_BUILD)
    for path, names in ((wheel, in_wheel), (sdist, in_sdist)):
        print(f"{path.name}: {len(names)} files, {path.stat().st_size / 1e6:.1f} MB")
    print("".join(f"{one}\n" for one in wrong), end="")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
