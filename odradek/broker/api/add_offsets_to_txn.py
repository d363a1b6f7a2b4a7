"""AddOffsetsToTxn (25): a transaction will commit offsets of a group.

Versions: 0 to 4. 1: answers are sent before throttling. 2: PRODUCER_FENCED. 3: flexible. 4: the client knows
TRANSACTION_ABORTABLE.
Errors: INVALID_REQUEST (no transactional id), INVALID_PRODUCER_ID_MAPPING, PRODUCER_FENCED (before version 2
INVALID_PRODUCER_EPOCH), CONCURRENT_TRANSACTIONS, COORDINATOR_LOAD_IN_PROGRESS, NOT_COORDINATOR,
COORDINATOR_NOT_AVAILABLE.
The group's partition of ``__consumer_offsets`` becomes part of the transaction. Source: KIP-98;
``KafkaApis.handleAddOffsetsToTxnRequest``.
"""

from collections.abc import Callable

from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.transactions import AddOffsetsToTxnRequest, AddOffsetsToTxnResponse
from odradek.protocol.names.topics import OFFSETS_TOPIC

from ..dispatch.request import RequestContext
from ..transactions.add_partitions import add_partitions
from .parts import TransactionParts

API_KEY = ApiKey.ADD_OFFSETS_TO_TXN
PRODUCER_FENCED_SINCE = 2


def handle(
    broker: TransactionParts,
    request: AddOffsetsToTxnRequest,
    context: RequestContext,
    reply: Callable[[AddOffsetsToTxnResponse], None],
) -> None:
    """Answers after the transaction log stores that the group's partition is part of the transaction."""

    def answer(error: ErrorCode) -> None:
        if error is ErrorCode.PRODUCER_FENCED and context.api_version < PRODUCER_FENCED_SINCE:
            error = ErrorCode.INVALID_PRODUCER_EPOCH
        reply(AddOffsetsToTxnResponse(error_code=error))
        if not error:
            broker.stalled_clients.offsets_added(request.transactional_id, context.connection_id)

    if not request.transactional_id:
        answer(ErrorCode.INVALID_REQUEST)
        return
    partition = (OFFSETS_TOPIC, broker.group_coordinator.partition_for(request.group_id))
    broker.transaction_coordinator.write(
        request.transactional_id,
        context.now_ms,
        lambda core, effects: add_partitions(
            core,
            request.transactional_id,
            request.producer_id,
            request.producer_epoch,
            frozenset({partition}),
            0,
            effects,
        ),
        answer,
        lambda error: error,
    )
