"""Commands in the seconds between the death of a broker and its fencing: the others are asked."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from odradek.client.admin import Admin
from support.brokers.our_cluster import OurCluster

pytestmark = pytest.mark.ci

SESSION = {"broker.session.timeout.ms": "600000"}
"""Longer than the test: the dead broker stays in the metadata."""
CLIENTS = 12
"""Each client learns another broker as the controller, by chance; one of three is dead."""


def execute(servers: str, plan: Path) -> "subprocess.CompletedProcess[str]":
    """Runs ``odradek reassign-partitions --execute``."""
    arguments = ("--bootstrap-server", servers, "--reassignment-json-file", str(plan), "--execute")
    command = [sys.executable, "-m", "odradek", "reassign-partitions", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


async def test_reassignments_start_although_a_dead_broker_is_still_in_the_metadata(tmp_path: Path) -> None:
    plan = tmp_path / "plan.json"
    wanted = {"topic": "t", "partition": 0, "replicas": [2, 3]}
    plan.write_text(json.dumps({"version": 1, "partitions": [wanted]}))
    with OurCluster(tmp_path, 3, controller_configs=SESSION) as cluster:
        cluster.create("t", [[2, 1]])
        cluster.until_in_sync("t", {1, 2})
        alive = f"{cluster[2].bootstrap_servers},{cluster[3].bootstrap_servers}"
        cluster[1].kill()
        for _ in range(CLIENTS):
            async with Admin(alive) as admin:
                assert await admin.list_partition_reassignments() == {}
        executed = execute(alive, plan)
        assert executed.returncode == 0, executed.stderr
        assert "Successfully started partition reassignment for t-0" in executed.stdout
        cluster.until_in_sync("t", {2, 3})
