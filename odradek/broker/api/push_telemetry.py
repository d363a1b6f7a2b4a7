"""PushTelemetry (72): the metrics of a client, which the metrics endpoint shows.

Versions: 0.
Errors: INVALID_REQUEST (a reserved instance id; a push after one that was to be the last), THROTTLING_QUOTA_EXCEEDED,
UNKNOWN_SUBSCRIPTION_ID (the subscription has changed), UNSUPPORTED_COMPRESSION_TYPE, TELEMETRY_TOO_LARGE,
INVALID_RECORD (the metrics can't be read, or are too large when they are decompressed).
Source: KIP-714; ``ClientMetricsManager.processPushTelemetryRequest``.
"""

from collections.abc import Callable

from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.common.steps import Steps
from odradek.protocol.messages.telemetry import PushTelemetryRequest, PushTelemetryResponse

from ..dispatch.request import RequestContext
from .get_telemetry_subscriptions import client_fields
from .parts import TelemetryParts

API_KEY = ApiKey.PUSH_TELEMETRY


def handle(
    broker: TelemetryParts,
    request: PushTelemetryRequest,
    context: RequestContext,
    reply: Callable[[PushTelemetryResponse], None],
) -> Steps[None]:
    """Answers when the metrics are read."""
    error = yield from broker.telemetry.push(request, client_fields(context), context.now_ms)
    reply(PushTelemetryResponse(error_code=error))
