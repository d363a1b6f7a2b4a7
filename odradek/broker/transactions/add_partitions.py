"""The partitions of a transaction: adding them, and checking whether they were added.

Pure. Source: ``TransactionCoordinator.handleAddPartitionsToTransaction``, ``handleVerifyPartitionsInTransaction``;
KIP-98, KIP-890.
"""

from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.names.topics import TopicPartition
from odradek.protocol.names.transaction_states import TransactionState

from .core import TransactionCore
from .effects import TransactionEffects
from .transaction import Transaction, with_partitions


def add_partitions(
    core: TransactionCore,
    transactional_id: str,
    producer_id: int,
    producer_epoch: int,
    partitions: frozenset[TopicPartition],
    client_transaction_version: int,
    effects: TransactionEffects,
) -> None:
    """Adds partitions, which begins a transaction if none is open. Stores nothing if they are part of it already.

    Raises KafkaError: INVALID_PRODUCER_ID_MAPPING, PRODUCER_FENCED, CONCURRENT_TRANSACTIONS.
    """
    transaction = core.transactions.get(transactional_id)
    if transaction is not None and transaction.state.is_prepared:
        # Checked before the producer id: while the markers of the last transaction are being written, the client may
        # already use its next producer id.
        raise KafkaError(ErrorCode.CONCURRENT_TRANSACTIONS)
    transaction = _of_producer(transaction, producer_id, producer_epoch)
    effects.response = ErrorCode.NONE
    if transaction.state is TransactionState.ONGOING and partitions <= transaction.partitions:
        return
    changed = with_partitions(transaction, partitions, effects.now_ms, client_transaction_version)
    effects.records.append(core.record_of(changed))


def verify_partitions(
    core: TransactionCore,
    transactional_id: str,
    producer_id: int,
    producer_epoch: int,
    partitions: frozenset[TopicPartition],
) -> dict[TopicPartition, ErrorCode]:
    """Whether each partition is part of the open transaction: NONE, or TRANSACTION_ABORTABLE.

    Raises KafkaError as :func:`add_partitions`.
    """
    transaction = _of_producer(core.transactions.get(transactional_id), producer_id, producer_epoch)
    if transaction.state.is_prepared:
        raise KafkaError(ErrorCode.CONCURRENT_TRANSACTIONS)
    return {
        partition: ErrorCode.NONE if partition in transaction.partitions else ErrorCode.TRANSACTION_ABORTABLE
        for partition in partitions
    }


def _of_producer(transaction: Transaction | None, producer_id: int, producer_epoch: int) -> Transaction:
    if transaction is None or transaction.producer_id != producer_id:
        raise KafkaError(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
    if transaction.producer_epoch != producer_epoch:
        raise KafkaError(ErrorCode.PRODUCER_FENCED)
    return transaction
