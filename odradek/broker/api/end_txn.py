"""EndTxn (26): commits or aborts a transaction.

Versions: 0 to 5. 1: answers are sent before throttling. 2: PRODUCER_FENCED. 3: flexible. 4: the client knows
TRANSACTION_ABORTABLE. 5: transaction version 2: the answer has the producer's next epoch (KIP-890).
Errors: INVALID_REQUEST (no transactional id), INVALID_PRODUCER_ID_MAPPING, PRODUCER_FENCED (before version 2
INVALID_PRODUCER_EPOCH), CONCURRENT_TRANSACTIONS (markers of this or the last transaction are being written),
INVALID_TXN_STATE, COORDINATOR_LOAD_IN_PROGRESS, NOT_COORDINATOR, COORDINATOR_NOT_AVAILABLE.
Source: KIP-98, KIP-890; ``KafkaApis.handleEndTxnRequest``.
"""

from collections.abc import Callable

from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.transactions import EndTxnRequest, EndTxnResponse

from ..dispatch.request import RequestContext
from ..transactions.core import TransactionCore
from ..transactions.effects import TransactionEffects
from ..transactions.end_transaction import end_transaction
from ..transactions.init_producer_id import ProducerIdAndEpoch
from ..transactions.transaction import EPOCH_BUMP_SINCE
from .parts import TransactionParts

API_KEY = ApiKey.END_TXN
PRODUCER_FENCED_SINCE = 2
TRANSACTION_VERSION_2_SINCE = 5


def handle(
    broker: TransactionParts,
    request: EndTxnRequest,
    context: RequestContext,
    reply: Callable[[EndTxnResponse], None],
) -> None:
    """Answers after the outcome (commit or abort) is stored. The markers are written after that."""

    def decide(core: TransactionCore, effects: TransactionEffects) -> None:
        end_transaction(
            core,
            request.transactional_id,
            request.producer_id,
            request.producer_epoch,
            commit=request.committed,
            client_transaction_version=EPOCH_BUMP_SINCE if context.api_version >= TRANSACTION_VERSION_2_SINCE else 0,
            effects=effects,
        )

    def refused(error: ErrorCode) -> EndTxnResponse:
        if error is ErrorCode.PRODUCER_FENCED and context.api_version < PRODUCER_FENCED_SINCE:
            error = ErrorCode.INVALID_PRODUCER_EPOCH
        return EndTxnResponse(error_code=error)

    def answer(response: ProducerIdAndEpoch | EndTxnResponse) -> None:
        if isinstance(response, ProducerIdAndEpoch):
            response = EndTxnResponse(producer_id=response.producer_id, producer_epoch=response.producer_epoch)
        reply(response)

    if not request.transactional_id:
        reply(refused(ErrorCode.INVALID_REQUEST))
        return
    broker.stalled_clients.went_on(request.transactional_id)
    broker.transaction_coordinator.write(request.transactional_id, context.now_ms, decide, answer, refused)
