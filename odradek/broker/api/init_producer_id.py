"""InitProducerId (22): assigns a producer id and epoch, for idempotent producers and for transactions.

Versions: 0 to 5 (version 6 is unstable in Kafka). 2: flexible. 3: the request has the client's current producer id and
epoch. 4: PRODUCER_FENCED. 5: the client knows TRANSACTION_ABORTABLE.
Errors: INVALID_REQUEST (an empty transactional id; only one of producer id and epoch), INVALID_TRANSACTION_TIMEOUT,
CONCURRENT_TRANSACTIONS (the last transaction is still ending), PRODUCER_FENCED (before version 4
INVALID_PRODUCER_EPOCH), COORDINATOR_LOAD_IN_PROGRESS, NOT_COORDINATOR, COORDINATOR_NOT_AVAILABLE. Without a
transactional id, each request gets a new producer id with epoch 0. Source: KIP-98, KIP-360;
``TransactionCoordinator.handleInitProducerId``.
"""

from collections.abc import Callable

from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.transactions import InitProducerIdRequest, InitProducerIdResponse

from ..dispatch.request import RequestContext
from ..transactions.coordinator import TransactionCoordinator
from ..transactions.init_producer_id import ProducerIdAndEpoch, init_producer_id
from ..transactions.transaction import NO_PRODUCER_EPOCH, NO_PRODUCER_ID
from .parts import TransactionParts

API_KEY = ApiKey.INIT_PRODUCER_ID
PRODUCER_FENCED_SINCE = 4


def handle(
    broker: TransactionParts,
    request: InitProducerIdRequest,
    context: RequestContext,
    reply: Callable[[InitProducerIdResponse], None],
) -> None:
    """Answers with a new producer id, or with the next epoch of a transactional id."""
    half_known = (request.producer_id == NO_PRODUCER_ID) != (request.producer_epoch == NO_PRODUCER_EPOCH)
    if half_known or request.transactional_id == "":
        reply(_refusal(ErrorCode.INVALID_REQUEST))
    elif request.transactional_id is None:
        try:
            producer_id = broker.producer_ids.next_id(context.now_ms)
        except KafkaError as error:
            reply(_refusal(error.error_code))
        else:
            reply(InitProducerIdResponse(producer_id=producer_id, producer_epoch=0))
    else:
        broker.stalled_clients.went_on(request.transactional_id)
        _initialise(broker.transaction_coordinator, request.transactional_id, request, context, reply)


def _initialise(
    coordinator: TransactionCoordinator,
    transactional_id: str,
    request: InitProducerIdRequest,
    context: RequestContext,
    reply: Callable[[InitProducerIdResponse], None],
) -> None:
    expected = None
    if request.producer_id != NO_PRODUCER_ID:
        expected = ProducerIdAndEpoch(request.producer_id, request.producer_epoch)

    def answer(response: ProducerIdAndEpoch | ErrorCode) -> None:
        if isinstance(response, ProducerIdAndEpoch):
            reply(InitProducerIdResponse(producer_id=response.producer_id, producer_epoch=response.producer_epoch))
            return
        if response is ErrorCode.PRODUCER_FENCED and context.api_version < PRODUCER_FENCED_SINCE:
            response = ErrorCode.INVALID_PRODUCER_EPOCH
        reply(_refusal(response))

    coordinator.write(
        transactional_id,
        context.now_ms,
        lambda core, effects: init_producer_id(
            core, transactional_id, request.transaction_timeout_ms, expected, effects
        ),
        answer,
        lambda error: error,
    )


def _refusal(error: ErrorCode) -> InitProducerIdResponse:
    return InitProducerIdResponse(error_code=error, producer_id=NO_PRODUCER_ID, producer_epoch=NO_PRODUCER_EPOCH)
