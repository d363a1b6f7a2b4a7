"""``odradek groups --delete`` and ``--delete-offsets``.

Source: ``ConsumerGroupCommand``: deleteGroups and deleteOffsets.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import click

from odradek.protocol.errors import ErrorCode, KafkaError

from ...errors import AdminError
from ...types import TopicPartition
from ..output import print_columns, print_json
from ..running import CommandError
from ..topic_partitions import parse_topic_partitions
from .options import GroupOptions

if TYPE_CHECKING:
    from .admin import GroupsAdmin

WHAT_TO_DO = {
    ErrorCode.NON_EMPTY_GROUP: "stop its members first",
    ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC: "stop its members first, or let them unsubscribe",
    ErrorCode.GROUP_ID_NOT_FOUND: "'odradek groups --list' shows all",
}


async def delete_groups(admin: GroupsAdmin, options: GroupOptions, group_ids: Sequence[str]) -> int | None:
    """``--delete``: deletes the groups and prints the outcome of each. Returns 1 if one failed, otherwise 0."""
    try:
        deleted = list(await admin.delete_groups(group_ids))
        failed: dict[str, KafkaError] = {}
    except AdminError as error:
        deleted, failed = list(error.results), error.errors
    reasons = {group: _reason(error) for group, error in failed.items()}
    print_deleted("consumer", deleted, failed, reasons, as_json=options.as_json)
    return 1 if failed else 0


def print_deleted(
    kind: str, deleted: Sequence[str], failed: Mapping[str, KafkaError], reasons: Mapping[str, str], *, as_json: bool
) -> None:
    """Prints which groups were deleted, and why the others were not. ``kind``: consumer, share or streams."""
    if as_json:
        print_json(deleted_documents(deleted, failed))
    elif not failed:
        click.echo(f"Deletion of requested {kind} groups ({_quoted(deleted)}) was successful.")
    else:
        click.echo(f"\nError: Deletion of some {kind} groups failed:", err=True)
        for group in failed:
            click.echo(f"* Group '{group}' could not be deleted due to: {reasons[group]}", err=True)
        if deleted:
            click.echo(f"\nThese {kind} groups were deleted successfully: {_quoted(deleted)}")


def deleted_documents(deleted: Iterable[str], failed: Mapping[str, KafkaError]) -> list[dict[str, object]]:
    """For each group whether it was deleted, for JSON."""
    documents: list[dict[str, object]] = [{"group": group, "error": None} for group in deleted]
    return documents + [{"group": group, "error": error.error_code.name} for group, error in failed.items()]


def _quoted(groups: Sequence[str]) -> str:
    return ", ".join(f"'{group}'" for group in groups)


def _reason(error: KafkaError) -> str:
    hint = WHAT_TO_DO.get(error.error_code)
    return f"{error.error_code.message}{f' ({hint})' if hint else ''}"


async def delete_offsets(admin: GroupsAdmin, options: GroupOptions, group_ids: Sequence[str]) -> int | None:
    """``--delete-offsets``: deletes committed offsets, and prints the outcome of each. Returns 1 if one failed."""
    exit_code = 0
    documents: list[object] = []
    for group_id in group_ids:
        partitions, statuses = await _wanted(admin, options, group_id)
        code, printed = await delete_and_print_offsets(admin, group_id, partitions, statuses, as_json=options.as_json)
        exit_code = max(exit_code, code)
        documents += printed
    if options.as_json:
        print_json(documents)
    return exit_code


async def delete_and_print_offsets(
    admin: GroupsAdmin,
    group_id: str,
    partitions: list[TopicPartition],
    statuses: dict[TopicPartition, str],
    *,
    as_json: bool,
) -> tuple[int, list[object]]:
    """Deletes offsets of a group, and prints the outcome of each, or returns it for JSON. Returns 1 if one failed.

    ``statuses``: the error texts of topics that do not exist.
    """
    reason = await _delete(admin, group_id, partitions, statuses)
    if any(status != "Successful" for status in statuses.values()):
        reason = reason or "Encountered some partition-level error, see the follow-up details."
    rows = [(p.topic, p.partition if p.partition >= 0 else None, status) for p, status in sorted(statuses.items())]
    exit_code = 1 if reason else 0
    if as_json:
        names = ("topic", "partition", "status")
        return exit_code, [{"group": group_id, **dict(zip(names, row, strict=True))} for row in rows]
    if reason:
        click.echo(f"\nError: {reason}", err=True)
    else:
        click.echo(f"Request succeeded for deleting offsets from group {group_id}.")
    print_columns(("TOPIC", "PARTITION", "STATUS"), rows, (15, 10, 15))
    return exit_code, []


async def _wanted(
    admin: GroupsAdmin, options: GroupOptions, group_id: str
) -> tuple[list[TopicPartition], dict[TopicPartition, str]]:
    """The partitions whose offsets to delete, and the error texts of topics that do not exist."""
    if options.all_topics:
        committed = sorted(await admin.list_group_offsets(group_id))
        if not committed:
            raise CommandError(f"group '{group_id}' has no committed offsets to delete")
        return committed, {}
    return await partitions_to_delete(admin, options.topics)


async def partitions_to_delete(
    admin: GroupsAdmin, topics: Sequence[str]
) -> tuple[list[TopicPartition], dict[TopicPartition, str]]:
    """The partitions of ``TOPIC[:N,...]``, and the error texts of topics that do not exist."""
    numbers_of_topic = parse_topic_partitions(topics)
    whole = [topic for topic, numbers in numbers_of_topic.items() if numbers is None]
    existing = set(await admin.list_topics()) if whole else set()
    described = await admin.describe_topics(existing.intersection(whole)) if whole else {}
    partitions: list[TopicPartition] = []
    statuses: dict[TopicPartition, str] = {}
    for topic, numbers in numbers_of_topic.items():
        if numbers is not None:
            partitions += [TopicPartition(topic, number) for number in numbers]
        elif topic in described:
            partitions += [TopicPartition(topic, number) for number in sorted(described[topic].partitions)]
        else:
            statuses[TopicPartition(topic, -1)] = f"Error: {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION.message}"
    return partitions, statuses


async def _delete(
    admin: GroupsAdmin, group_id: str, partitions: list[TopicPartition], statuses: dict[TopicPartition, str]
) -> str | None:
    """Deletes the offsets and adds each partition's outcome to ``statuses``.

    Returns a text if the whole request was refused, or with hints for refused partitions.
    """
    try:
        deleted, failed = await admin.delete_group_offsets(group_id, partitions), {}
    except AdminError as error:
        deleted, failed = error.results, error.errors
    except KafkaError as error:
        statuses.update(dict.fromkeys(partitions, f"Error: {error.error_code.message}"))
        return _reason(error)
    statuses.update(dict.fromkeys(deleted, "Successful"))
    statuses.update({partition: f"Error: {error.error_code.message}" for partition, error in failed.items()})
    hints = {WHAT_TO_DO[error.error_code] for error in failed.values() if error.error_code in WHAT_TO_DO}
    return f"Some offsets could not be deleted: {', '.join(sorted(hints))}." if hints else None
