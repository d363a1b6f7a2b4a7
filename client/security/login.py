"""The logins of one client: which mechanism each connection uses, and when a session is renewed.

Owns: the client's tokens and its chance. Never does: sockets, clocks; the order of the messages
(``protocol.security.login_exchange``). Source: ``SaslClientAuthenticator``.
"""

import random
import secrets
import string

from ...protocol.security.login_mechanisms import ClientLogin, MechanismError, OAuthBearerLogin, PlainLogin, ScramLogin
from ...protocol.security.token_settings import extensions_of
from ..errors import AuthenticationError
from .sasl_settings import OAUTHBEARER, PLAIN, ClientSasl, sasl_settings
from .settings import Security
from .tokens import TokenSource

WINDOW_FACTOR, WINDOW_JITTER = 0.85, 0.10
"""A session is renewed after 85 to 95 % of its life, so that connections do not all do it at once."""
NONCE_LETTERS = string.ascii_letters + string.digits


class Logins:
    """The logins of one client: its settings, and its tokens."""

    def __init__(self, security: Security) -> None:
        """Raises ConfigurationError."""
        self._settings = sasl_settings(security.texts)
        self._tokens: TokenSource | None = None
        if self._settings.mechanism == OAUTHBEARER:
            self._tokens = TokenSource(security, self._settings.options)
        self._chance = random.Random()

    async def mechanism(self) -> ClientLogin:
        """The mechanism for one login. Raises AuthenticationError if it can get no token."""
        settings = self._settings
        try:
            if self._tokens is not None:
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
