"""ExpireDelegationToken (40): sets the expiry of a token, or removes the token (a negative period).

Versions: 1 and 2. 2: flexible.
Errors: DELEGATION_TOKEN_REQUEST_NOT_ALLOWED (PLAINTEXT, SSL without a certificate, or a client that logged in with a
token), DELEGATION_TOKEN_NOT_FOUND, DELEGATION_TOKEN_OWNER_MISMATCH (neither owner nor renewer),
DELEGATION_TOKEN_EXPIRED, DELEGATION_TOKEN_AUTH_DISABLED (no ``delegation.token.secret.key``), UNSUPPORTED_VERSION
(``metadata.version`` below 3.6-IV2).
Source: KIP-48, KIP-900; ``KafkaApis.handleExpireTokenRequest``, ``DelegationTokenControlManager``.
"""

from collections.abc import Callable

from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.security import ExpireDelegationTokenRequest, ExpireDelegationTokenResponse

from ..dispatch.request import RequestContext
from ..metadata.controller.delegation_tokens import expire_token
from ..security.token_requests import NO_TIME_MS, allows_token_requests
from .parts import DelegationTokenParts

API_KEY = ApiKey.EXPIRE_DELEGATION_TOKEN


def handle(
    broker: DelegationTokenParts,
    request: ExpireDelegationTokenRequest,
    context: RequestContext,
    reply: Callable[[ExpireDelegationTokenResponse], None],
) -> None:
    """Checks the request, writes or removes the token's metadata record and answers."""
    if not allows_token_requests(broker.security_protocols, context):
        reply(ExpireDelegationTokenResponse(ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED, NO_TIME_MS))
        return
    metadata = broker.own_metadata

    def answer(outcome: ExpireDelegationTokenResponse | KafkaError) -> None:
        reply(ExpireDelegationTokenResponse(outcome.error_code) if isinstance(outcome, KafkaError) else outcome)

    metadata.change(
        lambda: expire_token(metadata.image, request, broker.token_hmacs, context.principal, context.now_ms),
        context.now_ms,
        answer,
    )
