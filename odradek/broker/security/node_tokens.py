"""Gets the OAUTHBEARER tokens with which this broker logs in at other nodes.

Shell. Owns: the current attempt to get a token, which all connections share. Invariants: a thread asks the token
endpoint, one attempt at a time, and not again for a pause after a failed attempt; no log line contains a token. A
session ends when its token expires; a connection that renews its session before that logs in with a newer token.
Source: ``OAuthBearerRefreshingLogin``, ``ExpiringCredentialRefreshingLogin``.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable

from odradek.protocol.security.jwt_retriever import JwtRetriever
from odradek.protocol.security.login_mechanisms import OAuthBearerLogin
from odradek.protocol.security.tls_context import TlsSettingsError
from odradek.protocol.security.token_settings import RetrieverSettings, TokenError, TokenSettingsError, extensions_of

from ..config.errors import ConfigError
from ..timers.work import KindOfWork

logger = logging.getLogger(__name__)

TOKENS = KindOfWork("node-token", "gets a token for other nodes")

PAUSE_S = 1.0
"""The pause after a failed attempt. Kafka's client waits ``sasl.login.retry.backoff.ms``, 100 ms to 10 s."""


class NodeTokens:
    """The tokens for connections to one listener of other nodes."""

    def __init__(
        self,
        listener: str,
        settings: RetrieverSettings,
        now_s: Callable[[], float] = time.time,
        pause_s: float = PAUSE_S,
    ) -> None:
        """``listener``: for messages. ``pause_s``: the pause after a failed attempt.

        Raises ConfigError for settings or a trust store that can't be used.
        """
        self._listener = listener
        self._pause_s = pause_s
        self._extensions = extensions_of(settings.options)
        try:
            self._source = JwtRetriever(settings, {}, now_s)
        except (TokenSettingsError, TlsSettingsError) as problem:
            raise ConfigError([f"logging in at the listener {listener} of other nodes: {problem}"]) from None
        self._attempt: asyncio.Future[str] | None = None
        self._failed_at_s: float | None = None
        """When the last attempt failed, by the loop's clock."""
        self._problem: str | None = None
        """The last problem that was logged."""

    async def login(self) -> OAuthBearerLogin:
        """Gets a token for one login. Raises TokenError or MechanismError; their texts do not contain the token."""
        attempt = self._attempt
        if attempt is None or (attempt.done() and not self._failed_just_now()):
            attempt = self._attempt = self._begin()
        # Shield the attempt: other connections wait for it even if this one gives up.
        token = await asyncio.shield(attempt)
        self._tell()
        return OAuthBearerLogin(token, self._extensions)

    def _failed_just_now(self) -> bool:
        now_s = asyncio.get_running_loop().time()
        return self._failed_at_s is not None and now_s < self._failed_at_s + self._pause_s

    def _begin(self) -> "asyncio.Future[str]":
        """Asks for a token on a new daemon thread. The broker's stop does not wait for this thread."""
        loop = asyncio.get_running_loop()
        attempt: asyncio.Future[str] = loop.create_future()

        def ended(token: str | None, problem: Exception | None) -> None:
            self._failed_at_s = None if problem is None else loop.time()
            if problem is None:
                attempt.set_result(token or "")
            else:
                attempt.set_exception(problem)
                attempt.exception()  # marks it as seen: no connection may be waiting any more

        def ask() -> None:
            token: str | None = None
            failure: Exception | None = None
            try:
                token = self._source.token()
            except TokenError as problem:
                failure = problem.with_traceback(None)
            except TlsSettingsError as problem:
                failure = TokenError(str(problem))
            except Exception as problem:  # noqa: BLE001 - a bug: without an outcome, all logins would wait for ever
                name = type(problem).__name__  # its text and its traceback may contain the token
                TOKENS.failed(f"asking for a token raised {name}")
                failure = TokenError(f"asking for a token raised {name}")
            with contextlib.suppress(RuntimeError):  # the loop is closed: the broker has stopped
                TOKENS.soon_in(loop, ended, token, failure)

        TOKENS.own_thread(ask, "token")
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
