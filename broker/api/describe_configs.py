"""DescribeConfigs (32): the configs of topics, brokers, groups and client metrics subscriptions.

Versions: 0 to 4. 1: synonyms, and where a value comes from (0 says only whether it is the default). 3: types and
documentation. 4: flexible.
Errors, for each resource: UNKNOWN_TOPIC_OR_PARTITION, INVALID_TOPIC_EXCEPTION, INVALID_REQUEST (another broker's id, no
name where one is needed, an unknown type).
The empty broker name means what is set for all brokers. This broker has no loggers that requests could see.
Source: KIP-133, KIP-226; ``ConfigHelper``.
"""

from collections.abc import Callable, Iterable

from ...protocol.api_keys import ApiKey
from ...protocol.errors import ErrorCode, KafkaError
from ...protocol.messages.configs import DescribeConfigsRequest, DescribeConfigsResponse
from ..config.describe import (
    DescribedConfig,
    describe_broker,
    describe_client_metrics,
    describe_cluster_defaults,
    describe_group,
    describe_topic,
)
from ..metadata.decision import ApiError
from ..metadata.image import ResourceType
from ..metadata.service import HasMetadata, MetadataService
from ..metadata.topic_names import check_topic_name
from ..request import RequestContext

API_KEY = ApiKey.DESCRIBE_CONFIGS
Result = DescribeConfigsResponse.DescribeConfigsResult


def handle(
    broker: HasMetadata,
    request: DescribeConfigsRequest,
    context: RequestContext,
    reply: Callable[[DescribeConfigsResponse], None],
) -> None:
    """Answers from the configuration and the image."""
    served = set(ResourceType) - {ResourceType.UNKNOWN}
    if any(one.resource_type not in served for one in request.resources):
        # As in Kafka one such resource refuses the whole request.
        refused = [_refusal(one, ApiError.of(ErrorCode.INVALID_REQUEST)) for one in request.resources]
        reply(DescribeConfigsResponse(results=refused))
        return
    results = []
    for resource in request.resources:
        try:
            described = _describe(broker.metadata, resource)
        except KafkaError as error:
            results.append(_refusal(resource, ApiError.from_error(error)))
            continue
        if described is None:
            results.append(_refusal(resource, ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "")))
            continue
        keys = resource.configuration_keys
        entries = [_entry(one, request, context.api_version) for one in described if not keys or one.name in keys]
        results.append(
            Result(resource_type=resource.resource_type, resource_name=resource.resource_name, configs=entries)
        )
    reply(DescribeConfigsResponse(results=results))


def _refusal(resource: DescribeConfigsRequest.DescribeConfigsResource, error: ApiError) -> Result:
    return Result(error.code, error.message, resource.resource_type, resource.resource_name)


def _describe(
    metadata: MetadataService, resource: DescribeConfigsRequest.DescribeConfigsResource
) -> Iterable[DescribedConfig] | None:
    """The configs of a resource; None for a topic that is not there. Raises KafkaError."""
    image, server = metadata.image, metadata.controller.config
    kind, name = resource.resource_type, resource.resource_name
    overrides = image.config_of(kind, name)
    cluster = image.config_of(ResourceType.BROKER, "")
    own = image.config_of(ResourceType.BROKER, str(metadata.node_id))
    if kind == ResourceType.TOPIC:
        check_topic_name(name)
        return describe_topic(server, overrides, cluster, own) if name in image.topics_by_name else None
    if kind == ResourceType.BROKER:
        if not name:
            return describe_cluster_defaults(cluster)
        _check_broker_id(metadata, name, " or empty string,")
        return describe_broker(server, cluster, own, _advertised(metadata))
    if kind == ResourceType.BROKER_LOGGER:
        if not name:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "Broker id must not be empty")
        _check_broker_id(metadata, name, "")
        return []
    if kind == ResourceType.CLIENT_METRICS:
        if not name:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "Client metrics subscription name must not be empty")
        return describe_client_metrics(overrides)
    if not name:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "Group name must not be empty")
    return describe_group(server, overrides, cluster, own)


def _advertised(metadata: MetadataService) -> str:
    """What clients connect to, as ``advertised.listeners`` has it."""
    endpoints = metadata.image.brokers[metadata.node_id].endpoints.values()
    return ",".join(f"{one.name}://{f'[{one.host}]' if ':' in one.host else one.host}:{one.port}" for one in endpoints)


def _check_broker_id(metadata: MetadataService, name: str, alternative: str) -> None:
    try:
        broker_id = int(name)
    except ValueError:
        sentence = f"Broker id must be an integer, but it is: {name}"
        raise KafkaError(ErrorCode.INVALID_REQUEST, sentence) from None
    if broker_id != metadata.node_id:
        sentence = f"Unexpected broker id, expected {metadata.node_id}{alternative} but received {name}"
        raise KafkaError(ErrorCode.INVALID_REQUEST, sentence)


def _entry(
    config: DescribedConfig, request: DescribeConfigsRequest, version: int
) -> DescribeConfigsResponse.DescribeConfigsResourceResult:
    entry = DescribeConfigsResponse.DescribeConfigsResourceResult(
        name=config.name,
        value=config.value,
        read_only=config.read_only,
        is_sensitive=config.is_sensitive,
        config_source=config.source,
        config_type=config.config_type,
        documentation=config.documentation if version >= 3 and request.include_documentation else None,
    )
    if version == 0:
        entry.is_default = config.is_default
    elif request.include_synonyms:
        entry.synonyms = [
            DescribeConfigsResponse.DescribeConfigsSynonym(one.name, one.value, one.source) for one in config.synonyms
        ]
    return entry
