"""``odradek transactions find-hanging``: finds open transactions on partitions that no coordinator will end (KIP-664).

Owns: the definition of a hanging transaction. Source: ``TransactionsCommand.FindHangingTransactionsCommand``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import click

from odradek.protocol.common.wall_clock import clock_ms
from odradek.protocol.errors import ErrorCode

from ...errors import AdminError
from ...types import TopicPartition
from ..output import print_json, print_tabbed
from ..progress import Progress
from ..running import CommandError
from .show import check_partition, producer_document

if TYPE_CHECKING:
    from ...admin.transactions import ProducerState, TransactionDescription
    from .admin import TransactionsAdmin

PARTITIONS_AT_A_TIME = 500


class Scope(NamedTuple):
    """The partitions to search. ``older_than_ms``: the minimum age of a transaction's last record."""

    broker_id: int | None
    topic: str | None
    partition: int | None
    older_than_ms: int


class UnendedTransaction(NamedTuple):
    """A transaction that has no end marker on a partition yet."""

    partition: TopicPartition
    producer: ProducerState


async def print_hanging(admin: TransactionsAdmin, scope: Scope, *, as_json: bool) -> None:
    """``find-hanging``. If it finds hanging transactions, prints on standard error how to abort them."""
    now_ms = clock_ms()
    found = await find(admin, scope, now_ms)
    if as_json:
        print_json(
            [
                {
                    "topic": transaction.partition.topic,
                    "partition": transaction.partition.partition,
                    **producer_document(transaction.producer),
                    "durationMs": now_ms - transaction.producer.last_timestamp_ms,
                }
                for transaction in found
            ]
        )
        return
    header = (
        *("Topic", "Partition", "ProducerId", "ProducerEpoch", "CoordinatorEpoch", "StartOffset", "LastTimestamp"),
        "Duration(min)",
    )
    rows = [
        (
            transaction.partition.topic,
            transaction.partition.partition,
            transaction.producer.producer_id,
            transaction.producer.producer_epoch,
            transaction.producer.coordinator_epoch,
            transaction.producer.transaction_start_offset,
            transaction.producer.last_timestamp_ms,
            (now_ms - transaction.producer.last_timestamp_ms) // 60_000,
        )
        for transaction in found
    ]
    print_tabbed(header, rows)
    if found:
        click.echo(
            "\nRead-committed readers stop at the first of each partition. To abort one: odradek transactions abort "
            "--topic TOPIC --partition N --start-offset STARTOFFSET",
            err=True,
        )


async def find(admin: TransactionsAdmin, scope: Scope, now_ms: int) -> list[UnendedTransaction]:
    """The hanging transactions in the scope, sorted by partition and start offset."""
    candidates: list[UnendedTransaction] = []
    partitions = await _partitions(admin, scope)
    with Progress("partitions", len(partitions)) as progress:
        for start in range(0, len(partitions), PARTITIONS_AT_A_TIME):
            part = partitions[start : start + PARTITIONS_AT_A_TIME]
            producers = await admin.describe_producers(part, broker_id=scope.broker_id)
            candidates += [
                UnendedTransaction(partition, producer)
                for partition, of_partition in producers.items()
                for producer in of_partition
                if producer.transaction_start_offset is not None
                and now_ms - producer.last_timestamp_ms > scope.older_than_ms
            ]
            progress.at(start + len(part))
    if not candidates:
        return []
    producer_ids = sorted({candidate.producer.producer_id for candidate in candidates})
    listed = await admin.list_transactions(producer_ids=producer_ids)
    ids = {listing.producer_id: listing.transactional_id for listing in listed}
    described = await _describe(admin, sorted(set(ids.values())))
    owners = {producer_id: described[name] for producer_id, name in ids.items() if name in described}
    return sorted(
        (candidate for candidate in candidates if is_hanging(candidate, owners)),
        key=lambda candidate: (candidate.partition, candidate.producer.transaction_start_offset),
    )


def is_hanging(transaction: UnendedTransaction, owners: Mapping[int, TransactionDescription]) -> bool:
    """Whether no coordinator will write the transaction's end marker on the partition.

    True if no transactional id has this producer id, or if the id's transaction does not contain the partition:
    coordinators list the partitions whose markers are not written yet. ``owners``: producer id -> its transaction.
    """
    owner = owners.get(transaction.producer.producer_id)
    return owner is None or transaction.partition not in owner.partitions


async def _describe(admin: TransactionsAdmin, transactional_ids: Sequence[str]) -> dict[str, TransactionDescription]:
    """Describes the transactional ids. An id that was removed after it was listed is left out."""
    try:
        return await admin.describe_transactions(transactional_ids)
    except AdminError as error:
        if any(failure.error_code != ErrorCode.TRANSACTIONAL_ID_NOT_FOUND for failure in error.errors.values()):
            raise
        return error.results


async def _check_broker(admin: TransactionsAdmin, broker_id: int) -> None:
    """Raises CommandError if no such broker is alive: its empty list would read as "nothing hangs"."""
    brokers = [broker.node_id for broker in (await admin.describe_cluster()).brokers]
    if broker_id not in brokers:
        alive = ", ".join(map(str, brokers))
        raise CommandError(f"broker {broker_id} is not alive in this cluster; those that are: {alive}")


async def _partitions(admin: TransactionsAdmin, scope: Scope) -> list[TopicPartition]:
    if scope.broker_id is not None:
        await _check_broker(admin, scope.broker_id)
    if scope.topic is not None and scope.partition is not None:
        partition = TopicPartition(scope.topic, scope.partition)
        await check_partition(admin, partition)
        return [partition]
    if scope.topic is not None:
        await check_partition(admin, TopicPartition(scope.topic, 0))
    described = await admin.describe_topics(None if scope.topic is None else [scope.topic])
    return [
        TopicPartition(name, number)
        for name, topic in sorted(described.items())
        for number, partition in sorted(topic.partitions.items())
        if scope.broker_id is None or scope.broker_id in partition.replicas
    ]
