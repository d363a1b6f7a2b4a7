"""UnregisterBroker (64): removes the registration of a broker that has gone for good.

Versions: 0.
Errors: BROKER_ID_NOT_REGISTERED; INVALID_REQUEST for this broker itself: Kafka removes it, and serves nothing until the
next start.
Source: ``QuorumController.unregisterBroker``; KIP-500.
"""

from collections.abc import Callable

from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.errors import KafkaError
from odradek.protocol.messages.quorum import UnregisterBrokerRequest, UnregisterBrokerResponse

from ..dispatch.request import RequestContext
from ..metadata.controller.unregistration import unregister_broker
from .parts import ControllerParts

API_KEY = ApiKey.UNREGISTER_BROKER


def handle(
    broker: ControllerParts,
    request: UnregisterBrokerRequest,
    context: RequestContext,
    reply: Callable[[UnregisterBrokerResponse], None],
) -> None:
    """Decides and writes the metadata records in slices, after earlier metadata changes are done, then answers."""
    metadata = broker.own_metadata

    def answer(outcome: UnregisterBrokerResponse | KafkaError) -> None:
        if isinstance(outcome, KafkaError):
            outcome = UnregisterBrokerResponse(error_code=outcome.error_code, error_message=outcome.message)
        reply(outcome)

    metadata.change(
        lambda: unregister_broker(metadata.image, request.broker_id, broker.controller.node_id), context.now_ms, answer
    )
