"""Every task and callback of the broker is started in one place."""

from collections import Counter

import pytest

from .places import ROOT
from .started_work import names_of_kinds, started_elsewhere


def test_all_work_is_started_in_one_place() -> None:
    found = [
        line
        for path in sorted((ROOT / "broker").rglob("*.py"))
        for line in started_elsewhere(path.relative_to(ROOT).as_posix(), path.read_text())
    ]
    assert not found, "start it with a KindOfWork (broker/timers/work.py):\n" + "\n".join(found)


@pytest.mark.parametrize(
    "line",
    [
        "loop.create_task(run())",
        "asyncio.ensure_future(run())",
        "loop.call_later",
        "done.add_done_callback(f)",
        "asyncio.to_thread(f)",
        "threading.Thread(target=f)",
        "self._pool.submit(f)",
    ],
)
def test_other_ways_are_found(line: str) -> None:
    assert len(started_elsewhere("broker/network/a.py", f"import asyncio\n{line}\n")) == 1


@pytest.mark.parametrize("path", ["broker/timers/work.py", "client/cluster/cluster.py"])
def test_the_one_place_and_other_packages_may(path: str) -> None:
    assert not started_elsewhere(path, "loop.create_task(run())\n")


def test_each_kind_of_work_has_a_name_of_its_own() -> None:
    names = Counter(name for path in (ROOT / "broker").rglob("*.py") for name in names_of_kinds(path.read_text()))
    assert len(names) > 20
    assert [name for name, count in names.items() if count > 1] == []


def test_names_of_kinds_are_found() -> None:
    assert names_of_kinds('A = KindOfWork("one", "does a")\nB = KindOfWork("two", "does b")\n') == ["one", "two"]
