"""Full garbage collections visit only objects that are younger than the last long one, and this leaks nothing."""

import subprocess
import sys
from pathlib import Path

import pytest

from support.brokers.heavy_requests import ROWS, Heavy, Scale, create, delete
from support.brokers.our_broker import resident_bytes

from .watched_collections import WatchedBroker

OBJECTS = """
import gc, sys
from odradek.broker.server.memory import LONG_MS, FULL, FullCollections

collections = FullCollections(iter(range(0, 10**9, int(LONG_MS * float(sys.argv[1])))).__next__)
visited = []

def watch(phase, info):
    if phase == "start" and info["generation"] == FULL:
        visited.append(len(gc.get_objects()))  # those that are frozen are left out

collections.start()
gc.callbacks.append(watch)
kept = [[number] for number in range(500_000)]
print(max(visited))
collections.stop()
assert gc.callbacks == [watch]
"""


def most_visited(long_part: float) -> int:
    """The most objects that a full collection visits while 500,000 are created. Each collection takes this share of a
    long one.
    """
    command = [sys.executable, "-c", OBJECTS, str(long_part)]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def test_a_long_collection_is_the_last_to_look_at_an_object() -> None:
    assert most_visited(1.0) < 40_000


def test_short_collections_look_at_objects_again() -> None:
    assert most_visited(0.2) > 100_000


@pytest.mark.nightly
@pytest.mark.ci
def test_no_collection_is_long_in_a_large_broker(tmp_path: Path) -> None:
    """15,000 partitions, and a topic with 300,000 committed offsets that is deleted."""
    with WatchedBroker(tmp_path) as broker:
        heavy = Heavy(broker.port)
        for number in range(3):
            heavy.ask(create([f"wide-{number}"], 5_000), 5)
        ROWS["deletion of a topic with 300,000 committed offsets"](broker.port, Scale(1.0))()
        assert broker.stop() == 0
    assert broker.longest_ms() < 50


@pytest.mark.nightly
def test_topics_that_come_and_go_leave_no_memory_behind(tmp_path: Path) -> None:
    """Here every full collection freezes, so a reference cycle in a topic would stay for ever: 30 MB in all."""
    with WatchedBroker(tmp_path, long_ms=0.0) as broker:
        heavy = Heavy(broker.port)

        def rounds(numbers: range) -> int:
            for number in numbers:
                names = [f"topic-{number}-{index}" for index in range(50)]
                heavy.ask(create(names, 4, file_delete_delay_ms="0"), 5)
                heavy.ask(delete(names), 6)
            return resident_bytes(broker.pid)

        broker.wait_until_warm()
        warm = rounds(range(15))
        assert rounds(range(15, 45)) - warm < 12_000_000
