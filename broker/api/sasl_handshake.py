"""SaslHandshake (17): a client names its SASL mechanism.

Versions: 0 to 1. 1: tokens come in SaslAuthenticate requests.
Errors: ILLEGAL_SASL_STATE. Clients that have not authenticated are served by :mod:`..security.sasl_listener`; here come
requests of others, on a listener without SASL or too early to renew a session. Source: KIP-43, KIP-152;
``KafkaApis.handleSaslHandshakeRequest``.
"""

from collections.abc import Callable

from ...protocol.api_keys import ApiKey
from ...protocol.errors import ErrorCode
from ...protocol.messages.security import SaslHandshakeRequest, SaslHandshakeResponse
from ..dispatch.request import RequestContext
from ..server.broker import Broker

API_KEY = ApiKey.SASL_HANDSHAKE


def handle(
    broker: Broker,
    request: SaslHandshakeRequest,
    context: RequestContext,
    reply: Callable[[SaslHandshakeResponse], None],
) -> None:
    """Answers that it is not the time."""
    reply(SaslHandshakeResponse(error_code=ErrorCode.ILLEGAL_SASL_STATE))
