"""The states of a transaction, with their numbers in ``__transaction_state`` records and their names in responses.

The allowed transitions are in :mod:`odradek.broker.transactions.transaction`. Source: ``TransactionState``. Pure.
"""

from enum import IntEnum


class TransactionState(IntEnum):
    """The state of a transactional id's last transaction."""

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
        """Whether the outcome is decided and markers are being written; other requests wait for it."""
        return self in PREPARED

    @property
    def is_settled(self) -> bool:
        """Whether no transaction is open: a new one may begin, and the id may expire."""
        return self in SETTLED


PREPARED = frozenset({TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT})
SETTLED = frozenset({TransactionState.EMPTY, TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT})

BY_LABEL = {state.label: state for state in TransactionState}
"""State by the name that a filter of ListTransactions uses."""
BY_NUMBER = {int(state): state for state in TransactionState}
"""State by the number that a record has."""


def transaction_state_name(number: int) -> str | int:
    """The name of the state in a record, as Kafka's tools print it; the number if no state has it."""
    state = BY_NUMBER.get(number)
    return number if state is None else state.label
