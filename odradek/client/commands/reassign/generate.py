"""``--generate``: prints the current assignment of topics, and a proposed one to the given brokers.

Source: ``ReassignPartitionsCommand.generateAssignment``, ``StripedReplicaPlacer``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import TYPE_CHECKING, TypeVar

import click

from odradek.protocol.common.lazy_imports import lazy_imports

from ...types import TopicPartition
from ..running import CommandError
from ..topic_partitions import field, parse_json
from .moves import known_log_dirs
from .plan import Replica, plan_text

with lazy_imports:
    from . import actions

if TYPE_CHECKING:
    from .admin import ReassignAdmin

Item = TypeVar("Item")
Racks = Mapping[str, Sequence[int]]
"""Rack -> the ids of its brokers."""
NO_RACK = ""


def parse_topics(text: str) -> list[str]:
    """Parses the file of topics. Raises CommandError with Kafka's message."""
    document = parse_json(text, "The input string is not a valid JSON")
    version = field(document, "version", int) if "version" in document else 1
    if version != 1:
        raise CommandError(f"Not supported version field value {version}")
    topics = [field(entry, "topic", str) for entry in document.get("topics", [])]
    twice = sorted({topic for topic in topics if topics.count(topic) > 1})
    if twice:
        raise CommandError(f"List of topics to reassign contains duplicate entries: [{', '.join(twice)}]")
    return topics


def parse_brokers(text: str) -> list[int]:
    """Parses ``--broker-list`` to broker ids. Raises CommandError with Kafka's message."""
    ids = []
    for number in text.split(","):
        try:
            ids.append(int(number))
        except ValueError:
            raise CommandError(f'For input string: "{number}"') from None
    twice = sorted({broker for broker in ids if ids.count(broker) > 1})
    if twice:
        raise CommandError(f"Broker list contains duplicate entries: [{', '.join(map(str, twice))}]")
    return ids


async def generate(admin: ReassignAdmin, topics: list[str], brokers: list[int], *, rack_aware: bool) -> None:
    """Prints the current and the proposed assignment. Raises CommandError."""
    current = await actions.current_replicas(admin, topics)
    for topic in topics:
        if topic not in current:
            raise CommandError(f"Topic {topic} not found.")
    alive = {broker.node_id: broker.rack for broker in (await admin.describe_cluster()).brokers}
    assigned = {TopicPartition(topic, n): found for topic, parts in current.items() for n, found in parts.items()}
    known = [Replica(broker, part) for part, found in assigned.items() for broker in found if broker in alive]
    log_dirs = await known_log_dirs(admin, known)
    racks = racks_of({broker: alive[broker] for broker in brokers if broker in alive}, rack_aware=rack_aware)
    proposed: dict[TopicPartition, list[int]] = {}
    for topic, partitions in current.items():
        placed = place(racks, len(partitions), len(partitions[0]), Random())
        proposed.update({TopicPartition(topic, number): found for number, found in enumerate(placed)})
    click.echo(f"Current partition replica assignment\n{plan_text(assigned, log_dirs)}\n")
    click.echo(f"Proposed partition reassignment configuration\n{plan_text(proposed, {})}")


def racks_of(brokers: Mapping[int, str | None], *, rack_aware: bool) -> dict[str, list[int]]:
    """Groups the brokers by rack; without ``rack_aware`` into one. Raises CommandError if only some have a rack."""
    racks: dict[str, list[int]] = {}
    for broker, rack in sorted(brokers.items()):
        racks.setdefault((rack or NO_RACK) if rack_aware else NO_RACK, []).append(broker)
    if NO_RACK in racks and len(racks) > 1:
        raise CommandError(
            "Not all brokers have rack information. Add --disable-rack-aware in command line to make replica "
            "assignment without rack information."
        )
    return racks


def place(racks: Racks, partitions: int, replication_factor: int, chance: Random) -> list[list[int]]:
    """Chooses the replicas of each partition.

    Leaders and followers are spread evenly over the brokers. The replicas of a partition are in different racks if
    there are enough racks.

    Raises CommandError if there are too few brokers.
    """
    count = sum(map(len, racks.values()))
    if not count:
        raise CommandError("All brokers are currently fenced, or have all their log directories cordoned.")
    if replication_factor > count:
        raise CommandError(
            f"The target replication factor of {replication_factor} cannot be reached because only {count} broker(s) "
            "are registered or some brokers have all their log directories cordoned."
        )
    in_racks = [_turned(list(brokers), chance.randrange(len(brokers))) for brokers in racks.values()]
    in_racks = _turned(in_racks, chance.randrange(len(in_racks)))
    placed = []
    for number in range(partitions):
        if number and number % count == 0:
            for brokers in in_racks:
                chance.shuffle(brokers)
            chance.shuffle(in_racks)
        first = number % len(in_racks)
        turns = [_turned(brokers, number // len(in_racks)) for brokers in _turned(in_racks, first)]
        placed.append([broker for broker, _ in zip(_striped(turns), range(replication_factor), strict=False)])
    return placed


def _turned(values: list[Item], by: int) -> list[Item]:
    start = by % len(values)
    return values[start:] + values[:start]


def _striped(racks: Sequence[Sequence[int]]) -> Iterator[int]:
    """Yields the first broker of each rack, then the second of each, and so on."""
    for turn in range(max(map(len, racks))):
        yield from (brokers[turn] for brokers in racks if turn < len(brokers))
