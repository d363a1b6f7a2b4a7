"""Moves a partition with Kafka's own tool."""

import json
from pathlib import Path

from support.eventually import eventually
from support.kafka.java import run_class

COMMAND = "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"


def reassign(bootstrap_servers: str, topic: str, replicas: list[int], place: Path) -> None:
    """Gives partition 0 of a topic these replicas, and waits for the end. ``place``: a directory for the plan."""
    plan = place / f"{topic}-{'-'.join(map(str, replicas))}.json"
    wanted = {"topic": topic, "partition": 0, "replicas": replicas}
    plan.write_text(json.dumps({"version": 1, "partitions": [wanted]}))
    arguments = ("--bootstrap-server", bootstrap_servers, "--reassignment-json-file", str(plan))
    started = run_class(COMMAND, *arguments, "--execute", timeout_s=120)
    assert started.returncode == 0, started.stdout + started.stderr

    def is_complete() -> bool:
        output = run_class(COMMAND, *arguments, "--verify", timeout_s=120).stdout
        return f"Reassignment of partition {topic}-0 is completed." in output

    eventually("the end of the reassignment", is_complete)
