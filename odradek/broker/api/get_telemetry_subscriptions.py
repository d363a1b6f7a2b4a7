"""GetTelemetrySubscriptions (71): which metrics a client pushes, how often, and its instance id.

Versions: 0.
Errors: THROTTLING_QUOTA_EXCEEDED (the last request was less than the push interval ago).
Announced only with ``odradek.telemetry.enable``; without it answered, too, as by a Kafka without a plugin. Source:
KIP-714; ``ClientMetricsManager.processGetTelemetrySubscriptionRequest``.
"""

from collections.abc import Callable

from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.messages.telemetry import GetTelemetrySubscriptionsRequest, GetTelemetrySubscriptionsResponse

from ..dispatch.request import RequestContext
from ..telemetry.instances import ClientFields
from .parts import TelemetryParts

API_KEY = ApiKey.GET_TELEMETRY_SUBSCRIPTIONS


def handle(
    broker: TelemetryParts,
    request: GetTelemetrySubscriptionsRequest,
    context: RequestContext,
    reply: Callable[[GetTelemetrySubscriptionsResponse], None],
) -> None:
    """Answers with the subscription."""
    reply(broker.telemetry.subscription(request, client_fields(context), context.now_ms))


def client_fields(context: RequestContext) -> ClientFields:
    """The client of a request."""
    name, version = context.client_software()
    return ClientFields(
        context.client_id, name, version, context.client_host, context.client_port(), context.connection_id
    )
