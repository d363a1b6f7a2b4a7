"""RenewDelegationToken (39): extends the expiry of a token, at most to its maximum lifetime.

Versions: 1 and 2. 2: flexible.
Errors: DELEGATION_TOKEN_REQUEST_NOT_ALLOWED (PLAINTEXT, SSL without a certificate, or a client that logged in with a
token), DELEGATION_TOKEN_NOT_FOUND, DELEGATION_TOKEN_OWNER_MISMATCH (neither owner nor renewer),
DELEGATION_TOKEN_EXPIRED, DELEGATION_TOKEN_AUTH_DISABLED (no ``delegation.token.secret.key``), UNSUPPORTED_VERSION
(``metadata.version`` below 3.6-IV2).
Source: KIP-48, KIP-900; ``KafkaApis.handleRenewTokenRequest``, ``DelegationTokenControlManager``.
"""

from collections.abc import Callable

from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.security import RenewDelegationTokenRequest, RenewDelegationTokenResponse

from ..dispatch.request import RequestContext
from ..metadata.controller.delegation_tokens import TokenSettings, renew_token
from ..security.token_requests import NO_TIME_MS, allows_token_requests
from .parts import DelegationTokenParts

API_KEY = ApiKey.RENEW_DELEGATION_TOKEN


def handle(
    broker: DelegationTokenParts,
    request: RenewDelegationTokenRequest,
    context: RequestContext,
    reply: Callable[[RenewDelegationTokenResponse], None],
) -> None:
    """Checks the request, writes the token's metadata record and answers."""
    if not allows_token_requests(broker.security_protocols, context):
        reply(RenewDelegationTokenResponse(ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED, NO_TIME_MS))
        return
    metadata = broker.own_metadata

    def answer(outcome: RenewDelegationTokenResponse | KafkaError) -> None:
        reply(RenewDelegationTokenResponse(outcome.error_code) if isinstance(outcome, KafkaError) else outcome)

    metadata.change(
        lambda: renew_token(
            metadata.image,
            request,
            broker.token_hmacs,
            TokenSettings.of(broker.static_config),
            context.principal,
            context.now_ms,
        ),
        context.now_ms,
        answer,
    )
