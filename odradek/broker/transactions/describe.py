"""DescribeTransactions and ListTransactions, for people and tools.

Pure. Source: ``TransactionCoordinator.handleDescribeTransactions``, ``TransactionStateManager.listTransactionStates``;
KIP-664, KIP-994.
"""

from collections.abc import Collection, Generator

from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.transactions import DescribeTransactionsResponse, ListTransactionsResponse
from odradek.protocol.names.transaction_states import BY_LABEL, TransactionState

from ..groups.consumer.regular_expressions import compile_pattern
from .core import TransactionCore
from .records import by_topic

TRANSACTIONS_A_STEP = 128


def describe(core: TransactionCore, transactional_id: str) -> DescribeTransactionsResponse.TransactionState:
    """Describes one transactional id. Raises KafkaError TRANSACTIONAL_ID_NOT_FOUND."""
    transaction = core.transactions.get(transactional_id)
    if transaction is None or transaction.state is TransactionState.DEAD:
        raise KafkaError(ErrorCode.TRANSACTIONAL_ID_NOT_FOUND)
    return DescribeTransactionsResponse.TransactionState(
        transactional_id=transactional_id,
        transaction_state=transaction.state.label,
        transaction_timeout_ms=transaction.timeout_ms,
        transaction_start_time_ms=transaction.start_timestamp_ms,
        producer_id=transaction.producer_id,
        producer_epoch=transaction.producer_epoch,
        topics=[
            DescribeTransactionsResponse.TopicData(topic, partitions)
            for topic, partitions in by_topic(transaction.partitions).items()
        ],
    )


class ListFilter:
    """The filter of ListTransactions: all of its conditions must hold."""

    __slots__ = ("duration_ms", "pattern", "producer_ids", "states", "states_are_given", "unknown_states")

    def __init__(
        self,
        state_names: Collection[str] = (),
        producer_ids: Collection[int] = (),
        duration_ms: int = -1,
        pattern: str | None = None,
    ) -> None:
        """``duration_ms``: only transactions that have been open for longer, -1 for all. ``pattern`` must match the
        whole id.

        Raises KafkaError INVALID_REGULAR_EXPRESSION.
        """
        self.states: frozenset[TransactionState] = frozenset(BY_LABEL[name] for name in state_names if name in BY_LABEL)
        self.states_are_given = bool(state_names)
        self.unknown_states = [name for name in state_names if name not in BY_LABEL]
        self.producer_ids = frozenset(producer_ids)
        self.duration_ms = duration_ms
        self.pattern = compile_pattern(pattern) if pattern else None
        if isinstance(self.pattern, str):
            raise KafkaError(ErrorCode.INVALID_REGULAR_EXPRESSION, self.pattern)


def listed(
    core: TransactionCore, wanted: ListFilter, now_ms: int
) -> Generator[None, None, list[ListTransactionsResponse.TransactionState]]:
    """Lists the transactional ids that a filter selects, in steps."""
    found = []
    for number, transaction in enumerate(list(core.transactions.values()), 1):
        state = transaction.state
        if (
            state is not TransactionState.DEAD
            and (not wanted.producer_ids or transaction.producer_id in wanted.producer_ids)
            and (not wanted.states_are_given or state in wanted.states)
            and (wanted.duration_ms < 0 or now_ms - transaction.start_timestamp_ms > wanted.duration_ms)
            and (wanted.pattern is None or wanted.pattern.fullmatch(transaction.transactional_id))
        ):
            found.append(
                ListTransactionsResponse.TransactionState(
                    transaction.transactional_id, transaction.producer_id, state.label
                )
            )
        if number % TRANSACTIONS_A_STEP == 0:
            yield
    return found
