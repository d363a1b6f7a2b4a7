"""AlterConfigs (33): replaces all configs of a resource; keys that the request does not name are deleted.

IncrementalAlterConfigs is the newer API.

Versions: 0 to 2. 1: answers are sent before throttling. 2: flexible.
Errors, for each resource: INVALID_REQUEST, INVALID_CONFIG, UNKNOWN_TOPIC_OR_PARTITION, INVALID_TOPIC_EXCEPTION,
BROKER_ID_NOT_REGISTERED, POLICY_VIOLATION, KAFKA_STORAGE_ERROR.
Source: KIP-133; ``ConfigAdminManager``, ``ConfigurationControlManager.legacyAlterConfigs``.
"""

from collections.abc import Callable

from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.errors import KafkaError
from odradek.protocol.messages.configs import AlterConfigsRequest, AlterConfigsResponse

from ..dispatch.request import RequestContext
from ..metadata.controller.configs import alter_configs
from .parts import ControllerParts

API_KEY = ApiKey.ALTER_CONFIGS


def handle(
    broker: ControllerParts,
    request: AlterConfigsRequest,
    context: RequestContext,
    reply: Callable[[AlterConfigsResponse], None],
) -> None:
    """Decides and writes the metadata records in slices, after earlier metadata changes are done, then answers."""
    metadata = broker.own_metadata

    def answer(outcome: AlterConfigsResponse | KafkaError) -> None:
        reply(_refused(request, outcome) if isinstance(outcome, KafkaError) else outcome)

    metadata.change(lambda: alter_configs(metadata.image, request, broker.controller), context.now_ms, answer)


def _refused(request: AlterConfigsRequest, error: KafkaError) -> AlterConfigsResponse:
    return AlterConfigsResponse(
        responses=[
            AlterConfigsResponse.AlterConfigsResourceResponse(
                error.error_code, error.message, resource.resource_type, resource.resource_name
            )
            for resource in request.resources
        ]
    )
