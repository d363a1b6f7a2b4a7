"""Checks delegation token requests on the broker, before a controller carries them out.

Owns: the rule which connections may send them, the check of the token's owner. Never does: changing tokens. Source:
``KafkaApis.allowTokenRequests``, ``KafkaApis.handleCreateTokenRequest``; KIP-48, KIP-373.
"""

from collections.abc import Mapping

from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.security import CreateDelegationTokenRequest, CreateDelegationTokenResponse
from odradek.protocol.security.acl import ANONYMOUS, AclOperation, AclResourceType

from ..dispatch.request import RequestContext
from ..metadata.controller.delegation_tokens import USER_TYPE, Principal, owner_of

REQUESTER_SINCE = 3
"""The first version whose answers have a token's requester (KIP-373)."""
NO_TIME_MS = -1
"""The times in the answer if the broker refuses a request itself (``DelegationTokenManager.ERROR_TIMESTAMP``)."""


def allows_token_requests(protocols: Mapping[str, str], context: RequestContext) -> bool:
    """Whether the client has authenticated, and not with a delegation token.

    ``protocols``: the security protocol of each listener, by the listener's name.
    """
    protocol = protocols.get(context.listener_name, "PLAINTEXT")
    if context.is_by_token() or protocol == "PLAINTEXT":
        return False
    return protocol != "SSL" or context.principal != ANONYMOUS


def refused_creation(
    protocols: Mapping[str, str], request: CreateDelegationTokenRequest, context: RequestContext
) -> CreateDelegationTokenResponse | None:
    """The answer to a CreateDelegationToken request that the broker refuses; None if the controller must decide."""
    owner = owner_of(request, context.principal)
    error = _creation_error(protocols, request, context, str(owner))
    if not error:
        return None
    requester = shown_requester(context.principal, context.api_version)
    return CreateDelegationTokenResponse(error, *owner, *requester, NO_TIME_MS, NO_TIME_MS, NO_TIME_MS)


def shown_requester(requester: str, version: int) -> Principal:
    """A token's requester as an answer of ``version`` shows it: empty before version 3."""
    return Principal.parse(requester) if version >= REQUESTER_SINCE else Principal("", "")


def _creation_error(
    protocols: Mapping[str, str], request: CreateDelegationTokenRequest, context: RequestContext, owner: str
) -> ErrorCode:
    if not allows_token_requests(protocols, context):
        return ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
    access = context.access
    for_other = owner != context.principal
    if for_other and access is not None and not access.may(AclOperation.CREATE_TOKENS, AclResourceType.USER, owner):
        return ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED
    if any(renewer.principal_type != USER_TYPE for renewer in request.renewers or ()):
        return ErrorCode.INVALID_PRINCIPAL_TYPE
    return ErrorCode.NONE
