"""CreateDelegationToken (38): creates a token for the client, or for another user.

Versions: 1 to 3. 2: flexible. 3: the token's owner, and its requester (KIP-373).
Errors: DELEGATION_TOKEN_REQUEST_NOT_ALLOWED (PLAINTEXT, SSL without a certificate, or a client that logged in with a
token), DELEGATION_TOKEN_AUTHORIZATION_FAILED (the client lacks CREATE_TOKENS on the other user), INVALID_PRINCIPAL_TYPE
(a renewer of another type than User), DELEGATION_TOKEN_AUTH_DISABLED (no ``delegation.token.secret.key``),
UNSUPPORTED_VERSION (``metadata.version`` below 3.6-IV2).
Source: KIP-48, KIP-373, KIP-900; ``KafkaApis.handleCreateTokenRequest``, ``DelegationTokenControlManager``.
"""

from collections.abc import Callable

from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.errors import KafkaError
from odradek.protocol.messages.security import CreateDelegationTokenRequest, CreateDelegationTokenResponse

from ..dispatch.request import RequestContext
from ..metadata.controller.delegation_tokens import TokenSettings, create_token, owner_of
from ..security.token_requests import refused_creation, shown_requester
from .parts import DelegationTokenParts

API_KEY = ApiKey.CREATE_DELEGATION_TOKEN


def handle(
    broker: DelegationTokenParts,
    request: CreateDelegationTokenRequest,
    context: RequestContext,
    reply: Callable[[CreateDelegationTokenResponse], None],
) -> None:
    """Checks the request, writes the token's metadata record and answers."""
    refused = refused_creation(broker.security_protocols, request, context)
    if refused is not None:
        reply(refused)
        return
    metadata, requester = broker.own_metadata, context.principal

    def answer(outcome: CreateDelegationTokenResponse | KafkaError) -> None:
        if isinstance(outcome, KafkaError):
            outcome = CreateDelegationTokenResponse(outcome.error_code, *owner_of(request, requester))
        shown = shown_requester(requester, context.api_version)
        outcome.token_requester_principal_type, outcome.token_requester_principal_name = shown
        reply(outcome)

    metadata.change(
        lambda: create_token(
            metadata.image,
            request,
            broker.controller,
            broker.token_hmacs,
            TokenSettings.of(broker.static_config),
            requester,
            context.now_ms,
        ),
        context.now_ms,
        answer,
    )
