"""The APIs of share and streams groups: announced and refused, as by a Kafka whose features for them have level 0.

Versions: those of Kafka 4.3.1. Errors: UNSUPPORTED_VERSION, wherever a response has errors.
Announced because librdkafka's share consumer polls for ever without an error if ShareGroupHeartbeat is missing from
ApiVersions; after UNSUPPORTED_VERSION every client raises a fatal error.
Source: ``KafkaApis.isShareGroupProtocolEnabled``, ``isStreamsGroupProtocolEnabled``.
"""

from collections.abc import Callable
from typing import Any

from ...protocol.errors import ErrorCode
from .error_responses import error_response
from .request import RequestContext


def handle(_broker: object, request: Any, context: RequestContext, reply: Callable[[Any], None]) -> None:
    """Refuses the request."""
    reply(error_response(context.api_key, context.api_version, request, ErrorCode.UNSUPPORTED_VERSION))
