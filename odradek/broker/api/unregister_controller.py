"""UnregisterController (94): removes the registration of a controller that has gone for good.

Versions: 0.
Errors: CONTROLLER_ID_NOT_REGISTERED; INVALID_REQUEST for this node, which is the active controller;
UNSUPPORTED_VERSION (a metadata.version below 4.4-IV2).
Source: ``QuorumController.unregisterController``, ``ClusterControlManager``.
"""

from collections.abc import Callable

from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.errors import KafkaError
from odradek.protocol.messages.quorum import UnregisterControllerRequest, UnregisterControllerResponse

from ..dispatch.request import RequestContext
from ..metadata.controller.unregistration import unregister_controller
from .parts import ControllerParts

API_KEY = ApiKey.UNREGISTER_CONTROLLER


def handle(
    broker: ControllerParts,
    request: UnregisterControllerRequest,
    context: RequestContext,
    reply: Callable[[UnregisterControllerResponse], None],
) -> None:
    """Decides and writes the metadata record after earlier metadata changes are done, then answers."""
    metadata = broker.own_metadata

    def answer(outcome: UnregisterControllerResponse | KafkaError) -> None:
        if isinstance(outcome, KafkaError):
            outcome = UnregisterControllerResponse(error_code=outcome.error_code, error_message=outcome.message)
        reply(outcome)

    metadata.change(
        lambda: unregister_controller(metadata.image, request.controller_id, broker.controller.node_id),
        context.now_ms,
        answer,
    )
