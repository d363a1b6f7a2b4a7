"""EndTxn: a client commits or aborts.

Pure. Under transaction version 2 every EndTxn gives the client its next epoch. So a request with the current epoch ends
a new transaction. A request with the previous epoch ("again" below) is a retry whose first response was lost. If no
transaction is open, the result depends on the state:

    |                | abort again | abort    | commit again | commit   |
    |----------------|-------------|----------|--------------|----------|
    | Empty          | fenced      | new epoch| fenced       | refused  |
    | CompleteAbort  | as before   | new epoch| refused      | refused  |
    | CompleteCommit | refused     | new epoch| as before    | refused  |

("fenced" is PRODUCER_FENCED, "refused" INVALID_TXN_STATE; "as before" repeats the lost response.) Source:
``TransactionCoordinator.endTransaction``, ``endTransactionWithTV1``; KIP-98, KIP-890.
"""

from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.names.transaction_states import TransactionState

from .core import TransactionCore
from .effects import TransactionEffects
from .init_producer_id import ProducerIdAndEpoch
from .transaction import (
    EPOCH_BUMP_SINCE,
    LAST_USABLE_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    Transaction,
    completed,
    prepared,
)

UNCHANGED = ProducerIdAndEpoch(NO_PRODUCER_ID, NO_PRODUCER_EPOCH)
"""The response to a client that keeps its producer id and epoch."""

_COMPLETE = {True: TransactionState.COMPLETE_COMMIT, False: TransactionState.COMPLETE_ABORT}


def end_transaction(
    core: TransactionCore,
    transactional_id: str,
    producer_id: int,
    producer_epoch: int,
    *,
    commit: bool,
    client_transaction_version: int,
    effects: TransactionEffects,
) -> None:
    """Decides the outcome. The response is the ProducerIdAndEpoch with which the client continues.

    Raises KafkaError: INVALID_PRODUCER_ID_MAPPING, PRODUCER_FENCED, CONCURRENT_TRANSACTIONS, INVALID_TXN_STATE.
    """
    transaction = core.transactions.get(transactional_id)
    if transaction is None:
        raise KafkaError(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
    if client_transaction_version >= EPOCH_BUMP_SINCE:
        _end_with_new_epoch(core, transaction, producer_id, producer_epoch, commit, effects)
    else:
        _end_in_same_epoch(core, transaction, producer_id, producer_epoch, commit, effects)


def _end_in_same_epoch(
    core: TransactionCore,
    transaction: Transaction,
    producer_id: int,
    producer_epoch: int,
    commit: bool,
    effects: TransactionEffects,
) -> None:
    if transaction.producer_id != producer_id:
        raise KafkaError(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
    if transaction.producer_epoch != producer_epoch:
        raise KafkaError(ErrorCode.PRODUCER_FENCED)
    if transaction.state.is_prepared:
        raise KafkaError(ErrorCode.CONCURRENT_TRANSACTIONS)
    effects.response = UNCHANGED
    if transaction.state is TransactionState.ONGOING:
        core.decide(prepared(transaction, commit=commit, now_ms=effects.now_ms, client_transaction_version=0), effects)
        core.counts.ended(commit)
    elif transaction.state is not _COMPLETE[commit]:
        raise KafkaError(ErrorCode.INVALID_TXN_STATE)


def _end_with_new_epoch(
    core: TransactionCore,
    transaction: Transaction,
    producer_id: int,
    producer_epoch: int,
    commit: bool,
    effects: TransactionEffects,
) -> None:
    has_new_id = (
        transaction.previous_producer_id == producer_id
        and producer_epoch == LAST_USABLE_EPOCH
        and transaction.producer_epoch == 0
    )
    is_repeated = has_new_id or transaction.producer_epoch == producer_epoch + 1
    if transaction.producer_id != producer_id and not has_new_id:
        raise KafkaError(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
    if not _is_epoch_of_client(transaction, producer_epoch, is_repeated):
        raise KafkaError(ErrorCode.PRODUCER_FENCED)
    state = transaction.state
    if state.is_prepared:
        raise KafkaError(ErrorCode.CONCURRENT_TRANSACTIONS)
    if is_repeated:
        if state is not _COMPLETE[commit]:
            raise KafkaError(ErrorCode.INVALID_TXN_STATE)
        effects.response = ProducerIdAndEpoch(transaction.producer_id, transaction.producer_epoch)
        return
    if commit and state is not TransactionState.ONGOING:
        raise KafkaError(ErrorCode.INVALID_TXN_STATE)
    decided = prepared(
        transaction,
        commit=commit,
        now_ms=effects.now_ms,
        client_transaction_version=EPOCH_BUMP_SINCE,
        next_producer_id=core.new_producer_id() if transaction.is_epoch_exhausted else NO_PRODUCER_ID,
    )
    core.decide(decided, effects)
    if state is TransactionState.ONGOING:
        core.counts.ended(commit)
    continued = completed(decided, effects.now_ms)
    effects.response = ProducerIdAndEpoch(continued.producer_id, continued.producer_epoch)


def _is_epoch_of_client(transaction: Transaction, producer_epoch: int, is_repeated: bool) -> bool:
    """Whether the client may send this epoch: the current one; the previous one while markers are being written; either
    after that, because the response with the current epoch may have been lost."""
    if transaction.state.is_prepared:
        return transaction.producer_epoch == producer_epoch + 1
    if transaction.state in _COMPLETE.values():
        return is_repeated or transaction.producer_epoch == producer_epoch
    return transaction.producer_epoch == producer_epoch
