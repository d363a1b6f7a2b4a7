"""``odradek transactions abort`` and ``forceTerminateTransaction``.

Source: ``TransactionsCommand.AbortTransactionCommand`` and ``ForceTerminateTransactionsCommand``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from odradek.protocol.errors import ErrorCode, KafkaError

from ...types import TopicPartition
from ..output import print_json
from ..running import CommandError
from .show import check_partition, partition_producers

if TYPE_CHECKING:
    from .admin import TransactionsAdmin

WHAT_TO_DO = {
    ErrorCode.INVALID_PRODUCER_EPOCH: "the producer has a newer epoch; 'odradek transactions describe-producers' "
    "shows what is open now",
    ErrorCode.TRANSACTION_COORDINATOR_FENCED: "a newer coordinator has written a marker; 'odradek transactions "
    "describe-producers' shows its epoch",
}


class TransactionProducer(NamedTuple):
    """The transaction's producer. A coordinator epoch below 0 (no marker was written yet) is sent as 0."""

    producer_id: int
    producer_epoch: int
    coordinator_epoch: int


async def abort_at(admin: TransactionsAdmin, at: tuple[str, int], start_offset: int, *, as_json: bool) -> None:
    """``abort --start-offset``. Raises CommandError if no open transaction begins there."""
    partition = TopicPartition(*at)
    producers = await partition_producers(admin, partition)
    found = [producer for producer in producers if producer.transaction_start_offset == start_offset]
    if not found:
        opened = sorted(p.transaction_start_offset for p in producers if p.transaction_start_offset is not None)
        hint = f"open ones start at {', '.join(map(str, opened))}" if opened else "it has no open transaction"
        raise CommandError(
            f"Could not find any open transactions starting at offset {start_offset} on partition {partition}: {hint}"
        )
    producer = TransactionProducer(found[0].producer_id, found[0].producer_epoch, found[0].coordinator_epoch)
    await _abort(admin, partition, producer, as_json=as_json)


async def abort_producer(
    admin: TransactionsAdmin, at: tuple[str, int], producer: TransactionProducer, *, as_json: bool
) -> None:
    """``abort --producer-id --producer-epoch --coordinator-epoch``: aborts on one partition."""
    partition = TopicPartition(*at)
    await check_partition(admin, partition)
    await _abort(admin, partition, producer, as_json=as_json)


async def _abort(
    admin: TransactionsAdmin, partition: TopicPartition, producer: TransactionProducer, *, as_json: bool
) -> None:
    try:
        await admin.abort_transaction(
            partition,
            producer_id=producer.producer_id,
            producer_epoch=producer.producer_epoch,
            coordinator_epoch=max(producer.coordinator_epoch, 0),
        )
    except KafkaError as error:
        hint = WHAT_TO_DO.get(error.error_code, error.error_code.name)
        raise CommandError(
            f"Failed to abort the transaction of producer {producer.producer_id} on {partition}: "
            f"{error.error_code.message} ({hint})"
        ) from None
    if as_json:
        print_json({"topic": partition.topic, "partition": partition.partition, "producerId": producer.producer_id})


async def terminate(admin: TransactionsAdmin, transactional_id: str, *, as_json: bool) -> None:
    """``forceTerminateTransaction``: makes the coordinator abort a transaction. Raises CommandError."""
    try:
        await admin.force_terminate_transaction(transactional_id)
    except KafkaError as error:
        raise CommandError(
            f"Failed to force terminate transactionalId `{transactional_id}`: {error.args[-1]} "
            f"({error.error_code.name})"
        ) from None
    if as_json:
        print_json({"transactionalId": transactional_id})
