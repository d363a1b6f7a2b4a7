"""InitProducerId (22): a producer id for idempotent producing.

Versions: 0 to 5 (6 of the table is unstable). 2: flexible. 3: the producer id and epoch that the client had. 4: fencing
is told by PRODUCER_FENCED. 5: transaction protocol version 2.
Errors: INVALID_REQUEST (an empty transactional id; a producer id without its epoch), UNSUPPORTED_VERSION (a
transactional id: transactions are not served yet, and a client takes this as final instead of asking for ever).
Without a transactional id each request gets a fresh producer id with epoch 0.
Source: KIP-98, KIP-360; ``TransactionCoordinator.handleInitProducerId``.
"""

from collections.abc import Callable
from typing import Protocol

from ...protocol.api_keys import ApiKey
from ...protocol.errors import ErrorCode
from ...protocol.messages.transactions import InitProducerIdRequest, InitProducerIdResponse
from ..request import RequestContext

API_KEY = ApiKey.INIT_PRODUCER_ID
NO_PRODUCER_ID = -1
NO_PRODUCER_EPOCH = -1


class ProducerIds(Protocol):
    """Gives out producer ids."""

    def next_producer_id(self, now_ms: int) -> int:
        """A producer id that was never given out."""


class Broker(Protocol):
    """What this handler needs."""

    @property
    def metadata(self) -> ProducerIds:
        """Where producer ids come from: blocks of them are records of the metadata log."""


def handle(
    broker: Broker,
    request: InitProducerIdRequest,
    context: RequestContext,
    reply: Callable[[InitProducerIdResponse], None],
) -> None:
    """Gives out a fresh producer id."""
    half_known = (request.producer_id == NO_PRODUCER_ID) != (request.producer_epoch == NO_PRODUCER_EPOCH)
    if half_known or request.transactional_id == "":
        reply(_refusal(ErrorCode.INVALID_REQUEST))
    elif request.transactional_id is not None:
        reply(_refusal(ErrorCode.UNSUPPORTED_VERSION))
    else:
        producer_id = broker.metadata.next_producer_id(context.now_ms)
        reply(InitProducerIdResponse(producer_id=producer_id, producer_epoch=0))


def _refusal(error: ErrorCode) -> InitProducerIdResponse:
    return InitProducerIdResponse(error_code=error, producer_id=NO_PRODUCER_ID, producer_epoch=NO_PRODUCER_EPOCH)
