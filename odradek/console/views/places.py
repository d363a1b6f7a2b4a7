"""Where a look at a topic starts and where the next one goes on.

Owns: the partitions of a look, their bounds, and the cursor that a page hands back. A cursor is the text
``partition:offset,partition:offset``.
"""

import asyncio
from collections.abc import Collection, Sequence
from typing import NamedTuple

from odradek.client.admin import Admin
from odradek.client.cluster.cluster import Cluster
from odradek.client.cluster.list_offsets import EARLIEST_TIMESTAMP, LATEST_TIMESTAMP
from odradek.client.types import TopicPartition

from ..arguments import BadArgument, ViewArguments
from .reading import Bounds, Looked, LookReader

MOST_PARTITIONS = 200
"""The partitions of one look. A larger topic is looked at in its first partitions that have records."""
MOST_TAILED = 10_000
"""The partitions of a tail: one Fetch asks for all that a broker leads."""


class LookPlace(NamedTuple):
    """The readers of a look, and the number of partitions that it leaves out."""

    readers: list[LookReader]
    partitions: int
    """The partitions of the topic, or those that were asked for."""
    left_out: int


async def bounds_of(admin: Admin, topic: str, numbers: Collection[int]) -> dict[int, Bounds]:
    """Start, end and last stable offset of partitions. Raises KafkaError."""
    partitions = [TopicPartition(topic, number) for number in numbers]
    starts, ends, stable = await asyncio.gather(
        admin.list_offsets(dict.fromkeys(partitions, EARLIEST_TIMESTAMP)),
        admin.list_offsets(dict.fromkeys(partitions, LATEST_TIMESTAMP)),
        admin.list_offsets(dict.fromkeys(partitions, LATEST_TIMESTAMP), isolation_level="read_committed"),
    )
    return {p.partition: Bounds(starts[p].offset, ends[p].offset, stable[p].offset) for p in partitions}


async def offsets_in(admin: Admin, partitions: Collection[TopicPartition]) -> int:
    """The number of offsets from start to end in all of these partitions. Raises KafkaError."""
    starts, ends = await asyncio.gather(
        admin.list_offsets(dict.fromkeys(partitions, EARLIEST_TIMESTAMP)),
        admin.list_offsets(dict.fromkeys(partitions, LATEST_TIMESTAMP)),
    )
    return sum(at.offset for at in ends.values()) - sum(at.offset for at in starts.values())


def partition_in(arguments: ViewArguments) -> TopicPartition:
    """The partition that ``topic`` and ``partition`` name. Raises BadArgument."""
    return TopicPartition(arguments.text("topic"), arguments.number("partition", None, 0, 2**31 - 1))


async def place_of(
    admin: Admin,
    cluster: Cluster,
    topic: str,
    asked: Sequence[int],
    looked: Looked,
    *,
    start: str,
    cursor: str,
    is_backward: bool,
    keeps_empty: bool = False,
) -> LookPlace:
    """The readers of a look. ``start``: earliest, latest, ``offset:N`` or ``time:MS``; a cursor overrules it.

    ``keeps_empty``: for a tail: partitions without records, too. Raises BadArgument, KafkaError.
    """
    described = await cluster.topic(topic, timeout_ms=0)
    numbers = sorted(described.available)
    positions = _parsed_cursor(cursor)
    wanted = list(positions) if cursor else list(asked) or numbers
    unknown = [number for number in wanted if number not in described.partitions]
    if unknown:
        raise BadArgument("partitions", f"{topic} has no partition {unknown[0]}")
    bounds = await bounds_of(admin, topic, wanted)
    if not cursor:
        positions = await _positions(admin, topic, bounds, start, is_backward)
    filled = [number for number in wanted if keeps_empty or bounds[number].end > bounds[number].start]
    chosen = filled[: MOST_TAILED if keeps_empty else MOST_PARTITIONS]
    readers = [
        LookReader(cluster, TopicPartition(topic, number), bounds[number], positions[number], looked)
        for number in chosen
    ]
    return LookPlace(readers, len(wanted), len(filled) - len(chosen))


def cursor_of(readers: Sequence[LookReader]) -> str:
    """The place where the readers are."""
    return ",".join(f"{reader.partition.partition}:{reader.position}" for reader in readers)


async def _positions(
    admin: Admin, topic: str, bounds: dict[int, Bounds], start: str, is_backward: bool
) -> dict[int, int]:
    """Partition -> the first offset of a forward look, the offset after the first one of a backward look."""
    kind, _, number = start.partition(":")
    if kind == "earliest":
        return {partition: bound.start for partition, bound in bounds.items()}
    if kind == "latest":
        return {partition: bound.end for partition, bound in bounds.items()}
    if kind not in ("offset", "time") or not number.isdigit() or len(number) > 18:
        raise BadArgument("start", "is earliest, latest, offset:NUMBER or time:MILLISECONDS")
    if kind == "offset":
        return dict.fromkeys(bounds, int(number) + is_backward)
    times = {TopicPartition(topic, partition): int(number) for partition in bounds}
    found = await admin.list_offsets(times)
    return {p.partition: at.offset if at.offset >= 0 else bounds[p.partition].end for p, at in found.items()}


def _parsed_cursor(cursor: str) -> dict[int, int]:
    """Raises BadArgument."""
    positions: dict[int, int] = {}
    for part in cursor.split(",") if cursor else ():
        partition, _, offset = part.partition(":")
        if not (partition.isdigit() and offset.isdigit() and len(partition) < 11 and len(offset) < 20):
            raise BadArgument("cursor", "is not one that this console made")
        positions[int(partition)] = int(offset)
    if len(positions) > MOST_PARTITIONS:
        raise BadArgument("cursor", f"has more than {MOST_PARTITIONS} partitions")
    return positions
