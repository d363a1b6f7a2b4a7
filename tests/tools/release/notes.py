"""The notes of a release: the section of CHANGELOG.md about it.

``python -m tools.release.notes 0.1.0`` prints them. It fails if that is not the version of the code, or the section is
missing, has no date or is empty: the workflow of a release asks it before it publishes anything.
"""

import re
import sys

from odradek import __version__

from ..places import ROOT


class NotesError(Exception):
    """A version that cannot be released as the repository is; the text says why."""


def notes(changelog: str, version: str) -> str:
    """The text below the heading of a version, without the heading. Raises NotesError."""
    sections = re.split(r"^## \[", changelog, flags=re.MULTILINE)[1:]
    section = next((one for one in sections if one.startswith(f"{version}]")), None)
    if section is None:
        raise NotesError(f"CHANGELOG.md has no section [{version}]")
    heading, _, text = section.partition("\n")
    if not re.fullmatch(r"\S+ - \d{4}-\d{2}-\d{2}", heading):
        raise NotesError(f"the section [{version}] of CHANGELOG.md has no date")
    if not text.strip():
        raise NotesError(f"the section [{version}] of CHANGELOG.md is empty")
    return text.strip() + "\n"


def main(version: str) -> int:
    """Prints the notes. Returns the exit code."""
    try:
        if version != __version__:
            raise NotesError(f"odradek/__init__.py has the version {__version__}, not {version}")
        print(notes((ROOT / "CHANGELOG.md").read_text(), version), end="")
    except NotesError as error:
        print(f"release {version}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
