"""``odradek transactions``: list, describe and describe-producers, in Kafka's tables or as JSON.

Source: ``TransactionsCommand``: its inner classes of the same names, and ``ToolsUtils.prettyPrintTable``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

import click

from odradek.protocol.common.wall_clock import clock_ms
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.names.transaction_states import BY_LABEL

from ...errors import AdminError
from ...types import TopicPartition
from ..output import print_json, print_tabbed
from ..running import CommandError

if TYPE_CHECKING:
    from ...admin.transactions import ProducerState
    from .admin import TransactionsAdmin

NONE = "None"


def check_states(texts: Iterable[str]) -> list[str]:
    """Parses the values of ``--state``, each a comma-separated list, to Kafka's spelling. Raises UsageError."""
    known = {name.lower(): name for name in BY_LABEL}
    state_names = [part.strip() for text in texts for part in text.split(",") if part.strip()]
    for part in state_names:
        if part.lower() not in known:
            raise click.UsageError(f"--state {part}: must be one of {', '.join(BY_LABEL)}")
    return [known[part.lower()] for part in state_names]


async def print_list(
    admin: TransactionsAdmin,
    *,
    states: Collection[str],
    producer_ids: Collection[int],
    running_longer_than_ms: int | None,
    transactional_id_pattern: str | None,
    as_json: bool,
) -> None:
    """``list``: prints the transactions that match."""
    listed = await admin.list_transactions(
        states=states,
        producer_ids=producer_ids,
        running_longer_than_ms=running_longer_than_ms,
        transactional_id_pattern=transactional_id_pattern,
    )
    if as_json:
        names = ("transactionalId", "coordinator", "producerId", "state")
        print_json([dict(zip(names, row, strict=True)) for row in listed])
        return
    print_tabbed(("TransactionalId", "Coordinator", "ProducerId", "TransactionState"), listed)


async def print_description(admin: TransactionsAdmin, transactional_id: str, *, as_json: bool) -> None:
    """``describe``. Raises CommandError for an unknown id."""
    try:
        found = (await admin.describe_transactions([transactional_id]))[transactional_id]
    except AdminError as error:
        if error.error_code != ErrorCode.TRANSACTIONAL_ID_NOT_FOUND:
            raise
        raise CommandError(
            f"Failed to describe transaction state of transactional-id `{transactional_id}`: its coordinator does not "
            "know it (ids expire after transactional.id.expiration.ms); 'odradek transactions list' shows all"
        ) from None
    duration_ms = None if found.start_time_ms is None else clock_ms() - found.start_time_ms
    if as_json:
        print_json(
            {
                "coordinator": found.coordinator,
                "transactionalId": found.transactional_id,
                "producerId": found.producer_id,
                "producerEpoch": found.producer_epoch,
                "state": found.state,
                "timeoutMs": found.timeout_ms,
                "startTimeMs": found.start_time_ms,
                "durationMs": duration_ms,
                "partitions": [{"topic": topic, "partition": number} for topic, number in found.partitions],
            }
        )
        return
    header = (
        *("CoordinatorId", "TransactionalId", "ProducerId", "ProducerEpoch", "TransactionState"),
        *("TransactionTimeoutMs", "CurrentTransactionStartTimeMs", "TransactionDurationMs", "TopicPartitions"),
    )
    row = (
        found.coordinator,
        found.transactional_id,
        found.producer_id,
        found.producer_epoch,
        found.state,
        found.timeout_ms,
        NONE if found.start_time_ms is None else found.start_time_ms,
        NONE if duration_ms is None else duration_ms,
        ",".join(map(str, found.partitions)),
    )
    print_tabbed(header, [row])


async def print_producers(
    admin: TransactionsAdmin, at: tuple[str, int], broker_id: int | None, *, as_json: bool
) -> None:
    """``describe-producers``: prints the producer state of a partition."""
    producers = await partition_producers(admin, TopicPartition(*at), broker_id)
    if as_json:
        print_json([producer_document(producer) for producer in producers])
        return
    header = (
        *("ProducerId", "ProducerEpoch", "LatestCoordinatorEpoch", "LastSequence", "LastTimestamp"),
        "CurrentTransactionStartOffset",
    )
    rows = [
        (
            producer.producer_id,
            producer.producer_epoch,
            producer.coordinator_epoch,
            producer.last_sequence,
            producer.last_timestamp_ms,
            NONE if producer.transaction_start_offset is None else producer.transaction_start_offset,
        )
        for producer in producers
    ]
    print_tabbed(header, rows)


def producer_document(producer: ProducerState) -> dict[str, object]:
    """A producer for JSON."""
    return {
        "producerId": producer.producer_id,
        "producerEpoch": producer.producer_epoch,
        "latestCoordinatorEpoch": producer.coordinator_epoch,
        "lastSequence": producer.last_sequence,
        "lastTimestamp": producer.last_timestamp_ms,
        "currentTransactionStartOffset": producer.transaction_start_offset,
    }


async def partition_producers(
    admin: TransactionsAdmin, partition: TopicPartition, broker_id: int | None = None
) -> list[ProducerState]:
    """The producer states of one partition, from its leader or from ``broker_id``. Raises CommandError if it fails."""
    await check_partition(admin, partition)
    try:
        return (await admin.describe_producers([partition], broker_id=broker_id))[partition]
    except KafkaError as error:
        queried = "leader" if broker_id is None else f"broker {broker_id}"
        raise CommandError(
            f"Failed to describe producers for partition {partition} on {queried}: {error.error_code.message} "
            f"({error.error_code.name})"
        ) from None


async def check_partition(admin: TransactionsAdmin, partition: TopicPartition) -> None:
    """Raises CommandError at once if the partition does not exist. Other requests would retry until the timeout."""
    try:
        described = await admin.describe_topics([partition.topic])
    except AdminError as error:
        if error.error_code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            raise
        raise CommandError(f"topic '{partition.topic}' does not exist; 'odradek topics --list' shows all") from None
    count = len(described[partition.topic].partitions)
    if partition.partition not in described[partition.topic].partitions:
        raise CommandError(f"topic '{partition.topic}' has {count} partitions: 0 to {count - 1}")
