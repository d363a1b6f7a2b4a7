"""Creates, renews and expires delegation tokens. Pure: requests and the time go in, records come out.

Source: ``DelegationTokenControlManager``; KIP-48, KIP-900, KIP-373.
"""

from typing import NamedTuple

from odradek.protocol.common.steps import Steps
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.metadata_records import RemoveDelegationTokenRecord
from odradek.protocol.messages.security import (
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
    ExpireDelegationTokenRequest,
    ExpireDelegationTokenResponse,
    RenewDelegationTokenRequest,
    RenewDelegationTokenResponse,
)
from odradek.protocol.messages.structure import Message
from odradek.storage.files.meta_properties import uuid_text

from ...config.typed_values import TypedValues
from ..image.delegation_tokens import DelegationToken
from ..image.features import DELEGATION_TOKENS_SUPPORTED
from ..image.image import MetadataImage
from ..image.token_hmacs import TokenHmacs
from ..log.snapshot import token_record
from ..publisher.decision import Decision
from .controller import Controller

USER_TYPE = "User"
MAX_TIME_MS = (1 << 63) - 1
"""Java's ``Long.MAX_VALUE``, to which Kafka limits sums of times."""
MAX_REMOVALS = 1_000
"""The most tokens that one round removes (``MAX_RECORDS_PER_EXPIRATION``)."""


class TokenSettings(NamedTuple):
    """Lifetimes in ms: ``delegation.token.max.lifetime.ms`` and ``delegation.token.expiry.time.ms``."""

    max_lifetime_ms: int
    renew_lifetime_ms: int

    @classmethod
    def of(cls, config: TypedValues) -> "TokenSettings":
        """The lifetimes of a configuration."""
        return cls(
            config.get_int("delegation.token.max.lifetime.ms"), config.get_int("delegation.token.expiry.time.ms")
        )


class Principal(NamedTuple):
    """Type and name of a principal."""

    type: str
    name: str

    def __str__(self) -> str:
        return f"{self.type}:{self.name}"

    @classmethod
    def parse(cls, text: str) -> "Principal":
        """The principal of ``Type:name``; the name may contain colons."""
        kind, _, name = text.partition(":")
        return cls(kind, name)


def create_token(
    image: MetadataImage,
    request: CreateDelegationTokenRequest,
    controller: Controller,
    hmacs: TokenHmacs | None,
    settings: TokenSettings,
    requester: str,
    now_ms: int,
) -> Steps[Decision[CreateDelegationTokenResponse]]:
    """Creates a token for the owner that the request names, or for the requester (``Type:name``).

    The response does not name the requester, because old versions have no field for it.
    """
    yield from ()
    owner = owner_of(request, requester)
    response = CreateDelegationTokenResponse(ErrorCode.NONE, *owner)
    response.error_code = _refusal(image, hmacs)
    if response.error_code or hmacs is None:
        return Decision(response)
    lifetime_ms = settings.max_lifetime_ms
    if request.max_lifetime_ms > 0:
        lifetime_ms = min(lifetime_ms, request.max_lifetime_ms)
    max_ms = _later(now_ms, lifetime_ms)
    expiry_ms = min(max_ms, _later(now_ms, settings.renew_lifetime_ms))
    renewers = [Principal(renewer.principal_type, renewer.principal_name) for renewer in request.renewers or ()]
    if any(renewer.type != USER_TYPE for renewer in renewers):
        response.error_code = ErrorCode.INVALID_PRINCIPAL_TYPE
        return Decision(response)
    token_id = uuid_text(controller.random_uuid())
    token = DelegationToken(
        token_id, str(owner), requester, tuple(str(renewer) for renewer in renewers), now_ms, max_ms, expiry_ms
    )
    response.issue_timestamp_ms, response.expiry_timestamp_ms, response.max_timestamp_ms = now_ms, expiry_ms, max_ms
    response.token_id, response.hmac = token_id, hmacs.hmac_of(token_id)
    return Decision(response, [token_record(token)])


def owner_of(request: CreateDelegationTokenRequest, requester: str) -> Principal:
    """The owner of a new token: the principal that the request names, else the requester."""
    if not request.owner_principal_name:
        return Principal.parse(requester)
    return Principal(request.owner_principal_type or "", request.owner_principal_name)


def renew_token(
    image: MetadataImage,
    request: RenewDelegationTokenRequest,
    hmacs: TokenHmacs | None,
    settings: TokenSettings,
    renewer: str,
    now_ms: int,
) -> Steps[Decision[RenewDelegationTokenResponse]]:
    """Moves the expiry of a token, at most to the end of its maximum lifetime."""
    yield from ()
    token = _found(image, request.hmac, hmacs)
    if isinstance(token, ErrorCode):
        return Decision(RenewDelegationTokenResponse(token))
    if token.is_expired(now_ms):
        return Decision(RenewDelegationTokenResponse(ErrorCode.DELEGATION_TOKEN_EXPIRED))
    if not token.may_be_renewed_by(renewer):
        return Decision(RenewDelegationTokenResponse(ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH))
    lifetime_ms = settings.renew_lifetime_ms
    if request.renew_period_ms > 0:
        lifetime_ms = min(lifetime_ms, request.renew_period_ms)
    expiry_ms = min(token.max_ms, now_ms + lifetime_ms)
    return Decision(
        RenewDelegationTokenResponse(ErrorCode.NONE, expiry_ms), [token_record(token._replace(expiry_ms=expiry_ms))]
    )


def expire_token(
    image: MetadataImage,
    request: ExpireDelegationTokenRequest,
    hmacs: TokenHmacs | None,
    renewer: str,
    now_ms: int,
) -> Steps[Decision[ExpireDelegationTokenResponse]]:
    """Sets the expiry of a token; a negative period removes the token, even one that has expired."""
    yield from ()
    token = _found(image, request.hmac, hmacs)
    if isinstance(token, ErrorCode):
        return Decision(ExpireDelegationTokenResponse(token))
    if not token.may_be_renewed_by(renewer):
        return Decision(ExpireDelegationTokenResponse(ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH))
    if request.expiry_time_period_ms < 0:
        return Decision(
            ExpireDelegationTokenResponse(ErrorCode.NONE, now_ms), [RemoveDelegationTokenRecord(token.token_id)]
        )
    if token.is_expired(now_ms):
        return Decision(ExpireDelegationTokenResponse(ErrorCode.DELEGATION_TOKEN_EXPIRED))
    expiry_ms = min(token.max_ms, _later(now_ms, request.expiry_time_period_ms))
    return Decision(
        ExpireDelegationTokenResponse(ErrorCode.NONE, expiry_ms), [token_record(token._replace(expiry_ms=expiry_ms))]
    )


def expired_tokens(image: MetadataImage, now_ms: int) -> list[Message]:
    """The records that remove tokens that have expired, at most :data:`MAX_REMOVALS`. 0.1 us for each token."""
    found: list[Message] = []
    for token in image.delegation_tokens.values():
        if token.is_expired(now_ms):
            found.append(RemoveDelegationTokenRecord(token.token_id))
            if len(found) == MAX_REMOVALS:
                break
    return found


def _refusal(image: MetadataImage, hmacs: TokenHmacs | None) -> ErrorCode:
    if hmacs is None:
        return ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED
    if image.metadata_version < DELEGATION_TOKENS_SUPPORTED:
        return ErrorCode.UNSUPPORTED_VERSION
    return ErrorCode.NONE


def _found(image: MetadataImage, digest: bytes, hmacs: TokenHmacs | None) -> DelegationToken | ErrorCode:
    error = _refusal(image, hmacs)
    if error or hmacs is None:
        return error
    token = image.delegation_tokens.get(hmacs.id_of(digest) or "")
    return ErrorCode.DELEGATION_TOKEN_NOT_FOUND if token is None else token


def _later(now_ms: int, duration_ms: int) -> int:
    return min(now_ms + duration_ms, MAX_TIME_MS)
