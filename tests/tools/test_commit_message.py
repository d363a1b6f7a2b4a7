"""The check accepts good commit messages and names the problems of others."""

import subprocess
import sys
from pathlib import Path

import pytest

from tools import commit_message

BODY = "\n\nWhy. What was measured.\n"


@pytest.mark.parametrize(
    "message",
    [
        "fetch: answer sooner" + BODY,
        "protocol/codec: decode tagged fields in one call" + BODY,
        "broker, storage: move recovery" + BODY,
        "tests: " + "x" * 65 + BODY,
        "Merge branch 'a' into b",
        'Revert "fetch: answer sooner"\n\nThis reverts commit 1.',
        "fixup! fetch: answer sooner",
        "fetch: answer sooner\n# a comment of git's\n",
        "fetch: answer sooner\n\n# ------------------------ >8 ------------------------\n" + "diff " * 40,
    ],
)
def test_messages_that_are_good(message: str) -> None:
    assert commit_message.problems(message) == []


@pytest.mark.parametrize(
    ("message", "problem"),
    [
        ("", "not `area: what changes`"),
        ("Answer sooner" + BODY, "not `area: what changes`"),
        ("Fetch: answer sooner" + BODY, "not `area: what changes`"),
        ("fetch: answer sooner." + BODY, "not `area: what changes`"),
        ("fetch:" + BODY, "not `area: what changes`"),
        ("tests: " + "x" * 66 + BODY, "73 characters"),
        ("fetch: answer sooner\nand more", "second line"),
    ],
)
def test_messages_that_are_refused(message: str, problem: str) -> None:
    [found] = commit_message.problems(message)
    assert problem in found


def test_the_hook_names_the_problem_and_fails(tmp_path: Path) -> None:
    path = tmp_path / "COMMIT_EDITMSG"
    path.write_text("Answer sooner.\nat once")
    command = [sys.executable, commit_message.__file__, str(path)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout.count("commit message: ")) == (1, 2)
