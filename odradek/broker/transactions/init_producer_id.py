"""InitProducerId with a transactional id: gives a client the producer id and epoch that it writes with from now on.

Pure. Source: ``TransactionCoordinator.handleInitProducerId``, ``prepareInitProducerIdTransit``; KIP-98, KIP-360.
"""

from typing import NamedTuple

from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.names.transaction_states import TransactionState

from .core import TransactionCore
from .effects import TransactionEffects
from .transaction import (
    NO_PRODUCER_EPOCH,
    Transaction,
    increment_epoch,
    is_epoch_exhausted,
    new_transaction,
    rotate_producer_id,
)


class ProducerIdAndEpoch(NamedTuple):
    """The identity of a producer in the log."""

    producer_id: int
    producer_epoch: int


def init_producer_id(
    core: TransactionCore,
    transactional_id: str,
    timeout_ms: int,
    expected: ProducerIdAndEpoch | None,
    effects: TransactionEffects,
) -> None:
    """Gives the client an epoch that fences all earlier producers. The response is a ProducerIdAndEpoch.

    ``expected`` is the client's id and epoch, None if it has just started. An open transaction is aborted first: the
    response is then CONCURRENT_TRANSACTIONS, and the client tries again. Raises KafkaError:
    INVALID_TRANSACTION_TIMEOUT, CONCURRENT_TRANSACTIONS, PRODUCER_FENCED.
    """
    now_ms = effects.now_ms
    if not 0 < timeout_ms <= core.config.transaction_max_timeout_ms:
        raise KafkaError(ErrorCode.INVALID_TRANSACTION_TIMEOUT)
    transaction = core.transactions.get(transactional_id)
    if transaction is None:
        transaction = new_transaction(transactional_id, core.new_producer_id(), timeout_ms, now_ms)
    if transaction.state.is_prepared:
        raise KafkaError(ErrorCode.CONCURRENT_TRANSACTIONS)
    if expected is not None and not _may_continue(transaction, expected):
        raise KafkaError(ErrorCode.PRODUCER_FENCED)
    if transaction.state is TransactionState.ONGOING:
        core.abort_from_here(transaction, effects)
        core.counts.fenced += 1
        effects.response = ErrorCode.CONCURRENT_TRANSACTIONS
        return
    expected_epoch = None if expected is None else expected.producer_epoch
    if transaction.is_epoch_exhausted and expected_epoch in (None, transaction.producer_epoch):
        renewed = rotate_producer_id(
            transaction, core.new_producer_id(), timeout_ms, now_ms, client_had_epoch=expected is not None
        )
    else:
        renewed = increment_epoch(transaction, timeout_ms, expected_epoch, now_ms)
    effects.records.append(core.record_of(renewed))
    effects.response = ProducerIdAndEpoch(renewed.producer_id, renewed.producer_epoch)


def _may_continue(transaction: Transaction, expected: ProducerIdAndEpoch) -> bool:
    """Whether ``expected`` holds a producer id of this transactional id. The epoch is checked later.

    A new transactional id accepts every producer id. The previous producer id is accepted with an exhausted epoch: the
    response with the new producer id may have been lost.
    """
    return (
        transaction.producer_epoch == NO_PRODUCER_EPOCH
        or expected.producer_id == transaction.producer_id
        or (expected.producer_id == transaction.previous_producer_id and is_epoch_exhausted(expected.producer_epoch))
    )
