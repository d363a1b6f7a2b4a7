"""ApiVersions (18): the APIs that the broker serves, and the features of the cluster.

Versions: 0 to 5. 1: throttle time. 3: flexible (the response's header never is), client software name and version,
features. 4: a feature's lowest version may be 0. 5: the cluster id and node id that the client expects. A request of an
unknown version is answered in the layout of version 0, with only the entry of ApiVersions itself, so that the client
can retry with a supported version.
Errors: UNSUPPORTED_VERSION, INVALID_REQUEST (an invalid software name or version, or only one of cluster id and node
id), REBOOTSTRAP_REQUIRED (the client expects another node). Source: KIP-35, KIP-511, KIP-584, KIP-1242;
``ApiVersionsRequest``, ``DefaultApiVersionManager``.
"""

import re
from collections.abc import Callable

from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.metadata import ApiVersionsRequest, ApiVersionsResponse

from ..dispatch.request import RequestContext
from ..dispatch.served import SERVED, TELEMETRY, served_versions
from ..metadata.publisher.published import PublishedMetadata
from ..metadata.quorum.forwarded_apis import FORWARDED
from .parts import MetadataParts

API_KEY = ApiKey.API_VERSIONS
TELEMETRY_KEY = "odradek.telemetry.enable"
UNKNOWN_NODE = (None, -1)
"""Cluster id and node id that a client sends to an address of which it knows only the address."""
SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")


def handle(
    broker: MetadataParts,
    request: ApiVersionsRequest | None,
    context: RequestContext,
    reply: Callable[[ApiVersionsResponse], None],
) -> None:
    """Answers with the served APIs and their versions. ``request`` is None if its version is unknown."""
    if request is None:
        lowest, highest = served_versions(API_KEY)
        entry = ApiVersionsResponse.ApiVersion(api_key=API_KEY, min_version=lowest, max_version=highest)
        reply(ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=[entry]))
        return
    error = _error(request, context.api_version, broker.metadata)
    if error:
        reply(ApiVersionsResponse(error_code=error))
        return
    response = ApiVersionsResponse(api_keys=_served(broker))
    if context.api_version >= 3:
        context.identify(request.client_software_name, request.client_software_version)
        _add_features(response, broker.metadata, context.api_version)
    reply(response)


def _error(request: ApiVersionsRequest, version: int, here: PublishedMetadata) -> ErrorCode:
    """NONE, or why the request is refused."""
    if version >= 3 and not (
        SOFTWARE.fullmatch(request.client_software_name) and SOFTWARE.fullmatch(request.client_software_version)
    ):
        return ErrorCode.INVALID_REQUEST
    expected = request.cluster_id, request.node_id
    if expected == UNKNOWN_NODE:
        return ErrorCode.NONE
    if request.cluster_id is None or request.node_id == -1:
        return ErrorCode.INVALID_REQUEST
    # The address leads to another node than the client's metadata says, for example because it was given away.
    return ErrorCode.NONE if expected == (here.cluster_id, here.node_id) else ErrorCode.REBOOTSTRAP_REQUIRED


def _served(broker: MetadataParts) -> list[ApiVersionsResponse.ApiVersion]:
    unannounced = frozenset() if broker.static_config.get_boolean(TELEMETRY_KEY) else TELEMETRY
    versions = {api_key: served_versions(api_key) for api_key in SERVED.keys() - unannounced}
    if broker.is_cluster_member:
        # Controllers answer forwarded APIs, so their versions count; an API that they don't support is left out.
        for api_key in FORWARDED:
            versions.pop(api_key, None)
        versions.update(broker.forwarded_versions())
    return [
        ApiVersionsResponse.ApiVersion(api_key=api_key, min_version=lowest, max_version=highest)
        for api_key, (lowest, highest) in sorted(versions.items())
    ]


def _add_features(response: ApiVersionsResponse, features: PublishedMetadata, version: int) -> None:
    response.supported_features = [
        ApiVersionsResponse.SupportedFeatureKey(name=name, min_version=lowest, max_version=highest)
        for name, (lowest, highest) in features.supported_features().items()
        # Before version 4 a lowest level of 0 could not be sent; Kafka leaves such features out.
        if lowest > 0 or version >= 4
    ]
    response.finalized_features_epoch = features.finalized_features_epoch()
    response.finalized_features = [
        ApiVersionsResponse.FinalizedFeatureKey(name=name, max_version_level=level, min_version_level=level)
        for name, level in features.finalized_features().items()
    ]
