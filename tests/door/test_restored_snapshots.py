"""A snapshot of a running Odradek (`odradek storage snapshot`), restored: Kafka and Odradek serve what it served then.

Every record, offset, offset by time, config, id and committed offset is compared, of two log directories.
"""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from door.living_group import LONG_SESSIONS
from door.snapshot import differences, take_snapshot
from door.transactions import fill_with_transactions
from door.two_brokers import Door, Way
from door.workload import CONFIGS, fill, fill_more
from odradek.protocol.common.wall_clock import clock_ms

pytestmark = pytest.mark.java


def odradek(*words: object) -> str:
    """Runs `odradek storage …`, and returns its output."""
    command = [sys.executable, "-m", "odradek", "storage", *map(str, words)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def put_back(door: Door, snapshot: Path) -> None:
    """Replaces the directories by those of the snapshot."""
    for path in door.ours.log_dirs:
        shutil.rmtree(path)
    odradek("restore", snapshot, *door.ours.log_dirs)


def test_kafka_and_odradek_serve_a_restored_snapshot(tmp_path: Path) -> None:
    door = Door(tmp_path, Way("kill", "stop", False, 2), CONFIGS | LONG_SESSIONS, ours={}, theirs={})
    try:
        door.start_ours()
        servers = door.servers
        fill(servers, seed=1, now_ms=clock_ms())
        fill_with_transactions(servers)
        before = take_snapshot(servers)
        printed = odradek("snapshot", door.ours.log_dirs[1], "--to", tmp_path / "snapshots")
        snapshot = Path(printed.partition(": ")[0])
        fill_more(servers, seed=2, now_ms=clock_ms())
        assert differences(before, take_snapshot(servers))
        door.ours.kill()

        put_back(door, snapshot)
        door.start_kafka()
        found = differences(before, take_snapshot(servers))
        assert not found, found
        door.kafka.kill()

        put_back(door, snapshot)
        door.start_ours()
        found = differences(before, take_snapshot(servers))
        assert not found, found
        door.end_ours()
    finally:
        door.end()
