"""ListTransactions (66): the transactional ids that this broker coordinates.

Versions: 0 to 2. 1: a filter by the time a transaction is open (KIP-994). 2: a filter by a pattern of ids.
Errors: COORDINATOR_LOAD_IN_PROGRESS (until all partitions are loaded), COORDINATOR_NOT_AVAILABLE,
INVALID_REGULAR_EXPRESSION.
Source: KIP-664; ``KafkaApis.handleListTransactionsRequest``.
"""

from collections.abc import Callable, Iterator

from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.transactions import ListTransactionsRequest, ListTransactionsResponse

from ..dispatch.request import RequestContext
from ..transactions.describe import ListFilter, listed
from .parts import TransactionParts

API_KEY = ApiKey.LIST_TRANSACTIONS


def handle(
    broker: TransactionParts,
    request: ListTransactionsRequest,
    context: RequestContext,
    reply: Callable[[ListTransactionsResponse], None],
) -> Iterator[object]:
    """Answers after all partitions of ``__transaction_state`` that this broker leads were queried."""
    try:
        wanted = ListFilter(
            request.state_filters,
            request.producer_id_filters,
            request.duration_filter,
            request.transactional_id_pattern,
        )

        def answer(states: list[ListTransactionsResponse.TransactionState], error: ErrorCode) -> None:
            unknown = [] if error else wanted.unknown_states
            reply(ListTransactionsResponse(error_code=error, unknown_state_filters=unknown, transaction_states=states))

        yield from broker.transaction_coordinator.gather(lambda core: listed(core, wanted, context.now_ms), answer)
    except KafkaError as error:
        reply(ListTransactionsResponse(error_code=error.error_code))
