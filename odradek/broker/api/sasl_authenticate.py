"""SaslAuthenticate (36): one message of a SASL mechanism. Answered here with ILLEGAL_SASL_STATE only.

Versions: 0 to 2. 1: the lifetime of the session in the answer. 2: flexible.
Errors: ILLEGAL_SASL_STATE, SASL_AUTHENTICATION_FAILED. :mod:`..security.authentication.sasl_listener` serves
connections that are authenticating. This handler gets the requests of all other connections, which are errors. Source:
KIP-152, KIP-368; ``KafkaApis.handleSaslAuthenticateRequest``.
"""

from collections.abc import Callable

from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.security import SaslAuthenticateRequest, SaslAuthenticateResponse

from ..dispatch.request import RequestContext
from .parts import MetadataParts

API_KEY = ApiKey.SASL_AUTHENTICATE
UNEXPECTED = "SaslAuthenticate request received after successful authentication"


def handle(
    broker: MetadataParts,
    request: SaslAuthenticateRequest,
    context: RequestContext,
    reply: Callable[[SaslAuthenticateResponse], None],
) -> None:
    """Answers ILLEGAL_SASL_STATE."""
    reply(
        SaslAuthenticateResponse(
            error_code=ErrorCode.ILLEGAL_SASL_STATE, error_message=UNEXPECTED, auth_bytes=b"", session_lifetime_ms=0
        )
    )
