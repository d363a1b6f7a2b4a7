"""Refuses the APIs of share and streams groups, as Kafka does if ``share.version`` and ``streams.version`` are 0.

Versions: as in Kafka 4.4.0. Errors: UNSUPPORTED_VERSION, in every error field of the response. ApiVersions lists these
APIs, because librdkafka's share consumer polls forever without an error if ShareGroupHeartbeat is missing there. After
UNSUPPORTED_VERSION every client raises a fatal error. Source: ``KafkaApis.isShareGroupProtocolEnabled``,
``isStreamsGroupProtocolEnabled``.
"""

from collections.abc import Callable
from typing import Any

from odradek.protocol.errors import ErrorCode

from .error_responses import error_response
from .request import RequestContext


def handle(_broker: object, request: Any, context: RequestContext, reply: Callable[[Any], None]) -> None:
    """Refuses the request."""
    reply(error_response(context.api_key, context.api_version, request, ErrorCode.UNSUPPORTED_VERSION))
