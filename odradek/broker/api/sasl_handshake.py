"""SaslHandshake (17): a client names its SASL mechanism. Answered here with ILLEGAL_SASL_STATE only.

Versions: 0 to 1. 1: the client sends the mechanism's messages in SaslAuthenticate requests.
Errors: ILLEGAL_SASL_STATE. :mod:`..security.authentication.sasl_listener` serves connections that are authenticating or
that renew a session. This handler gets the others: on a listener without SASL, in a session without an end, or less
than 1 s after the last renewal. Source: KIP-43, KIP-152; ``KafkaApis.handleSaslHandshakeRequest``.
"""

from collections.abc import Callable

from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.security import SaslHandshakeRequest, SaslHandshakeResponse

from ..dispatch.request import RequestContext
from .parts import MetadataParts

API_KEY = ApiKey.SASL_HANDSHAKE


def handle(
    broker: MetadataParts,
    request: SaslHandshakeRequest,
    context: RequestContext,
    reply: Callable[[SaslHandshakeResponse], None],
) -> None:
    """Answers ILLEGAL_SASL_STATE."""
    reply(SaslHandshakeResponse(error_code=ErrorCode.ILLEGAL_SASL_STATE))
