"""Parses, checks and writes the JSON of a reassignment. Pure.

Source: ``ReassignPartitionsCommand.parsePartitionReassignmentData``, ``parseExecuteAssignmentArgs``,
``formatAsReassignmentJson``.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from ...types import TopicPartition
from ..running import CommandError
from ..topic_partitions import field, parse_json, partition_of, repeated

ANY_LOG_DIR = "any"


class Replica(NamedTuple):
    """A partition's replica on a broker. Sorting gives the order of Kafka's tool: by broker, then by partition."""

    broker: int
    partition: TopicPartition

    def __str__(self) -> str:
        return f"{self.partition}-{self.broker}"


class ReassignmentPlan(NamedTuple):
    """The reassignment in a file. ``entries``: partitions with their replicas, in the file's order.

    ``log_dirs``: the log directories of the replicas for which the file names one.
    """

    entries: list[tuple[TopicPartition, list[int]]]
    log_dirs: dict[Replica, str]

    @property
    def partitions(self) -> dict[TopicPartition, list[int]]:
        """The replicas of each partition."""
        return dict(self.entries)


def parse_plan(text: str) -> ReassignmentPlan:
    """Parses the text of a file. Raises CommandError with Kafka's message."""
    document = parse_json(text, "The input string is not a valid JSON")
    version = field(document, "version", int) if "version" in document else 1
    if version != 1:
        raise CommandError(f"Not supported version field value {version}")
    plan = ReassignmentPlan([], {})
    for entry in field(document, "partitions", list) if "partitions" in document else []:
        partition, replicas = partition_of(entry), field(entry, "replicas", list)
        log_dirs = field(entry, "log_dirs", list) if "log_dirs" in entry else [ANY_LOG_DIR] * len(replicas)
        if len(replicas) != len(log_dirs):
            raise CommandError(
                f"Size of replicas list {replicas} is different from size of log dirs list "
                f"[{', '.join(log_dirs)}] for partition {partition}"
            )
        plan.entries.append((partition, replicas))
        for replica, log_dir in zip(replicas, log_dirs, strict=True):
            if log_dir != ANY_LOG_DIR:
                plan.log_dirs[Replica(replica, partition)] = log_dir
    return plan


def check_plan(plan: ReassignmentPlan) -> None:
    """Raises CommandError, with Kafka's message, if the plan cannot be executed."""
    if not plan.entries:
        raise CommandError("Partition reassignment list cannot be empty")
    if not all(replicas for _, replicas in plan.entries):
        raise CommandError("Partition replica list cannot be empty")
    twice = repeated([partition for partition, _ in plan.entries])
    if twice:
        raise CommandError(f"Partition reassignment contains duplicate topic partitions: {','.join(map(str, twice))}")
    wrong = {
        partition: sorted({replica for replica in replicas if replicas.count(replica) > 1})
        for partition, replicas in plan.entries
    }
    texts = [
        f"{partition} contains multiple entries for {','.join(map(str, brokers))}"
        for partition, brokers in wrong.items()
        if brokers
    ]
    if texts:
        raise CommandError(f"Partition replica lists may not contain duplicate entries: {'. '.join(texts)}")


def plan_text(partitions: Mapping[TopicPartition, Sequence[int]], log_dirs: Mapping[Replica, str]) -> str:
    """The JSON of an assignment, as Kafka's tool writes it."""
    entries = [
        {
            "topic": partition.topic,
            "partition": partition.partition,
            "replicas": list(replicas),
            "log_dirs": [log_dirs.get(Replica(broker, partition), ANY_LOG_DIR) for broker in replicas],
        }
        for partition, replicas in sorted(partitions.items())
    ]
    return json.dumps({"version": 1, "partitions": entries}, separators=(",", ":"), ensure_ascii=False)


def listed(values: Iterable[object]) -> str:
    """The values, separated by commas."""
    return ",".join(map(str, values))
