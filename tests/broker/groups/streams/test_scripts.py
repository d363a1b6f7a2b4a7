"""Scripts of heartbeats of streams groups with the expected results. ODRADEK_REWRITE_SCRIPTS=1 updates the results."""

from pathlib import Path

import pytest

from ..scripts import run_script
from .script_player import StreamsScriptPlayer

SCRIPTS = sorted((Path(__file__).parent / "scripts").glob("*.txt"))


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_script(path: Path) -> None:
    expected, result = run_script(path, StreamsScriptPlayer())
    assert result.splitlines() == expected.splitlines()


def test_there_are_scripts() -> None:
    assert len(SCRIPTS) >= 10
