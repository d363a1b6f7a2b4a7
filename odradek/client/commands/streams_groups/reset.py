"""``odradek streams-groups --reset-offsets``: computes the new committed offsets, and sets them with ``--execute``.

Owns: which groups and partitions can be reset, and deleting internal topics afterwards. The new offsets are computed as
those of ``odradek groups``. Source: ``StreamsGroupCommand.resetOffsets``, ``GroupOffsetsResetter``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ...types import OffsetAndMetadata, TopicPartition
from ..groups.reset import new_offsets, print_new_offsets
from ..groups.selection import described_groups
from ..progress import Progress
from ..running import CommandError
from ..topic_partitions import parse_topic_partitions, the_partitions
from .internal_topics import delete_internal_topics, internal_topics_of, print_failures
from .selection import selected_groups

if TYPE_CHECKING:
    from ...admin.streams_group_descriptions import StreamsGroupDescription
    from ..groups.reset_target import ResetTo
    from .admin import StreamsGroupsAdmin
    from .options import StreamsGroupOptions

INACTIVE = ("Empty", "Dead")
Offsets = dict[TopicPartition, int]


class CannotBeResetError(Exception):
    """A group cannot be reset; the message says why. The other groups can."""


async def reset_streams_groups(admin: StreamsGroupsAdmin, options: StreamsGroupOptions, to: ResetTo) -> int | None:
    """``--reset-offsets``: shows the new offsets; with ``--execute`` sets them, and deletes internal topics.

    Returns 1 if a group could not be reset. Raises CommandError, KafkaError.
    """
    group_ids = await selected_groups(admin, options)
    groups = await described_groups(admin.describe_streams_groups, group_ids)
    topics = internal_topics_to_delete(list(groups.values()), options)  # checked before anything changes
    exit_code = 0
    outcome: dict[str, Offsets] = {}
    with Progress("groups", len(group_ids)) as progress:
        for done, group_id in enumerate(group_ids):
            progress.at(done)
            try:
                outcome[group_id] = await _reset(admin, options, to, group_id, groups.get(group_id))
            except CannotBeResetError as error:
                progress.clear()
                click.echo(f"\nError: {error}", err=True)
                exit_code = 1
                continue
            failures = await delete_internal_topics(admin, topics[group_id]) if options.reset.execute else {}
            if failures:
                progress.clear()
                print_failures(group_id, failures)
                exit_code = 1
    print_new_offsets(
        outcome,
        as_json=options.as_json,
        export=options.reset.export,
        executed=options.reset.execute,
        with_group=len(options.groups) != 1,
    )
    return exit_code


def internal_topics_to_delete(
    groups: list[StreamsGroupDescription], options: StreamsGroupOptions
) -> dict[str, list[str]]:
    """Group -> the internal topics to delete: the named ones or all of them.

    Raises CommandError if a named topic is not an internal topic of one of the groups.
    """
    if not (options.all_internal_topics or options.internal_topics):
        return {group.group_id: [] for group in groups}
    topics = {group.group_id: internal_topics_of(group) for group in groups}
    if options.all_internal_topics:
        return topics
    unknown = set(options.internal_topics) - {name for names in topics.values() for name in names}
    if unknown:
        raise CommandError(f"{', '.join(sorted(unknown))}: not an internal topic of the group; nothing was changed")
    return {group_id: [name for name in names if name in options.internal_topics] for group_id, names in topics.items()}


async def _reset(
    admin: StreamsGroupsAdmin,
    options: StreamsGroupOptions,
    to: ResetTo,
    group_id: str,
    group: StreamsGroupDescription | None,
) -> Offsets:
    """The new offsets of a group, which ``--execute`` sets. Raises CannotBeResetError, CommandError, KafkaError."""
    if group is None:
        raise CannotBeResetError(f"Streams group '{group_id}' does not exist.")
    if group.state not in INACTIVE:
        raise CannotBeResetError(
            f"Assignments can only be reset if the group '{group_id}' is inactive, but the current state is "
            f"{group.state}. Stop its members first."
        )
    if to.kind == "from-file" and group_id not in to.plan:
        raise CannotBeResetError(f"No reset plan for group {group_id} found in {options.reset.from_file}")
    committed = {partition: at.offset for partition, at in (await admin.list_group_offsets(group_id)).items()}
    scope = None if to.kind == "from-file" else await _scope(admin, options, group, committed)
    offsets = await new_offsets(admin, scope, group_id, to, committed)
    if options.reset.execute:
        commits = {partition: OffsetAndMetadata(offset) for partition, offset in offsets.items()}
        await admin.alter_group_offsets(group_id, commits)
    return offsets


async def _scope(
    admin: StreamsGroupsAdmin, options: StreamsGroupOptions, group: StreamsGroupDescription, committed: Offsets
) -> list[str]:
    """The partitions to reset, as arguments. Raises CannotBeResetError."""
    if options.all_topics:
        partitions = sorted(partition for partition in committed if partition.topic in group.input_topics)
        if not partitions:
            raise CannotBeResetError(f"The group '{group.group_id}' has no committed offsets of its input topics.")
    else:
        partitions = await the_partitions(admin, parse_topic_partitions(options.topics))
    missing = [str(partition) for partition in partitions if partition not in committed]
    if missing:
        raise CannotBeResetError(
            f"One or more topics are not part of the group '{group.group_id}': it has no committed offset for "
            f"{', '.join(missing)}."
        )
    return [f"{partition.topic}:{partition.partition}" for partition in partitions]
