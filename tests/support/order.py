"""The order of the tests, and which of them one worker of pytest-xdist takes at once (``make test`` has four workers).

A worker takes one file after another, or a whole folder if its tests share something that is slow to start. Files whose
tests mostly wait (for sessions to end, for JVMs to start) are spread evenly among those that mostly compute, so that
the workers neither compete for the processors nor leave them idle. Of both kinds the longest come first, as
``tests/durations.json`` has it, so that no worker runs a long one alone at the end. Without workers the order is the
same.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping

from support.durations import total

TOGETHER = ("tests/parity/", "tests/docker/", "tests/console/page/")
"""Folders whose tests share a Kafka and a broker of ours, a Docker engine, or a browser."""
WAITING = (
    "tests/client/",
    "tests/clients/",
    "tests/cluster/",
    "tests/door/",
    "tests/examples/",
    "tests/pages/",
    "tests/parity/",
    "tests/systems/",
)
"""Tests that mostly wait: they use 0.2 to 0.8 of a processor."""


def unit(node_id: str) -> str:
    """The unit that a worker takes at once: the folder or the file of a test."""
    return next((folder for folder in TOGETHER if node_id.startswith(folder)), node_id.partition("::")[0])


def places(node_ids: Iterable[str], means: Mapping[str, float]) -> dict[str, tuple[float, bool]]:
    """Unit -> its sort key. ``means``: test function -> mean seconds of a case. Equally long units keep their order."""
    units: defaultdict[str, list[str]] = defaultdict(list)
    for node_id in node_ids:
        units[unit(node_id)].append(node_id)
    seconds = {name: total(cases, means) for name, cases in units.items()}
    found: dict[str, tuple[float, bool]] = {}
    for is_waiting in (True, False):
        lane = [name for name in units if name.startswith(WAITING) == is_waiting]
        lane.sort(key=lambda name: -seconds[name])
        found |= {name: ((number + 0.5) / len(lane), is_waiting) for number, name in enumerate(lane)}
    return found
