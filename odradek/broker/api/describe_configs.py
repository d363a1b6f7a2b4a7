"""DescribeConfigs (32): the configs of topics, brokers, groups and client metrics subscriptions.

Versions: 0 to 4. 1: synonyms, and the source of a value (0: only whether it is the default). 3: types and
documentation. 4: flexible.
Errors, for each resource: UNKNOWN_TOPIC_OR_PARTITION, INVALID_TOPIC_EXCEPTION, INVALID_REQUEST (another broker's id, a
missing name, an unknown resource type). An empty broker name means the cluster-wide defaults of all brokers.
Source: KIP-133, KIP-226; ``ConfigHelper``.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial

from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.configs import DescribeConfigsRequest, DescribeConfigsResponse
from odradek.protocol.names.topics import check_topic_name

from ..config.describe import (
    DescribedConfig,
    describe_broker,
    describe_client_metrics,
    describe_cluster_defaults,
    describe_group,
    describe_topic,
)
from ..dispatch.request import RequestContext
from ..metadata.image.image import Endpoint, ResourceType
from ..metadata.publisher.decision import ApiError
from ..metadata.publisher.published import PublishedMetadata
from .loggers import describe_loggers
from .parts import MetadataParts

API_KEY = ApiKey.DESCRIBE_CONFIGS
DescribeConfigsResult = DescribeConfigsResponse.DescribeConfigsResult
Entry = DescribeConfigsResponse.DescribeConfigsResourceResult
NAMES_A_STEP = 500
LISTS_KNOWN = 100
"""The most lists of entries that one answer keeps for sharing between resources."""


def handle(
    broker: MetadataParts,
    request: DescribeConfigsRequest,
    context: RequestContext,
    reply: Callable[[DescribeConfigsResponse], None],
) -> Iterator[None]:
    """Answers from the broker's configuration and the metadata image."""
    served = frozenset(ResourceType) - {ResourceType.UNKNOWN}
    for count, resource in enumerate(request.resources):
        if not count % NAMES_A_STEP:
            yield
        if resource.resource_type not in served:
            # As in Kafka, one such resource makes the whole request fail.
            refused = [_refusal(each, ApiError.of(ErrorCode.INVALID_REQUEST)) for each in request.resources]
            reply(DescribeConfigsResponse(results=refused))
            return
    entries = Entries(broker, request, context.api_version)
    results = []
    for resource in request.resources:
        yield
        try:
            described = entries.of(resource)
        except KafkaError as error:
            results.append(_refusal(resource, ApiError.from_error(error)))
            continue
        if described is None:
            results.append(_refusal(resource, ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "")))
            continue
        results.append(
            DescribeConfigsResult(
                resource_type=resource.resource_type, resource_name=resource.resource_name, configs=described
            )
        )
    reply(DescribeConfigsResponse(results=results))


class Entries:
    """The config entries of one answer. Resources of a type with equal settings share one list of entries.

    A list costs 0.5 ms and 10 kB, and most resources of a large request have equal settings.
    """

    def __init__(self, broker: MetadataParts, request: DescribeConfigsRequest, version: int) -> None:
        self._broker = broker
        self._request = request
        self._version = version
        self._known: dict[tuple[object, ...], list[Entry]] = {}

    def of(self, resource: DescribeConfigsRequest.DescribeConfigsResource) -> list[Entry] | None:
        """The config entries of a resource; None for an unknown topic. Raises KafkaError."""
        described = _describe(self._broker, resource)
        if described is None:
            return None
        kind, keys = resource.resource_type, resource.configuration_keys
        key: tuple[object, ...] = (kind, None if keys is None else tuple(keys))
        if kind in (ResourceType.TOPIC, ResourceType.GROUP, ResourceType.CLIENT_METRICS):
            # The broker's own configs are part of the key, as they may change while the answer is built in steps.
            metadata = self._broker.metadata
            image = metadata.image
            layers = image.broker_config_layers(metadata.node_id)
            set_here = image.config_of(kind, resource.resource_name)
            key += (*(tuple(sorted(layer.items())) for layer in (set_here, *layers)),)
        else:
            key += (resource.resource_name,)
        entries = self._known.get(key)
        if entries is None:
            entries = [
                _entry(config, self._request, self._version)
                for config in described()
                if not keys or config.name in keys
            ]
            if len(self._known) < LISTS_KNOWN:
                self._known[key] = entries
        return entries


def _refusal(resource: DescribeConfigsRequest.DescribeConfigsResource, error: ApiError) -> DescribeConfigsResult:
    return DescribeConfigsResult(error.code, error.message, resource.resource_type, resource.resource_name)


def _describe(
    broker: MetadataParts, resource: DescribeConfigsRequest.DescribeConfigsResource
) -> Callable[[], Iterable[DescribedConfig]] | None:
    """A function that returns the configs of a resource; None for an unknown topic. Raises KafkaError."""
    metadata, server = broker.metadata, broker.static_config
    image = metadata.image
    kind, name = resource.resource_type, resource.resource_name
    overrides = image.config_of(kind, name)
    cluster, own = image.broker_config_layers(metadata.node_id)
    if kind == ResourceType.TOPIC:
        check_topic_name(name)
        known = name in image.topics_by_name
        return partial(describe_topic, server, overrides, cluster, own) if known else None
    if kind == ResourceType.BROKER:
        if not name:
            return partial(describe_cluster_defaults, cluster)
        _check_broker_id(metadata, name, " or empty string,")
        takes = not broker.is_cluster_member
        return partial(describe_broker, server, cluster, own, _advertised_at_start(broker), takes_addresses=takes)
    if kind == ResourceType.BROKER_LOGGER:
        if not name:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "Broker id must not be empty")
        _check_broker_id(metadata, name, "")
        return describe_loggers
    if kind == ResourceType.CLIENT_METRICS:
        if not name:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "Client metrics subscription name must not be empty")
        return partial(describe_client_metrics, overrides)
    if not name:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "Group name must not be empty")
    return partial(describe_group, server, overrides, cluster, own)


def _advertised_at_start(broker: MetadataParts) -> str:
    """The addresses for clients without a dynamic ``advertised.listeners``, in the form of that key."""
    metadata = broker.metadata
    endpoints: Iterable[Endpoint]
    if broker.is_cluster_member:
        endpoints = metadata.image.brokers[metadata.node_id].endpoints.values()
    else:
        endpoints = broker.controller.endpoints_under(None)
    return ",".join(
        f"{endpoint.name}://{f'[{endpoint.host}]' if ':' in endpoint.host else endpoint.host}:{endpoint.port}"
        for endpoint in endpoints
    )


def _check_broker_id(metadata: PublishedMetadata, name: str, alternative: str) -> None:
    try:
        broker_id = int(name)
    except ValueError:
        sentence = f"Broker id must be an integer, but it is: {name}"
        raise KafkaError(ErrorCode.INVALID_REQUEST, sentence) from None
    if broker_id != metadata.node_id:
        sentence = f"Unexpected broker id, expected {metadata.node_id}{alternative} but received {name}"
        raise KafkaError(ErrorCode.INVALID_REQUEST, sentence)


def _entry(config: DescribedConfig, request: DescribeConfigsRequest, version: int) -> Entry:
    entry = Entry(
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
            DescribeConfigsResponse.DescribeConfigsSynonym(synonym.name, synonym.value, synonym.source)
            for synonym in config.synonyms
        ]
    return entry
