"""The SASL exchange of one connection: handshake, messages, and when it has to be repeated.

Owns: the order of the requests, and what a refusal is called. Never does: sockets, clocks. Each step is a request to
send; the answer comes back in. The same steps authenticate again on an open connection (KIP-368).
Source: ``SaslClientAuthenticator``.
"""

import random
import secrets
import string
from collections.abc import Generator

from ...protocol.errors import ErrorCode
from ...protocol.messages.security import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)
from ...protocol.messages.structure import Message
from ...protocol.security.login_mechanisms import ClientLogin, MechanismError, OAuthBearerLogin, PlainLogin, ScramLogin
from ..errors import AuthenticationError
from .sasl_settings import OAUTHBEARER, PLAIN, ClientSasl, sasl_settings
from .settings import Security
from .tokens import TokenSource, check_token_settings, extensions_of

Steps = Generator[Message, Message, int]
"""Requests to send, their answers; at the end how long the session lives, in ms (0: no end)."""
MESSAGES_MAX = 10
"""No mechanism has more. A broker that goes on asking is refused."""
RESPONSES: dict[type[Message], type[Message]] = {
    SaslHandshakeRequest: SaslHandshakeResponse,
    SaslAuthenticateRequest: SaslAuthenticateResponse,
}
"""Each request of a login -> its response."""
WINDOW_FACTOR, WINDOW_JITTER = 0.85, 0.10
"""A session is renewed after 85 to 95 % of its life, so that connections do not all do it at once."""
NONCE_LETTERS = string.ascii_letters + string.digits


class Logins:
    """The logins of one client: its settings, and its tokens."""

    def __init__(self, security: Security) -> None:
        """Raises ConfigurationError."""
        self._settings = sasl_settings(security.texts)
        if self._settings.mechanism == OAUTHBEARER and security.token_provider is None:
            check_token_settings(security.texts, self._settings.options)
        self._tokens = TokenSource(security, self._settings.options)
        self._chance = random.Random()

    async def mechanism(self) -> ClientLogin:
        """The mechanism for one login. Raises AuthenticationError if it can get no token."""
        settings = self._settings
        try:
            if settings.mechanism == OAUTHBEARER:
                return OAuthBearerLogin(await self._tokens.token(), extensions_of(settings.options))
            return _with_password(settings)
        except MechanismError as error:
            raise AuthenticationError(f"{settings.mechanism}: {error}") from None

    def renew_after_ms(self, lifetime_ms: int) -> float | None:
        """When to authenticate again, in ms from now; None if the session has no end."""
        if lifetime_ms <= 0:
            return None
        share: float = WINDOW_FACTOR + WINDOW_JITTER * self._chance.random()
        return lifetime_ms * share


def _with_password(settings: ClientSasl) -> ClientLogin:
    if settings.mechanism == PLAIN:
        return PlainLogin(settings.user, settings.password)
    nonce = "".join(secrets.choice(NONCE_LETTERS) for _ in range(32))
    return ScramLogin(settings.mechanism, settings.user, settings.password, nonce, by_token=settings.by_token)


def login_steps(mechanism: ClientLogin, address: str) -> Steps:
    """The requests of one authentication. Raises AuthenticationError, which names the broker, mechanism and user."""
    who = mechanism.name if mechanism.user is None else f"{mechanism.name}, user {mechanism.user!r}"
    what = f"{address} ({who})"
    handshake = yield SaslHandshakeRequest(mechanism.name)
    assert isinstance(handshake, SaslHandshakeResponse)
    if handshake.error_code == ErrorCode.UNSUPPORTED_SASL_MECHANISM:
        enabled = ", ".join(handshake.mechanisms) or "none"
        raise AuthenticationError(f"{address} does not have the mechanism {mechanism.name}; it has {enabled}")
    if handshake.error_code:
        raise AuthenticationError(f"{what} refuses the handshake: {_named(handshake.error_code)}")
    message: bytes | None = mechanism.first()
    for _ in range(MESSAGES_MAX):
        assert message is not None
        answer = yield SaslAuthenticateRequest(message)
        assert isinstance(answer, SaslAuthenticateResponse)
        if answer.error_code:
            reason = answer.error_message or _named(answer.error_code)
            raise AuthenticationError(f"{what} refuses the login: {reason}")
        try:
            message = mechanism.answer(bytes(answer.auth_bytes))
        except MechanismError as error:
            raise AuthenticationError(f"{what}: {error}") from None
        if message is None:
            return answer.session_lifetime_ms
    raise AuthenticationError(f"{what} goes on asking after {MESSAGES_MAX} messages")


def _named(code: int) -> str:
    try:
        return ErrorCode(code).name
    except ValueError:
        return f"error {code}"
