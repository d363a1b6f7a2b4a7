"""IncrementalAlterConfigs (44): sets, deletes, appends to and subtracts from single config keys.

Versions: 0 to 1. 1: flexible.
Errors, for each resource: INVALID_REQUEST, INVALID_CONFIG, UNKNOWN_TOPIC_OR_PARTITION, INVALID_TOPIC_EXCEPTION,
BROKER_ID_NOT_REGISTERED, POLICY_VIOLATION, KAFKA_STORAGE_ERROR.
Source: KIP-339; ``ConfigAdminManager``, ``ConfigurationControlManager.incrementalAlterConfigs``.
"""

from collections.abc import Callable

from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.errors import KafkaError
from odradek.protocol.messages.configs import IncrementalAlterConfigsRequest, IncrementalAlterConfigsResponse

from ..dispatch.request import RequestContext
from ..metadata.controller.configs import incremental_alter_configs
from .loggers import set_levels
from .parts import ControllerParts

API_KEY = ApiKey.INCREMENTAL_ALTER_CONFIGS


def handle(
    broker: ControllerParts,
    request: IncrementalAlterConfigsRequest,
    context: RequestContext,
    reply: Callable[[IncrementalAlterConfigsResponse], None],
) -> None:
    """Decides and writes the metadata records in slices, after earlier metadata changes are done, then answers."""
    metadata = broker.own_metadata

    def answer(outcome: IncrementalAlterConfigsResponse | KafkaError) -> None:
        if isinstance(outcome, KafkaError):
            reply(_refused(request, outcome))
            return
        set_levels(request, (response.error_code for response in outcome.responses))
        reply(outcome)

    metadata.change(
        lambda: incremental_alter_configs(metadata.image, request, broker.controller), context.now_ms, answer
    )


def _refused(request: IncrementalAlterConfigsRequest, error: KafkaError) -> IncrementalAlterConfigsResponse:
    return IncrementalAlterConfigsResponse(
        responses=[
            IncrementalAlterConfigsResponse.AlterConfigsResourceResponse(
                error.error_code, error.message, resource.resource_type, resource.resource_name
            )
            for resource in request.resources
        ]
    )
