"""The order in which the workers of pytest-xdist get the tests."""

from support.order import places, unit

COMPUTING = [f"tests/storage/log/test_{number}.py" for number in range(6)]
WAITING = [f"tests/cluster/test_{name}.py" for name in ("a", "b", "rolling")]


def test_files_that_wait_are_spread_among_those_that_compute() -> None:
    order = places(f"{file}::test_one" for file in [*WAITING, *COMPUTING])
    assert sorted(order, key=order.__getitem__) == [
        *("tests/storage/log/test_0.py", "tests/cluster/test_rolling.py", "tests/storage/log/test_1.py"),
        *("tests/storage/log/test_2.py", "tests/cluster/test_a.py", "tests/storage/log/test_3.py"),
        *("tests/storage/log/test_4.py", "tests/cluster/test_b.py", "tests/storage/log/test_5.py"),
    ]


def test_a_folder_that_shares_a_broker_is_one_unit() -> None:
    node_ids = ["tests/parity/test_b.py::test_one[1]", "tests/storage/test_c.py::test_one", "tests/parity/test_a.py::t"]
    assert set(places(node_ids)) == {"tests/parity/", "tests/storage/test_c.py"}
    assert unit(node_ids[0]) == unit(node_ids[2])
