"""docs/groups.md has the same state transitions as the code."""

import re
from pathlib import Path

from odradek.broker.groups.classic.group import VALID_PREVIOUS_STATES, GroupState

PAGE = Path(__file__).parents[3] / "docs" / "groups.md"


def test_the_table_of_states_is_the_codes() -> None:
    section = PAGE.read_text().partition("## States")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (\w+) \| (\w+) \| ", section, re.MULTILINE)
    documented = {(before, after) for before, after in rows if after != "to"}
    coded = {
        (str(before), str(after))
        for after, previous in VALID_PREVIOUS_STATES.items()
        for before in previous
        if after is not GroupState.DEAD
    }
    assert documented - {("any", "Dead")} == coded
    assert VALID_PREVIOUS_STATES[GroupState.DEAD] == frozenset(GroupState)
