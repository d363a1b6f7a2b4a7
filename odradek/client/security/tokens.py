"""Gets a client's OAUTHBEARER tokens: from the user's function, or from the source in the ``sasl.oauthbearer.*`` keys.

Owns: the choice between them. ``protocol.security.token_settings`` parses the keys. Source: ``OAuthBearerLoginModule``.
"""

import asyncio
import inspect
from collections.abc import Mapping

from odradek.protocol.security.jwt_retriever import JwtRetriever
from odradek.protocol.security.tls_context import TlsSettingsError
from odradek.protocol.security.token_settings import RetrieverSettings, TokenError, TokenSettingsError

from ..errors import AuthenticationError, ConfigurationError
from .settings import Security, TokenProvider


class TokenSource:
    """The source of one client's tokens."""

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
