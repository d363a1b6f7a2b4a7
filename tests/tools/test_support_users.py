"""The rule finds a helper that one folder of tests uses: directly, through other helpers, or by name in a string."""

from pathlib import Path

from tools.places import ROOT
from tools.support_users import misplaced

SOURCES = {
    "support/one.py": "",
    "support/both.py": "import os",
    "support/kafka/deep.py": "from support.one import thing",
    "support/started.py": "if __name__ == '__main__': ...",
    "support/of_all.py": "",
    "broker/groups/test_a.py": "from support.kafka.deep import thing\nfrom support import both",
    "client/test_b.py": "from support.both import thing\nCOMMAND = ['-m', 'support.started']",
    "conftest.py": "from support.of_all import thing",
}


def test_what_one_folder_uses_is_misplaced() -> None:
    assert misplaced(SOURCES) == {"support.one": "broker", "support.kafka.deep": "broker", "support.started": "client"}


def test_support_holds_only_what_several_folders_use() -> None:
    """A module that one folder uses must move to that folder.

    It is then imported relatively, or by the name of a package such as parity.
    """
    tests, bench = ROOT / "tests", ROOT / "bench"
    sources = {path.relative_to(tests).as_posix(): path.read_text() for path in tests.rglob("*.py")}
    sources |= {path.relative_to(ROOT).as_posix(): path.read_text() for path in bench.glob("*.py")}
    del sources[Path(__file__).relative_to(tests).as_posix()]
    assert not misplaced(sources)
