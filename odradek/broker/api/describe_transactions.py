"""DescribeTransactions (65): the state of the transaction of each transactional id.

Versions: 0.
Errors of each id: INVALID_REQUEST (an empty id), TRANSACTIONAL_ID_NOT_FOUND, COORDINATOR_LOAD_IN_PROGRESS,
NOT_COORDINATOR, COORDINATOR_NOT_AVAILABLE.
Source: KIP-664; ``KafkaApis.handleDescribeTransactionsRequest``.
"""

from collections.abc import Callable, Iterator
from functools import partial

from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.transactions import DescribeTransactionsRequest, DescribeTransactionsResponse

from ..dispatch.request import RequestContext
from ..transactions.describe import describe
from .gather_in_order import gather_in_order
from .parts import TransactionParts

API_KEY = ApiKey.DESCRIBE_TRANSACTIONS

State = DescribeTransactionsResponse.TransactionState


def handle(
    broker: TransactionParts,
    request: DescribeTransactionsRequest,
    context: RequestContext,
    reply: Callable[[DescribeTransactionsResponse], None],
) -> Iterator[object] | None:
    """Answers after every id was looked up."""
    return gather_in_order(
        list(dict.fromkeys(request.transactional_ids)),
        partial(_look_up, broker),
        lambda found: reply(DescribeTransactionsResponse(transaction_states=found)),
    )


def _look_up(broker: TransactionParts, transactional_id: str, found: Callable[[State], None]) -> None:
    def refused(error: ErrorCode) -> State:
        return State(error_code=error, transactional_id=transactional_id)

    if not transactional_id:
        found(refused(ErrorCode.INVALID_REQUEST))
        return
    broker.transaction_coordinator.read(transactional_id, lambda core: describe(core, transactional_id), found, refused)
