"""The states of a transaction, as numbers in ``__transaction_state`` and as names for people.

    Empty -> Ongoing -> PrepareCommit -> CompleteCommit -> Ongoing ...
                     -> PrepareAbort  -> CompleteAbort  -> Ongoing ...

Under transaction version 2 an abort may also follow Empty, CompleteCommit and CompleteAbort: a producer that does not
know whether its records reached the log ends what may have begun. Kafka's PrepareEpochFence and Dead are never stored
and not needed here: a decision and its record are one step. Source: ``TransactionState``, KIP-98, KIP-890.
"""

from enum import IntEnum


class TransactionState(IntEnum):
    """What a transactional id's last transaction has come to."""

    EMPTY = 0
    ONGOING = 1
    PREPARE_COMMIT = 2
    PREPARE_ABORT = 3
    COMPLETE_COMMIT = 4
    COMPLETE_ABORT = 5
    DEAD = 6
    PREPARE_EPOCH_FENCE = 7

    @property
    def label(self) -> str:
        """The name that DescribeTransactions and ListTransactions give it."""
        return "".join(word.capitalize() for word in self.name.split("_"))

    @property
    def is_prepared(self) -> bool:
        """Whether the outcome is decided and markers are being written: everything else waits for that."""
        return self in PREPARED

    @property
    def is_settled(self) -> bool:
        """Whether nothing is open: a new transaction may begin, and the id may be forgotten in time."""
        return self in SETTLED


PREPARED = frozenset({TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT})
SETTLED = frozenset({TransactionState.EMPTY, TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT})

BY_LABEL = {state.label: state for state in TransactionState}
"""State by the name that a filter of ListTransactions uses."""

VALID_PREVIOUS: dict[TransactionState, frozenset[TransactionState]] = {
    TransactionState.EMPTY: SETTLED,
    TransactionState.ONGOING: SETTLED | {TransactionState.ONGOING},
    TransactionState.PREPARE_COMMIT: frozenset({TransactionState.ONGOING}),
    TransactionState.PREPARE_ABORT: SETTLED | {TransactionState.ONGOING},
    TransactionState.COMPLETE_COMMIT: frozenset({TransactionState.PREPARE_COMMIT}),
    TransactionState.COMPLETE_ABORT: frozenset({TransactionState.PREPARE_ABORT}),
}
"""From which states one may come into another (``TransactionState.validPreviousStates``)."""
