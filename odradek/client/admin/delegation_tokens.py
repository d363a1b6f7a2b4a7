"""The admin client's part for delegation tokens. Source: ``Admin.createDelegationToken``; KIP-48, KIP-373.

The HMAC of a token is its password; the repr of ``IssuedToken`` omits it.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from odradek.protocol.messages.security import (
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
    DescribeDelegationTokenRequest,
    DescribeDelegationTokenResponse,
    ExpireDelegationTokenRequest,
    ExpireDelegationTokenResponse,
    RenewDelegationTokenRequest,
    RenewDelegationTokenResponse,
)

from ..errors import broker_error
from .base import AdminBase


@dataclass(frozen=True, slots=True)
class IssuedToken:
    """A token: principals are ``Type:name``, times in ms since 1970. ``token_id`` and ``hmac`` log a client in."""

    token_id: str
    hmac: bytes = field(repr=False)
    owner: str
    requester: str
    renewers: tuple[str, ...]
    issue_ms: int
    expiry_ms: int
    max_ms: int


class DelegationTokenAdmin(AdminBase):
    """Calls about delegation tokens; part of Admin. All raise KafkaError: DELEGATION_TOKEN_REQUEST_NOT_ALLOWED without
    authentication, DELEGATION_TOKEN_AUTH_DISABLED if the brokers have no secret key."""

    async def create_delegation_token(
        self, *, owner: str | None = None, renewers: Iterable[str] = (), max_lifetime_ms: int = -1
    ) -> IssuedToken:
        """Creates a token for this client's user, or for ``owner``. ``max_lifetime_ms`` -1 is the broker's maximum."""
        named = [CreateDelegationTokenRequest.CreatableRenewers(*split_principal(name)) for name in renewers]
        owner_type, owner_name = (None, None) if owner is None else split_principal(owner)
        request = CreateDelegationTokenRequest(owner_type, owner_name, named, max_lifetime_ms)
        answer = await self._controller_call(request, CreateDelegationTokenResponse)
        if answer.error_code:
            raise broker_error(answer.error_code, "CreateDelegationToken")
        owned_by = f"{answer.principal_type}:{answer.principal_name}"
        requester = f"{answer.token_requester_principal_type}:{answer.token_requester_principal_name}"
        return IssuedToken(
            token_id=answer.token_id,
            hmac=bytes(answer.hmac),
            owner=owned_by,
            requester=requester if requester != ":" else owned_by,
            renewers=tuple(f"{renewer.principal_type}:{renewer.principal_name}" for renewer in named),
            issue_ms=answer.issue_timestamp_ms,
            expiry_ms=answer.expiry_timestamp_ms,
            max_ms=answer.max_timestamp_ms,
        )

    async def renew_delegation_token(self, hmac: bytes, *, renew_period_ms: int = -1) -> int:
        """Extends a token's life. Returns its new expiry in ms since 1970. -1 is the broker's renewal period."""
        request = RenewDelegationTokenRequest(hmac, renew_period_ms)
        answer = await self._controller_call(request, RenewDelegationTokenResponse)
        if answer.error_code:
            raise broker_error(answer.error_code, "RenewDelegationToken")
        return answer.expiry_timestamp_ms

    async def expire_delegation_token(self, hmac: bytes, *, expiry_time_period_ms: int = -1) -> int:
        """Sets when a token expires; -1 is now. Returns its new expiry in ms since 1970."""
        request = ExpireDelegationTokenRequest(hmac, expiry_time_period_ms)
        answer = await self._controller_call(request, ExpireDelegationTokenResponse)
        if answer.error_code:
            raise broker_error(answer.error_code, "ExpireDelegationToken")
        return answer.expiry_timestamp_ms

    async def describe_delegation_tokens(self, owners: Iterable[str] | None = None) -> list[IssuedToken]:
        """The tokens of these owners (None: of all), without those that this client is not allowed to see."""
        part = DescribeDelegationTokenRequest.DescribeDelegationTokenOwner
        named = None if owners is None else [part(*split_principal(owner)) for owner in owners]
        connection = await self._cluster.any_connection()
        request = DescribeDelegationTokenRequest(named)
        answer = await connection.call(request, DescribeDelegationTokenResponse, timeout_ms=self._timeout_ms)
        if answer.error_code:
            raise broker_error(answer.error_code, "DescribeDelegationToken")
        return [
            IssuedToken(
                token_id=token.token_id,
                hmac=bytes(token.hmac),
                owner=f"{token.principal_type}:{token.principal_name}",
                requester=f"{token.token_requester_principal_type}:{token.token_requester_principal_name}",
                renewers=tuple(f"{renewer.principal_type}:{renewer.principal_name}" for renewer in token.renewers),
                issue_ms=token.issue_timestamp,
                expiry_ms=token.expiry_timestamp,
                max_ms=token.max_timestamp,
            )
            for token in answer.tokens
        ]


def split_principal(text: str) -> tuple[str, str]:
    """Type and name of ``User:alice``. Raises ValueError (``SecurityUtils.parseKafkaPrincipal``)."""
    kind, separator, name = text.partition(":")
    if not separator:
        raise ValueError(f"expected a string in format principalType:principalName but got {text}")
    return kind, name
