"""DescribeDelegationToken (41): the tokens that the client may see, with their HMACs.

Versions: 1 to 3. 2: flexible. 3: the token's requester (KIP-373).
Errors: DELEGATION_TOKEN_REQUEST_NOT_ALLOWED (PLAINTEXT, SSL without a certificate, or a client that logged in with a
token), DELEGATION_TOKEN_AUTH_DISABLED (no ``delegation.token.secret.key``).
Source: KIP-48, KIP-373; ``KafkaApis.handleDescribeTokensRequest``, ``DelegationTokenManager.filterToken``.
"""

from collections.abc import Callable, Iterator

from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.security import DescribeDelegationTokenRequest, DescribeDelegationTokenResponse
from odradek.protocol.security.acl import AclOperation, AclResourceType

from ..dispatch.request import RequestContext
from ..metadata.controller.delegation_tokens import Principal
from ..metadata.image.delegation_tokens import DelegationToken
from ..security.token_requests import allows_token_requests, shown_requester
from .parts import DelegationTokenParts

API_KEY = ApiKey.DESCRIBE_DELEGATION_TOKEN
TOKENS_A_STEP = 50
"""The number of tokens in one step. Each takes up to two authorizer decisions of 4 us, with a log line."""
Described = DescribeDelegationTokenResponse.DescribedDelegationToken
Renewer = DescribeDelegationTokenResponse.DescribedDelegationTokenRenewer


def handle(
    broker: DelegationTokenParts,
    request: DescribeDelegationTokenRequest,
    context: RequestContext,
    reply: Callable[[DescribeDelegationTokenResponse], None],
) -> Iterator[object] | None:
    """Answers from the metadata image, in slices."""
    if not allows_token_requests(broker.security_protocols, context):
        reply(DescribeDelegationTokenResponse(ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED))
    elif broker.token_hmacs is None:
        reply(DescribeDelegationTokenResponse(ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED))
    elif request.owners is not None and not request.owners:
        reply(DescribeDelegationTokenResponse())
    else:
        return _describe(broker, request, context, reply)
    return None


def _describe(
    broker: DelegationTokenParts,
    request: DescribeDelegationTokenRequest,
    context: RequestContext,
    reply: Callable[[DescribeDelegationTokenResponse], None],
) -> Iterator[None]:
    hmacs = broker.token_hmacs
    assert hmacs is not None
    owners = None
    if request.owners is not None:
        owners = {f"{owner.principal_type}:{owner.principal_name}" for owner in request.owners}
        yield
    response = DescribeDelegationTokenResponse()
    for number, token in enumerate(list(broker.metadata.image.delegation_tokens.values()), 1):
        is_meant = owners is None or not owners.isdisjoint((token.owner, token.requester, *token.renewers))
        if is_meant and _may_see(context, token):
            response.tokens.append(_described(token, hmacs.hmac_of(token.token_id), context.api_version))
        if not number % TOKENS_A_STEP:
            yield
    reply(response)


def _may_see(context: RequestContext, token: DelegationToken) -> bool:
    access = context.access
    return (
        token.concerns(context.principal)
        or access is None
        or access.may(AclOperation.DESCRIBE, AclResourceType.DELEGATION_TOKEN, token.token_id)
        or access.may(AclOperation.DESCRIBE_TOKENS, AclResourceType.USER, token.owner)
    )


def _described(token: DelegationToken, digest: bytes, version: int) -> Described:
    return Described(
        *Principal.parse(token.owner),
        *shown_requester(token.requester, version),
        token.issue_ms,
        token.expiry_ms,
        token.max_ms,
        token.token_id,
        digest,
        [Renewer(*Principal.parse(renewer)) for renewer in token.renewers],
    )
