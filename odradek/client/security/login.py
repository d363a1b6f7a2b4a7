"""The SASL logins of one client: the mechanism's state for each login.

Owns: the choice of the source of tokens, the nonces. Never does: sockets, clocks, the order of the messages
(``protocol.security.login_exchange``). Source: ``SaslClientAuthenticator``.
"""

import asyncio
import inspect
import secrets
import string
from collections.abc import Mapping

from odradek.protocol.security.jwt_retriever import JwtRetriever
from odradek.protocol.security.login_mechanisms import (
    ClientLogin,
    MechanismError,
    OAuthBearerLogin,
    PlainLogin,
    ScramLogin,
)
from odradek.protocol.security.tls_context import TlsSettingsError
from odradek.protocol.security.token_settings import RetrieverSettings, TokenError, TokenSettingsError, extensions_of

from ..errors import AuthenticationError, ConfigurationError
from .sasl_settings import OAUTHBEARER, PLAIN, ClientSasl, sasl_settings
from .settings import Security, TokenProvider


async def _provided(provider: TokenProvider) -> str:
    """Calls the user's function and returns its token. It runs on a thread unless it is a coroutine function."""
    if inspect.iscoroutinefunction(provider):
        found = await provider()
    else:
        found = await asyncio.to_thread(provider)
        if inspect.isawaitable(found):
            found = await found
    if not isinstance(found, str) or not found:
        raise AuthenticationError(f"OAUTHBEARER: the token provider returned {type(found).__name__}, not a token")
    return found


NONCE_LETTERS = string.ascii_letters + string.digits


class Logins:
    """Makes the logins of one client from its settings."""

    def __init__(self, security: Security) -> None:
        """Raises ConfigurationError."""
        self._settings = sasl_settings(security.texts)
        self._tokens: TokenSource | None = None
        if self._settings.mechanism == OAUTHBEARER:
            self._tokens = TokenSource(security, self._settings.options)

    async def mechanism(self) -> ClientLogin:
        """A new mechanism object for one login. Raises AuthenticationError if it cannot get a token."""
        settings = self._settings
        try:
            if self._tokens is not None:
                return OAuthBearerLogin(await self._tokens.token(), extensions_of(settings.options))
            return _with_password(settings)
        except MechanismError as error:
            raise AuthenticationError(f"{settings.mechanism}: {error}") from None


def _with_password(settings: ClientSasl) -> ClientLogin:
    if settings.mechanism == PLAIN:
        return PlainLogin(settings.user, settings.password)
    nonce = "".join(secrets.choice(NONCE_LETTERS) for _ in range(32))
    return ScramLogin(settings.mechanism, settings.user, settings.password, nonce, by_token=settings.by_token)


class TokenSource:
    """Gets a client's OAUTHBEARER tokens: from the user's function, or from the source of ``sasl.oauthbearer.*``."""

    def __init__(self, security: Security, options: Mapping[str, str]) -> None:
        """``options`` are those of the login module. Raises ConfigurationError if the settings name no source."""
        self._provider = security.token_provider
        self._source: JwtRetriever | None = None
        if self._provider is None:
            try:
                self._source = JwtRetriever(RetrieverSettings(security.texts, options), security.texts)
            except (TokenSettingsError, TlsSettingsError) as error:
                raise ConfigurationError(str(error)) from None

    async def token(self) -> str:
        """Gets a token for one login. Raises AuthenticationError if the source returns none."""
        if self._provider is not None:
            return await _provided(self._provider)
        assert self._source is not None
        try:
            return await asyncio.to_thread(self._source.token)
        except (TokenError, TlsSettingsError) as error:
            raise AuthenticationError(f"OAUTHBEARER: {error}") from None
