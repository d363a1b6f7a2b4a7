"""``odradek groups --reset-offsets``: computes the new committed offsets, and sets them with ``--execute``.

Owns: the new offset of each partition, for all targets of Kafka's tool. An offset outside the log becomes the log's
start or end; a time after the last record becomes the log end.
Source: ``ConsumerGroupCommand.prepareOffsetsToReset``, ``OffsetsUtils``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import click

from odradek.protocol.common.lazy_imports import lazy_imports

from ...types import OffsetAndMetadata, TopicPartition
from ..output import print_columns, print_json
from ..progress import Progress
from ..running import CommandError
from ..topic_partitions import parse_topic_partitions, the_partitions
from .csv import csv_text
from .options import GroupOptions
from .reset_target import ResetTo
from .selection import existing_groups

with lazy_imports:
    from ...cluster import list_offsets

if TYPE_CHECKING:
    from ...admin.group_descriptions import GroupDescription
    from .admin import GroupsAdmin

EMPTY = "Empty"


async def reset(admin: GroupsAdmin, options: GroupOptions, group_ids: Sequence[str], to: ResetTo) -> int | None:
    """``--reset-offsets``: shows the new offsets, and sets them with ``--execute``."""
    if not options.reset.execute and not options.reset.dry_run:
        click.echo(
            "WARN: Nothing is changed: add --execute to set the offsets, or --dry-run to only show them.", err=True
        )
    exit_code = 0
    outcome: dict[str, dict[TopicPartition, int]] = {}
    existing = await existing_groups(admin, group_ids)  # a missing group is not an error: the commit creates it
    with Progress("groups", len(group_ids)) as progress:
        for done, group_id in enumerate(group_ids):
            progress.at(done)
            reason = why_not(options, group_id, existing.get(group_id), to)
            if reason is not None:
                progress.clear()
                click.echo(f"\nError: {reason}", err=True)
                exit_code = 1
                continue
            commits = await admin.list_group_offsets(group_id)
            committed = {partition: commit.offset for partition, commit in commits.items()}
            outcome[group_id] = await new_offsets(admin, options.scope, group_id, to, committed)
            if options.reset.execute:
                offsets = {partition: OffsetAndMetadata(offset) for partition, offset in outcome[group_id].items()}
                await admin.alter_group_offsets(group_id, offsets)
    print_new_offsets(
        outcome,
        as_json=options.as_json,
        export=options.reset.export,
        executed=options.reset.execute,
        with_group=len(options.groups) != 1,
    )
    return exit_code


def why_not(options: GroupOptions, group_id: str, group: GroupDescription | None, to: ResetTo) -> str | None:
    """The reason why a group's offsets cannot be reset; None if they can. A missing group can be reset."""
    if group is not None and group.state != EMPTY:
        return (
            f"Assignments can only be reset if the group '{group_id}' is inactive, but the current state is "
            f"{group.state}. Stop its members first."
        )
    if to.kind == "from-file" and group_id not in to.plan:
        return f"No reset plan for group {group_id} found in {options.reset.from_file}"
    return None


def print_new_offsets(
    outcome: Mapping[str, Mapping[TopicPartition, int]],
    *,
    as_json: bool,
    export: bool,
    executed: bool,
    with_group: bool,
) -> None:
    """Prints a table, JSON, or CSV (``export``), whose lines begin with the group if ``with_group``."""
    rows = [
        (group_id, partition.topic, partition.partition, offset)
        for group_id, offsets in sorted(outcome.items())
        for partition, offset in sorted(offsets.items())
    ]
    if as_json:
        names = ("group", "topic", "partition", "newOffset")
        print_json({"executed": executed, "offsets": [dict(zip(names, row, strict=True)) for row in rows]})
    elif export:
        click.echo(csv_text(outcome, with_group=with_group), nl=False)
    else:
        print_columns(("GROUP", "TOPIC", "PARTITION", "NEW-OFFSET"), rows, (15, 15, 10, 0))


async def new_offsets(
    admin: GroupsAdmin,
    scope: Sequence[str] | None,
    group_id: str,
    to: ResetTo,
    committed: Mapping[TopicPartition, int],
) -> dict[TopicPartition, int]:
    """The new offset of each partition of a group. Raises CommandError, KafkaError.

    ``scope``: topics as in ``--topic``, None for all partitions that have an offset. ``committed``: the offsets now.
    """
    partitions = await _partitions(admin, scope, group_id, to, committed)
    await _check_partitions(admin, partitions)
    starts = await _offsets(admin, partitions, list_offsets.EARLIEST_TIMESTAMP)
    ends = await _offsets(admin, partitions, list_offsets.LATEST_TIMESTAMP)
    if to.kind == "to-earliest":
        return starts
    if to.kind == "to-latest":
        return ends
    if to.kind == "to-current":
        return {partition: committed.get(partition, ends[partition]) for partition in partitions}
    if to.kind == "to-time":
        found = await _offsets(admin, partitions, to.value)
        for partition in [partition for partition, offset in found.items() if offset < 0]:
            click.echo(
                f"Warn: {partition} has no record at or after that time. Falling back to the latest offset.", err=True
            )
            found[partition] = ends[partition]
        return found
    if to.kind == "shift-by":
        missing = [str(partition) for partition in partitions if partition not in committed]
        if missing:
            raise CommandError(
                f"Cannot shift offset for partition {missing[0]} since there is no current committed offset; name only "
                "partitions that have one with --topic TOPIC:0,1, or use --all-topics"
            )
        asked = {partition: committed[partition] + to.value for partition in partitions}
    elif to.kind == "from-file":
        asked = {partition: to.plan[group_id][partition] for partition in partitions}
    else:
        asked = dict.fromkeys(partitions, to.value)
    return {partition: _within(partition, asked[partition], starts, ends) for partition in partitions}


def _within(
    partition: TopicPartition,
    offset: int,
    starts: Mapping[TopicPartition, int],
    ends: Mapping[TopicPartition, int],
) -> int:
    """The offset, limited to the log. If it is outside the log, prints a warning on standard error."""
    bounded = min(max(offset, starts[partition]), ends[partition])
    if bounded != offset:
        which = "higher than latest" if bounded < offset else "lower than earliest"
        click.echo(
            f"WARN New offset ({offset}) is {which} offset for topic partition {partition}. "
            f"Value will be set to {bounded}",
            err=True,
        )
    return bounded


async def _partitions(
    admin: GroupsAdmin,
    scope: Sequence[str] | None,
    group_id: str,
    to: ResetTo,
    committed: Mapping[TopicPartition, int],
) -> list[TopicPartition]:
    if to.kind == "from-file":
        return sorted(to.plan[group_id])
    if scope is not None:
        return await the_partitions(admin, parse_topic_partitions(scope))
    if not committed:
        raise CommandError(f"group '{group_id}' has no committed offsets; name topics with --topic")
    return sorted(committed)


async def _check_partitions(admin: GroupsAdmin, partitions: Sequence[TopicPartition]) -> None:
    """Raises CommandError if partitions do not exist or have no leader; the message names all of them."""
    existing = set(await admin.list_topics())
    described = await admin.describe_topics({p.topic for p in partitions} & existing)
    known = {
        TopicPartition(topic, number): partition.leader
        for topic, description in described.items()
        for number, partition in description.partitions.items()
    }
    missing = [str(partition) for partition in partitions if partition not in known]
    if missing:
        raise CommandError(f'The partitions "{",".join(missing)}" do not exist')
    silent = [str(partition) for partition in partitions if known[partition] < 0]
    if silent:
        raise CommandError(f'The partitions "{",".join(silent)}" have no leader; start their brokers')


async def _offsets(admin: GroupsAdmin, partitions: list[TopicPartition], timestamp: int) -> dict[TopicPartition, int]:
    found = await admin.list_offsets(dict.fromkeys(partitions, timestamp))
    return {partition: offset.offset for partition, offset in found.items()}
