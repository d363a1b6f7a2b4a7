"""The tokens with which this broker logs in at other nodes by OAUTHBEARER.

Shell. Owns: the one attempt to get a token that is under way; all connections wait for it. Invariants: an endpoint is
asked on a thread, once at a time, and not again for ``PAUSE_S`` after a failed attempt; no log line shows a token. A
session ends when its token expires, so a connection that renews its session before that gets a newer token. Source:
``OAuthBearerRefreshingLogin``, ``ExpiringCredentialRefreshingLogin``.
"""

import asyncio
import contextlib
import logging
import threading
import time
from collections.abc import Callable

from ...protocol.security.jwt_retriever import JwtRetriever
from ...protocol.security.login_mechanisms import OAuthBearerLogin
from ...protocol.security.tls_context import TlsSettingsError
from ...protocol.security.token_settings import RetrieverSettings, TokenError, TokenSettingsError, extensions_of
from ..config.errors import ConfigError

logger = logging.getLogger(__name__)

PAUSE_S = 1.0
"""Between attempts that fail. Kafka's client tries again after ``sasl.login.retry.backoff.ms``, 100 ms to 10 s."""


class NodeTokens:
    """The tokens for one listener of other nodes."""

    def __init__(self, listener: str, settings: RetrieverSettings, now_s: Callable[[], float] = time.time) -> None:
        """Raises ConfigError for a trust store that can't be used."""
        self._listener = listener
        self._extensions = extensions_of(settings.options)
        try:
            self._source = JwtRetriever(settings, {}, now_s)
        except (TokenSettingsError, TlsSettingsError) as problem:
            raise ConfigError([f"logging in at the listener {listener} of other nodes: {problem}"]) from None
        self._attempt: asyncio.Future[str] | None = None
        self._failed_at_s: float | None = None
        """When the last attempt failed, by the loop's clock."""
        self._problem: str | None = None
        """The last one that was logged."""

    async def login(self) -> OAuthBearerLogin:
        """Begins one login. Raises TokenError or MechanismError, without the token."""
        attempt = self._attempt
        if attempt is None or (attempt.done() and not self._failed_just_now()):
            attempt = self._attempt = self._begin()
        # The others wait for the attempt even if the connection that began it has given up.
        token = await asyncio.shield(attempt)
        self._tell()
        return OAuthBearerLogin(token, self._extensions)

    def _failed_just_now(self) -> bool:
        now_s = asyncio.get_running_loop().time()
        return self._failed_at_s is not None and now_s < self._failed_at_s + PAUSE_S

    def _begin(self) -> "asyncio.Future[str]":
        """Asks for a token on a thread of its own, which a stop of the broker does not wait for."""
        loop = asyncio.get_running_loop()
        attempt: asyncio.Future[str] = loop.create_future()

        def ended(token: str | None, problem: Exception | None) -> None:
            self._failed_at_s = None if problem is None else loop.time()
            if problem is None:
                attempt.set_result(token or "")
            else:
                attempt.set_exception(problem)
                attempt.exception()  # all that wait for it may have given up

        def ask() -> None:
            token: str | None = None
            failure: Exception | None = None
            try:
                token = self._source.token()
            except TokenError as problem:
                failure = problem.with_traceback(None)
            except TlsSettingsError as problem:
                failure = TokenError(str(problem))
            with contextlib.suppress(RuntimeError):  # the loop is closed: the broker has stopped
                loop.call_soon_threadsafe(ended, token, failure)

        threading.Thread(target=ask, name="token", daemon=True).start()
        return attempt

    def _tell(self) -> None:
        if self._source.problem == self._problem:
            return
        self._problem = self._source.problem
        if self._problem is not None:
            logger.warning(
                "the token for the listener %s of other nodes can't be replaced, so it is used until it expires: %s",
                self._listener,
                self._problem,
            )
