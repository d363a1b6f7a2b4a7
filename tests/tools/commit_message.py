"""Checks a commit message. ``make hooks`` installs this check as git's hook ``commit-msg``.

    area: what changes, imperative, 72 characters at most

    Why. What was measured, what was tried and dropped.

Usage: ``python tests/tools/commit_message.py FILE``. It prints a line for each problem and then ends
with exit code 1.
"""

import re
import sys
from pathlib import Path

SUBJECT_MAX = 72
SUBJECT = re.compile(r"[a-z0-9][\w./+-]*(?:, [\w./+-]+)*: \S.*[^.\s]")
MADE_BY_GIT = re.compile(r'(?:Merge |Revert "|Reapply "|fixup! |squash! |amend! )')
SCISSORS = "# ------------------------ >8 ------------------------"


def problems(message: str) -> list[str]:
    """The problems of a commit message. Comments and a diff below the scissors line are not part of it."""
    text = message.partition(SCISSORS)[0]
    lines = [line.rstrip() for line in text.splitlines() if not line.startswith("#")]
    subject = lines[0] if lines else ""
    if MADE_BY_GIT.match(subject):
        return []
    found = []
    if not SUBJECT.fullmatch(subject):
        found.append(f"the first line is not `area: what changes`, without a full stop: {subject!r}")
    if len(subject) > SUBJECT_MAX:
        found.append(f"the first line has {len(subject)} characters, more than {SUBJECT_MAX}")
    if len(lines) > 1 and lines[1]:
        found.append("the second line is not empty")
    return found


def main(path: Path) -> int:
    """Prints the problems of the message in a file; returns the exit code."""
    found = problems(path.read_text())
    print("".join(f"commit message: {problem}\n" for problem in found), end="")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
