"""The state of one transactional id, and its changes: each change is a new value.

Owns: the rules of producer epochs. Never does: deciding whether a request is allowed (the modules of the APIs do).
Invariants: the epoch of a producer id never decreases; under transaction version 2 the epoch of a marker is higher than
that of all records of the transaction that it ends. Source: ``TransactionMetadata``, ``TransactionState``; KIP-98,
KIP-360, KIP-890.

    Empty -> Ongoing -> PrepareCommit -> CompleteCommit -> Ongoing ...
                     -> PrepareAbort  -> CompleteAbort  -> Ongoing ...

Under transaction version 2 an abort may also follow Empty, CompleteCommit and CompleteAbort: a producer that does not
know whether its records reached the log aborts the transaction that may have begun. Kafka's PrepareEpochFence and Dead
are never stored and not needed here: a decision and its record are one step. If a record in the log has one of these
two states, all requests for its transactional id are refused. A record with an invalid producer id or epoch is loaded
as Dead.
"""

from dataclasses import dataclass, replace

from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.names.topics import TopicPartition
from odradek.protocol.names.transaction_states import SETTLED, TransactionState

NEVER_STORED = frozenset({TransactionState.DEAD, TransactionState.PREPARE_EPOCH_FENCE})
"""States that no coordinator writes into its log."""
VALID_PREVIOUS: dict[TransactionState, frozenset[TransactionState]] = {
    TransactionState.EMPTY: SETTLED,
    TransactionState.ONGOING: SETTLED | {TransactionState.ONGOING},
    TransactionState.PREPARE_COMMIT: frozenset({TransactionState.ONGOING}),
    TransactionState.PREPARE_ABORT: SETTLED | {TransactionState.ONGOING},
    TransactionState.COMPLETE_COMMIT: frozenset({TransactionState.PREPARE_COMMIT}),
    TransactionState.COMPLETE_ABORT: frozenset({TransactionState.PREPARE_ABORT}),
}
"""The states from which each state may be entered (``TransactionState.validPreviousStates``)."""


NO_PRODUCER_ID = -1
NO_PRODUCER_EPOCH = -1
NO_TIMESTAMP = -1
MAX_EPOCH = 0x7FFF
LAST_USABLE_EPOCH = MAX_EPOCH - 1
"""The last epoch that a client may get. The coordinator keeps MAX_EPOCH for fencing that client."""
EPOCH_BUMP_SINCE = 2
"""The transaction version under which every transaction has an epoch of its own (KIP-890)."""


@dataclass(frozen=True, slots=True)
class Transaction:
    """A transactional id's producer and its last transaction; times are ms since 1970, -1 for none.

    ``last_producer_epoch`` is the epoch that the client had before the current one. It is not stored, so a client that
    retries InitProducerId after a restart of the coordinator is fenced. ``client_transaction_version`` is the
    transaction version of the client that began or ended the transaction.
    """

    transactional_id: str
    producer_id: int
    producer_epoch: int
    timeout_ms: int
    state: TransactionState
    partitions: frozenset[TopicPartition]
    start_timestamp_ms: int
    last_update_timestamp_ms: int
    previous_producer_id: int = NO_PRODUCER_ID
    next_producer_id: int = NO_PRODUCER_ID
    last_producer_epoch: int = NO_PRODUCER_EPOCH
    client_transaction_version: int = 0

    @property
    def is_epoch_exhausted(self) -> bool:
        """Whether the producer id has no further epoch for a client, so that the next one needs a new producer id."""
        return is_epoch_exhausted(self.producer_epoch)

    def is_timed_out(self, now_ms: int) -> bool:
        """Whether the transaction has been open for longer than its timeout.

        ``now_ms``: the wall clock, minus the time in which the broker was stalled since the transaction began.
        """
        return self.state is TransactionState.ONGOING and self.start_timestamp_ms + self.timeout_ms < now_ms


def is_epoch_exhausted(epoch: int) -> bool:
    """Whether an epoch is the last that a client may have, or later."""
    return epoch >= LAST_USABLE_EPOCH


def new_transaction(transactional_id: str, producer_id: int, timeout_ms: int, now_ms: int) -> Transaction:
    """Returns a new transactional id, before its first InitProducerId."""
    state = TransactionState.EMPTY
    return Transaction(
        transactional_id, producer_id, NO_PRODUCER_EPOCH, timeout_ms, state, frozenset(), NO_TIMESTAMP, now_ms
    )


def increment_epoch(transaction: Transaction, timeout_ms: int, expected_epoch: int | None, now_ms: int) -> Transaction:
    """InitProducerId: raises the epoch, which fences every other producer of this id.

    ``expected_epoch``: the epoch that the client has (KIP-360), None if it has just started. The last epoch means that
    the client missed the response: it gets the current epoch again. Raises KafkaError PRODUCER_FENCED for any other.
    """
    epoch, last_epoch = transaction.producer_epoch, transaction.last_producer_epoch
    if expected_epoch is None:
        epoch, last_epoch = epoch + 1, NO_PRODUCER_EPOCH
    elif epoch in (NO_PRODUCER_EPOCH, expected_epoch):
        epoch, last_epoch = epoch + 1, epoch
    elif expected_epoch != last_epoch:
        raise KafkaError(ErrorCode.PRODUCER_FENCED)
    return replace(
        _to(transaction, TransactionState.EMPTY, now_ms),
        producer_epoch=epoch,
        last_producer_epoch=last_epoch,
        timeout_ms=timeout_ms,
        partitions=frozenset(),
        start_timestamp_ms=NO_TIMESTAMP,
    )


def rotate_producer_id(
    transaction: Transaction, producer_id: int, timeout_ms: int, now_ms: int, *, client_had_epoch: bool
) -> Transaction:
    """InitProducerId if the epochs of the producer id are used up: takes a new one, with epoch 0."""
    return replace(
        _to(transaction, TransactionState.EMPTY, now_ms),
        producer_id=producer_id,
        producer_epoch=0,
        last_producer_epoch=transaction.producer_epoch if client_had_epoch else NO_PRODUCER_EPOCH,
        timeout_ms=timeout_ms,
        partitions=frozenset(),
        start_timestamp_ms=NO_TIMESTAMP,
    )


def with_partitions(
    transaction: Transaction, partitions: frozenset[TopicPartition], now_ms: int, client_transaction_version: int
) -> Transaction:
    """AddPartitionsToTxn: adds partitions to the transaction, which begins if none is open."""
    begins = transaction.state in SETTLED
    return replace(
        _to(transaction, TransactionState.ONGOING, now_ms),
        partitions=transaction.partitions | partitions,
        start_timestamp_ms=now_ms if begins else transaction.start_timestamp_ms,
        client_transaction_version=client_transaction_version,
    )


def fenced(transaction: Transaction) -> Transaction:
    """Fences the producer of the transaction: raises the epoch to one that no client gets.

    The state does not change: an abort must follow in the same step.
    """
    epoch = min(transaction.producer_epoch + 1, MAX_EPOCH)
    return replace(transaction, producer_epoch=epoch, last_producer_epoch=NO_PRODUCER_EPOCH)


def prepared(
    transaction: Transaction,
    *,
    commit: bool,
    now_ms: int,
    client_transaction_version: int,
    next_producer_id: int = NO_PRODUCER_ID,
) -> Transaction:
    """EndTxn: decides the outcome; the markers must be written next.

    Under transaction version 2 the markers carry the next epoch, so that late records of the producer do not become
    part of its next transaction. ``next_producer_id``: the client continues with it if no epoch is left.
    """
    epoch, last_epoch = transaction.producer_epoch, transaction.last_producer_epoch
    if client_transaction_version >= EPOCH_BUMP_SINCE:
        epoch, last_epoch = min(epoch + 1, MAX_EPOCH), epoch
    never_began = transaction.state is not TransactionState.ONGOING
    return replace(
        _to(transaction, TransactionState.PREPARE_COMMIT if commit else TransactionState.PREPARE_ABORT, now_ms),
        producer_epoch=epoch,
        last_producer_epoch=last_epoch,
        # A transaction that never began has no start time. Its abort is stored with this one.
        start_timestamp_ms=now_ms if never_began else transaction.start_timestamp_ms,
        next_producer_id=next_producer_id,
        client_transaction_version=client_transaction_version,
    )


def completed(transaction: Transaction, now_ms: int) -> Transaction:
    """Completes the transaction after every marker is written. The client gets its next producer id if the epochs are
    used up."""
    commits = transaction.state is TransactionState.PREPARE_COMMIT
    done = replace(
        _to(transaction, TransactionState.COMPLETE_COMMIT if commits else TransactionState.COMPLETE_ABORT, now_ms),
        partitions=frozenset(),
        next_producer_id=NO_PRODUCER_ID,
    )
    if transaction.next_producer_id == NO_PRODUCER_ID or transaction.client_transaction_version < EPOCH_BUMP_SINCE:
        return done
    return replace(done, producer_id=transaction.next_producer_id, producer_epoch=0)


def _to(transaction: Transaction, state: TransactionState, now_ms: int) -> Transaction:
    """Returns the transaction in another state. Raises KafkaError UNKNOWN_SERVER_ERROR, as Kafka, if a log has set a
    state that a coordinator never stores.
    """
    if transaction.state in NEVER_STORED:
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, f"the transactional id is in state {transaction.state.label}")
    assert transaction.state in VALID_PREVIOUS[state], f"{transaction} can't become {state.label}"
    return replace(
        transaction,
        state=state,
        previous_producer_id=transaction.producer_id,
        next_producer_id=NO_PRODUCER_ID,
        last_update_timestamp_ms=now_ms,
    )
