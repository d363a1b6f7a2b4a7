"""The states of a transaction, and the transitions between them.

    Empty -> Ongoing -> PrepareCommit -> CompleteCommit -> Ongoing ...
                     -> PrepareAbort  -> CompleteAbort  -> Ongoing ...

Under transaction version 2 an abort may also follow Empty, CompleteCommit and CompleteAbort: a producer that does not
know whether its records reached the log aborts the transaction that may have begun. Kafka's PrepareEpochFence and Dead
are never stored and not needed here: a decision and its record are one step. If a record in the log has one of these
two states, all requests for its transactional id are refused. A record with an invalid producer id or epoch is loaded
as Dead. Source: ``TransactionState``, KIP-98, KIP-890.
"""

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
