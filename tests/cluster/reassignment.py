"""Moves a partition with Kafka's own tool."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from support.eventually import eventually
from support.kafka.java import run_class

COMMAND = "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"


def reassign(bootstrap_servers: str, topic: str, replicas: list[int], place: Path) -> None:
    """Moves partition 0 of a topic to these replicas, and waits for the end. ``place``: a directory for the plan."""
    reassign_all(bootstrap_servers, {(topic, 0): replicas}, place)


def reassign_all(bootstrap_servers: str, wanted: Mapping[tuple[str, int], Sequence[int]], place: Path) -> None:
    """Moves each of these partitions to its replicas, and waits for the end. ``place``: a directory for the plan."""
    plan = place / f"reassignment-{len(list(place.glob('reassignment-*.json')))}.json"
    partitions = [
        {"topic": topic, "partition": index, "replicas": list(replicas)} for (topic, index), replicas in wanted.items()
    ]
    plan.write_text(json.dumps({"version": 1, "partitions": partitions}))
    arguments = ("--bootstrap-server", bootstrap_servers, "--reassignment-json-file", str(plan))
    started = run_class(COMMAND, *arguments, "--execute", timeout_s=120)
    assert started.returncode == 0, started.stdout + started.stderr

    def is_complete() -> bool:
        output = run_class(COMMAND, *arguments, "--verify", timeout_s=120).stdout
        done = (f"Reassignment of partition {topic}-{index} is completed." for topic, index in wanted)
        return all(line in output for line in done)

    eventually("the end of the reassignment", is_complete)
