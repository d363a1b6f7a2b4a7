"""Refuses the APIs of streams groups, as Kafka does if ``streams.version`` is 0.

Versions: as in Kafka 4.4.0. Errors: UNSUPPORTED_VERSION, in every error field of the response. ApiVersions lists these
APIs, so that a client learns by a fatal error that they are refused. Source:
``KafkaApis.isStreamsGroupProtocolEnabled``.
"""

from collections.abc import Callable
from typing import Any

from odradek.protocol.errors import ErrorCode

from .error_responses import error_response
from .request import RequestContext


def handle(_broker: object, request: Any, context: RequestContext, reply: Callable[[Any], None]) -> None:
    """Refuses the request."""
    reply(error_response(context.api_key, context.api_version, request, ErrorCode.UNSUPPORTED_VERSION))
