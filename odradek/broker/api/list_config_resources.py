"""ListConfigResources (74): the names of resources that have or can have configs.

Versions: 0 to 1. 0: client metrics subscriptions only (the API was ListClientMetricsResources). 1: resources of the
requested types, or of all types if the request names none: topics, brokers and their loggers, client metrics
subscriptions, groups that have configs.
Errors: UNSUPPORTED_VERSION (a type that can't be listed).
Source: KIP-714, KIP-1142; ``KafkaApis.handleListConfigResources``.
"""

from collections.abc import Callable, Iterator

from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.configs import ListConfigResourcesRequest, ListConfigResourcesResponse

from ..dispatch.request import RequestContext
from ..metadata.image.image import MetadataImage, ResourceType
from .parts import MetadataParts

API_KEY = ApiKey.LIST_CONFIG_RESOURCES
NAMES_A_STEP = 500
LISTED = (
    ResourceType.TOPIC,
    ResourceType.BROKER,
    ResourceType.BROKER_LOGGER,
    ResourceType.CLIENT_METRICS,
    ResourceType.GROUP,
)


def handle(
    broker: MetadataParts,
    request: ListConfigResourcesRequest,
    context: RequestContext,
    reply: Callable[[ListConfigResourcesResponse], None],
) -> Iterator[None]:
    """Answers from the metadata image."""
    if context.api_version == 0:
        types = [int(ResourceType.CLIENT_METRICS)]
    else:
        types = list(dict.fromkeys(request.resource_types)) or [int(kind) for kind in LISTED]
    response = ListConfigResourcesResponse()
    if not set(types) <= set(LISTED):
        response.error_code = ErrorCode.UNSUPPORTED_VERSION
        types = []
    for kind in types:
        for count, name in enumerate(_names(broker.metadata.image, kind, context.listener_name)):
            if not count % NAMES_A_STEP:
                yield
            response.config_resources.append(ListConfigResourcesResponse.ConfigResource(name, kind))
    reply(response)


def _names(image: MetadataImage, kind: int, listener_name: str) -> Iterator[str]:
    if kind == ResourceType.TOPIC:
        yield from list(image.topics_by_name)
    elif kind in (ResourceType.BROKER, ResourceType.BROKER_LOGGER):
        for broker, _ in list(image.alive_endpoints(listener_name)):
            yield str(broker.broker_id)
    else:
        yield from [name for resource_type, name in image.configs if resource_type == kind]
