"""The messages in docs/troubleshooting.md equal those in the code, so that a search for one finds the page."""

import ast
import re
from functools import cache

import pytest

from support.pipeline.wheel import ROOT

ROOMS = ("broker", "client", "protocol", "storage")
COLUMN = re.compile(r"^\| (?:log: )?`([^`]+)`(?: \([^|]*\))? \||, log: `([^`]+)` \|", re.MULTILINE)


def quoted() -> list[str]:
    """The messages in the first columns of the tables."""
    found = COLUMN.findall((ROOT / "docs/troubleshooting.md").read_text())
    return [first or second for first, second in found]


@cache
def texts() -> str:
    """All texts of the code, one on a line."""
    found: list[str] = []
    for room in ROOMS:
        for path in (ROOT / room).rglob("*.py"):
            tree = ast.parse(path.read_text())
            found += [n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)]
    return "\n".join(found)


def test_messages_are_found_on_the_page() -> None:
    assert len(quoted()) >= 12


@pytest.mark.parametrize("message", quoted())
def test_a_message_is_one_of_the_code(message: str) -> None:
    assert message in texts()
