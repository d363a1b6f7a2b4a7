"""The order in which the workers of pytest-xdist get the tests, and the file of durations that decides it."""

from support.durations import FILE, function, known, merged
from support.order import places, unit

COMPUTING = [f"tests/storage/log/test_{number}.py" for number in range(6)]
WAITING = [f"tests/cluster/test_{name}.py" for name in ("a", "b", "rolling")]


def test_files_that_wait_are_spread_among_those_that_compute() -> None:
    means = {"tests/cluster/test_rolling.py::test_one": 90.0}
    order = places((f"{file}::test_one" for file in [*WAITING, *COMPUTING]), means)
    assert sorted(order, key=order.__getitem__) == [
        *("tests/storage/log/test_0.py", "tests/cluster/test_rolling.py", "tests/storage/log/test_1.py"),
        *("tests/storage/log/test_2.py", "tests/cluster/test_a.py", "tests/storage/log/test_3.py"),
        *("tests/storage/log/test_4.py", "tests/cluster/test_b.py", "tests/storage/log/test_5.py"),
    ]


def test_the_longest_file_comes_first() -> None:
    """Its length is that of the cases that were selected, not of all that it has."""
    means = {"tests/storage/test_a.py::test_few": 5.0, "tests/storage/test_b.py::test_many": 2.0}
    cases = ["tests/storage/test_a.py::test_few", *(f"tests/storage/test_b.py::test_many[{one}]" for one in range(3))]
    order = places(cases, means)
    assert sorted(order, key=order.__getitem__) == ["tests/storage/test_b.py", "tests/storage/test_a.py"]
    order = places(cases[:2], means)
    assert sorted(order, key=order.__getitem__) == ["tests/storage/test_a.py", "tests/storage/test_b.py"]


def test_a_folder_that_shares_a_broker_is_one_unit() -> None:
    node_ids = ["tests/parity/test_b.py::test_one[1]", "tests/storage/test_c.py::test_one", "tests/parity/test_a.py::t"]
    assert set(places(node_ids, {})) == {"tests/parity/", "tests/storage/test_c.py"}
    assert unit(node_ids[0]) == unit(node_ids[2])


def test_a_run_replaces_what_it_measured_and_keeps_the_rest() -> None:
    before = {"tests/a.py::test_gone_fast": 9.0, "tests/a.py::test_slow": 9.0, "tests/b.py::test_else": 3.0}
    measured = {"tests/a.py::test_gone_fast": 0.1, "tests/a.py::test_slow[1]": 0.9, "tests/a.py::test_slow[2]": 0.6}
    assert merged(before, measured) == {"tests/a.py::test_slow": 0.75, "tests/b.py::test_else": 3.0}


def test_the_file_names_tests_that_are_there() -> None:
    """A test that moves takes its line along (``make durations`` writes the file)."""
    root = FILE.parents[1]
    files = {name.partition("::")[0] for name in known()}
    assert not {file for file in files if not (root / file).is_file()}
    texts = {file: (root / file).read_text() for file in files}
    assert not [name for name in known() if f"def {name.rpartition('::')[2]}(" not in texts[name.partition("::")[0]]]
    assert all(name == function(name) for name in known())
