"""Requests that change delegation tokens, at a broker of a cluster.

Shell. Owns: the order of the checks. This broker refuses requests from connections that may not change tokens; the
controllers decide the rest. Never does: changing tokens. Source: ``KafkaApis.handleCreateTokenRequest``,
``handleRenewTokenRequest``, ``handleExpireTokenRequest``.
"""

from collections.abc import Callable, Mapping
from typing import Any

from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.codec import decode
from odradek.protocol.codec.header import encode_request, response_body_position
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.security import (
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
    ExpireDelegationTokenRequest,
    ExpireDelegationTokenResponse,
    RenewDelegationTokenRequest,
    RenewDelegationTokenResponse,
)

from ..dispatch.request_in_service import RequestInService
from ..dispatch.served import Handler
from ..metadata.quorum.forwarding import Forwarding
from ..security.token_requests import NO_TIME_MS, allows_token_requests, refused_creation

Request = CreateDelegationTokenRequest | RenewDelegationTokenRequest | ExpireDelegationTokenRequest
Response = CreateDelegationTokenResponse | RenewDelegationTokenResponse | ExpireDelegationTokenResponse
Reply = Callable[[Any], None]

NOT_ALLOWED = ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED


class ForwardedTokens:
    """Handles CreateDelegationToken, RenewDelegationToken and ExpireDelegationToken."""

    def __init__(self, forwarding: Forwarding, protocols: Mapping[str, str]) -> None:
        """``protocols``: the security protocol of each listener, by the listener's name."""
        self._forwarding = forwarding
        self._protocols = protocols

    @property
    def handlers(self) -> dict[int, Handler]:
        """API key -> handler."""
        return {
            ApiKey.CREATE_DELEGATION_TOKEN: self._create,
            ApiKey.RENEW_DELEGATION_TOKEN: self._renew,
            ApiKey.EXPIRE_DELEGATION_TOKEN: self._expire,
        }

    def _create(
        self, _broker: Any, request: CreateDelegationTokenRequest, context: RequestInService, reply: Reply
    ) -> None:
        refused = refused_creation(self._protocols, request, context)
        if refused is not None:
            reply(refused)
        else:
            self._pass_on(request, CreateDelegationTokenResponse, context, reply)

    def _renew(
        self, _broker: Any, request: RenewDelegationTokenRequest, context: RequestInService, reply: Reply
    ) -> None:
        if allows_token_requests(self._protocols, context):
            self._pass_on(request, RenewDelegationTokenResponse, context, reply)
        else:
            reply(RenewDelegationTokenResponse(NOT_ALLOWED, NO_TIME_MS))

    def _expire(
        self, _broker: Any, request: ExpireDelegationTokenRequest, context: RequestInService, reply: Reply
    ) -> None:
        if allows_token_requests(self._protocols, context):
            self._pass_on(request, ExpireDelegationTokenResponse, context, reply)
        else:
            reply(ExpireDelegationTokenResponse(NOT_ALLOWED, NO_TIME_MS))

    def _pass_on(
        self, request: Request, response_type: type[Response], context: RequestInService, reply: Reply
    ) -> None:
        version = context.api_version

        def answered(answer: bytes | KafkaError) -> None:
            if not context.is_wanted():
                return
            if not isinstance(answer, KafkaError):
                position = response_body_position(request.API_KEY, version, answer)
                reply(decode(response_type, version, answer, position)[0])
            elif answer.error_code is ErrorCode.UNSUPPORTED_VERSION:
                context.refuse("the active controller does not support this version")
            else:
                context.fail(request, answer)

        frame = encode_request(request, version, 0, context.client_id)[4:]
        self._forwarding.forward(frame, context.requester, answered)
