"""Sets and removes the throttles of a reassignment.

Source: ``ReassignPartitionsCommand.modifyReassignmentThrottle``, ``clearAllThrottles``; KIP-73.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

import click

from ...types import TopicPartition
from .plan import ReassignmentPlan, listed

if TYPE_CHECKING:
    from ...admin.reassignments import PartitionReassignment
    from .admin import ReassignAdmin

LEADER_RATE, FOLLOWER_RATE = "leader.replication.throttled.rate", "follower.replication.throttled.rate"
LOG_DIR_RATE = "replica.alter.log.dirs.io.max.bytes.per.second"
LEADER_REPLICAS, FOLLOWER_REPLICAS = "leader.replication.throttled.replicas", "follower.replication.throttled.replicas"

Moves = dict[TopicPartition, tuple[set[int], set[int]]]
"""Partition -> (ids of the brokers that it is copied from, ids of the brokers that it is copied to)."""


def proposed_moves(
    under_way: Mapping[TopicPartition, PartitionReassignment],
    proposed: Mapping[TopicPartition, Sequence[int]],
    current: Mapping[TopicPartition, Sequence[int]],
) -> Moves:
    """The moves in progress and those of the plan. A partition with a move in progress keeps its source brokers."""
    moves: Moves = {
        partition: (set(reassignment.replicas) - set(reassignment.adding_replicas), set(reassignment.adding_replicas))
        for partition, reassignment in under_way.items()
    }
    for partition, replicas in proposed.items():
        sources = moves[partition][0] if partition in moves else set(current[partition])
        moves[partition] = (sources, set(replicas) - sources)
    return moves


async def throttle_moves(admin: ReassignAdmin, moves: Moves, rate: int) -> None:
    """Limits the replication traffic of the moves to ``rate`` bytes per second on each broker."""
    for topic in sorted({partition.topic for partition in moves}):
        of_topic = {partition.partition: move for partition, move in moves.items() if partition.topic == topic}
        leaders = sorted(f"{number}:{broker}" for number, (sources, _) in of_topic.items() for broker in sources)
        followers = sorted(f"{number}:{broker}" for number, (_, targets) in of_topic.items() for broker in targets)
        replicas = {LEADER_REPLICAS: listed(leaders), FOLLOWER_REPLICAS: listed(followers)}
        await admin.incremental_alter_configs("topic", topic, set_configs=replicas)
    rates = {LEADER_RATE: str(rate), FOLLOWER_RATE: str(rate)}
    for broker in sorted({broker for move in moves.values() for brokers in move for broker in brokers}):
        await admin.incremental_alter_configs("broker", str(broker), set_configs=rates)
    click.echo(f"The inter-broker throttle limit was set to {rate} B/s")


async def throttle_log_dir_moves(admin: ReassignAdmin, brokers: Collection[int], rate: int) -> None:
    """Limits the moves between the log directories of each broker to ``rate`` bytes per second."""
    for broker in sorted(brokers):
        await admin.incremental_alter_configs("broker", str(broker), set_configs={LOG_DIR_RATE: str(rate)})
    click.echo(f"The replica-alter-dir throttle limit was set to {rate} B/s")


async def clear_throttles(admin: ReassignAdmin, plan: ReassignmentPlan) -> None:
    """Removes the throttles of all brokers and of the plan's topics. All brokers, because the plan does not name the
    source brokers of its moves."""
    brokers = {broker.node_id for broker in (await admin.describe_cluster()).brokers}
    brokers.update(broker for _, replicas in plan.entries for broker in replicas)
    click.echo(f"Clearing broker-level throttles on broker{'s' if len(brokers) != 1 else ''} {listed(sorted(brokers))}")
    for broker in sorted(brokers):
        rates = (LEADER_RATE, FOLLOWER_RATE, LOG_DIR_RATE)
        await admin.incremental_alter_configs("broker", str(broker), delete_configs=rates)
    topics = sorted({partition.topic for partition, _ in plan.entries})
    click.echo(f"Clearing topic-level throttles on topic{'s' if len(topics) != 1 else ''} {listed(topics)}")
    for topic in topics:
        await admin.incremental_alter_configs("topic", topic, delete_configs=(LEADER_REPLICAS, FOLLOWER_REPLICAS))
