"""StreamsGroupTopologyDescriptionUpdate (93): a member sends the description of its topology, for people to look at.

Versions: 0. Errors: UNSUPPORTED_VERSION. Kafka passes descriptions to a plugin that stores them, and refuses the
request if it has none (``group.streams.topology.description.plugin.class``). This broker has none: no heartbeat asks
for a description. Source: ``GroupCoordinatorService.streamsGroupTopologyDescriptionUpdate``.
"""

from collections.abc import Callable

from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.streams_groups import (
    StreamsGroupTopologyDescriptionUpdateRequest,
    StreamsGroupTopologyDescriptionUpdateResponse,
)

from ..dispatch.request import RequestContext
from ..metadata.image.features import STREAMS_VERSION
from .parts import GroupParts

API_KEY = ApiKey.STREAMS_GROUP_TOPOLOGY_DESCRIPTION_UPDATE
NO_PLUGIN = "The broker has no streams group topology description plugin configured."


def handle(
    broker: GroupParts,
    request: StreamsGroupTopologyDescriptionUpdateRequest,
    context: RequestContext,
    reply: Callable[[StreamsGroupTopologyDescriptionUpdateResponse], None],
) -> None:
    """Refuses the request."""
    enabled = (
        broker.metadata.image.features.get(STREAMS_VERSION) and broker.group_coordinator.config.serves_streams_protocol
    )
    reply(
        StreamsGroupTopologyDescriptionUpdateResponse(
            error_code=ErrorCode.UNSUPPORTED_VERSION, error_message=NO_PLUGIN if enabled else None
        )
    )
