"""No test replaces a constant of ``odradek``."""

from pathlib import Path

import pytest

from support.each import each
from tools.patched_constants import patched_constants
from tools.places import ROOT, relative

IMPORTS = "import os\nfrom odradek.broker.timers import work\nfrom odradek.broker.fetch.session import Cache\n"


@pytest.mark.parametrize(
    "line",
    [
        'monkeypatch.setattr(work, "PAUSE_S", 0.001)',
        'monkeypatch.setattr(\n    work,\n    "_PAUSE_S",\n    0.001,\n)',
        'monkeypatch.setattr("odradek.broker.timers.work.PAUSE_S", 0)',
        'monkeypatch.setattr(Cache, "MAX_SLOTS", 1)',
        'for module in (work, os):\n    monkeypatch.setattr(module, "PAUSE_S", 0)',
        'with mock.patch("odradek.broker.timers.work.PAUSE_S", 0):\n    pass',
        'mock.patch.object(work, "PAUSE_S", 0)',
        "mock.patch.multiple(work, PAUSE_S=0)",
        'setattr(work, "PAUSE_S", 0)',
        "work.PAUSE_S = 0",
        "Cache.MAX_SLOTS += 1",
        'PROGRAM = """\nfrom odradek.broker.timers import work\nwork.PAUSE_S = 0\n"""',
    ],
)
def test_a_patched_constant_is_found(line: str) -> None:
    assert len(patched_constants(f"{IMPORTS}{line}\n")) == 1


@pytest.mark.parametrize(
    "line",
    [
        'monkeypatch.setattr(os, "O_DIRECT", 0)',
        'monkeypatch.setattr("os.path", 0)',
        'monkeypatch.setattr(work, "name_of", str)',
        'monkeypatch.setattr(Cache, "Slots", list)',
        "os.O_DIRECT = 0",
        "self.SIZE = 1",
        "PAUSE_S = 0",
        'PAGE = """\nA text, not a program: work.PAUSE_S = 0.\n"""',
    ],
)
def test_what_is_no_constant_of_odradek_may_be_replaced(line: str) -> None:
    assert patched_constants(f"{IMPORTS}{line}\n") == []


TESTS = sorted(path for path in (ROOT / "tests").rglob("*.py") if path != Path(__file__))


@each("path", TESTS, ids=relative)
def test_no_test_patches_a_constant(path: Path) -> None:
    found = patched_constants(path.read_text())
    assert not found, f"lines {found}: make it a parameter of the part that uses it"
