"""The order of the tests, and which of them one worker of pytest-xdist takes at once (``make test`` has three workers).

A worker takes one file after another, or a whole folder if its tests share something that is slow to start. Files whose
tests mostly wait (for sessions to end, for JVMs to start) are spread evenly among those that mostly compute, so that
the workers neither compete for the processors nor leave them idle. Of both kinds the longest come first, so that no
worker runs a long one alone at the end. Without workers the order is the same.
"""

from collections.abc import Iterable
from functools import partial

TOGETHER = ("tests/parity/", "tests/docker/")
"""Folders whose tests share a Kafka and a broker of ours, or a Docker engine."""
WAITING = (
    "tests/parity/",
    "tests/systems/test_spark.py",
    "tests/systems/test_flink.py",
    "tests/cluster/test_fire.py",
    "tests/cluster/test_same_script.py",
    "tests/cluster/test_rolling.py",
    "tests/cluster/test_cluster_bench.py",
    "tests/cluster/test_eligible_leaders.py",
    "tests/cluster/",
    "tests/clients/",
    "tests/door/",
    "tests/client/",
    "tests/examples/",
    "tests/pages/",
    "tests/systems/",
)
"""Tests that mostly wait: they use 0.2 to 0.8 of a processor."""
COMPUTING = (
    "tests/docker/",
    "tests/pipeline/compact/",
    "tests/pipeline/importing/",
    "tests/faults/",
    "tests/testing/",
    "tests/pipeline/",
    "tests/scale/",
)
"""The longest of the other tests."""


def unit(node_id: str) -> str:
    """The unit that a worker takes at once: the folder or the file of a test."""
    return next((folder for folder in TOGETHER if node_id.startswith(folder)), node_id.partition("::")[0])


def places(node_ids: Iterable[str]) -> dict[str, tuple[float, bool]]:
    """Unit -> its sort key. Units in neither list keep their order."""
    units = list(dict.fromkeys(map(unit, node_ids)))
    found: dict[str, tuple[float, bool]] = {}
    for is_waiting, first in ((True, WAITING), (False, COMPUTING)):
        lane = [one for one in units if one.startswith(WAITING) == is_waiting]
        lane.sort(key=partial(_place, first))
        found |= {one: ((number + 0.5) / len(lane), is_waiting) for number, one in enumerate(lane)}
    return found


def _place(first: tuple[str, ...], one: str) -> int:
    return next((number for number, name in enumerate(first) if one.startswith(name)), len(first))
