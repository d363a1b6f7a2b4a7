"""``odradek streams-groups --delete`` and ``--delete-offsets``.

Source: ``StreamsGroupCommand``: deleteGroups and deleteOffsets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from odradek.protocol.errors import ErrorCode, KafkaError

from ...errors import AdminError, broker_error
from ..groups.delete import delete_and_print_offsets, deleted_documents, partitions_to_delete, print_deleted
from ..groups.list_of_type import groups_of_type
from ..groups.selection import described_groups
from ..output import print_json
from ..running import CommandError
from .internal_topics import delete_internal_topics, internal_topics_of, print_failures
from .options import TYPE, StreamsGroupOptions
from .selection import offsets_in

if TYPE_CHECKING:
    from ...types import TopicPartition
    from .admin import StreamsGroupsAdmin

EMPTY = "Empty"


async def delete_streams_groups(admin: StreamsGroupsAdmin, options: StreamsGroupOptions) -> int | None:
    """``--delete``: deletes the groups, and with ``--delete-all-internal-topics`` their internal topics afterwards.

    Prints the outcome of each group. Returns 1 if one failed, otherwise 0. A group of another type is not deleted, nor
    is one with members.
    """
    states = {group.group_id: group.state for group in await groups_of_type(admin, TYPE)}
    named = list(states) if options.all_groups else list(dict.fromkeys(options.groups))
    failed: dict[str, KafkaError] = {}
    reasons: dict[str, str] = {}
    for group_id in named:
        if group_id not in states:
            failed[group_id] = broker_error(ErrorCode.GROUP_ID_NOT_FOUND, f"group '{group_id}'")
            reasons[group_id] = (
                f"Group '{group_id}' does not exist or is not a streams group "
                "('odradek streams-groups --list' shows all)"
            )
        elif states[group_id] != EMPTY:
            failed[group_id] = broker_error(ErrorCode.NON_EMPTY_GROUP, f"group '{group_id}'")
            reasons[group_id] = f"Streams group '{group_id}' is not EMPTY (stop its members first)"
    wanted = [group_id for group_id in named if group_id not in failed]
    topics: dict[str, list[str]] = {}
    if options.all_internal_topics and wanted:  # a deleted group can't be described
        found = await described_groups(admin.describe_streams_groups, wanted)
        topics = {group_id: internal_topics_of(group) for group_id, group in found.items()}
    try:
        deleted = list(await admin.delete_groups(wanted))
    except AdminError as error:
        deleted = list(error.results)
        failed |= error.errors
        reasons |= {group_id: failure.error_code.message for group_id, failure in error.errors.items()}
    doomed = {group_id: topics[group_id] for group_id in deleted if topics.get(group_id)}
    failures = {group_id: await delete_internal_topics(admin, names) for group_id, names in doomed.items()}
    if options.as_json:
        gone = {group_id: [name for name in doomed[group_id] if name not in failures[group_id]] for group_id in doomed}
        documents = deleted_documents(deleted, failed)
        print_json([{**one, "deletedInternalTopics": gone.get(str(one["group"]), [])} for one in documents])
    else:
        print_deleted("streams", deleted, failed, reasons, as_json=False)
    _print_topics(doomed, failures, as_json=options.as_json)
    return 1 if failed or any(failures.values()) else 0


def _print_topics(doomed: dict[str, list[str]], failures: dict[str, dict[str, str]], *, as_json: bool) -> None:
    if any(failures.values()):
        click.echo("Deletion of some associated internal topics failed:", err=True)
        for group_id, of_group in failures.items():
            print_failures(group_id, of_group)
    elif doomed and not as_json:
        groups = ", ".join(f"'{group_id}'" for group_id in doomed)
        click.echo(f"Deletion of associated internal topics of the streams groups ({groups}) was successful.")


async def delete_streams_offsets(admin: StreamsGroupsAdmin, options: StreamsGroupOptions) -> int | None:
    """``--delete-offsets``: deletes committed offsets, and prints the outcome of each. Returns 1 if one failed."""
    (group_id,) = options.groups
    group = (await described_groups(admin.describe_streams_groups, [group_id])).get(group_id)
    if group is None:
        raise CommandError(f"Streams group '{group_id}' does not exist; 'odradek streams-groups --list' shows all")
    statuses: dict[TopicPartition, str] = {}
    if options.all_topics:
        partitions = list(await offsets_in(admin, group_id, group.input_topics))
        if not partitions:
            raise CommandError(f"streams group '{group_id}' has no committed offsets of its input topics to delete")
    else:
        partitions, statuses = await partitions_to_delete(admin, options.topics)
    exit_code, documents = await delete_and_print_offsets(
        admin, group_id, partitions, statuses, as_json=options.as_json
    )
    if options.as_json:
        print_json(documents)
    return exit_code
