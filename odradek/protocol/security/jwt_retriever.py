"""Gets the tokens for a login with OAUTHBEARER: from an endpoint, from a file, or unsigned ones for tests.

Shell. Owns: the last token of an endpoint. Never does: waiting on an event loop; its calls block, so callers use a
thread. Invariants: a token is replaced when 80 % of its lifetime has passed; if that fails, the earlier one is used
until it expires; credentials are sent only to the configured URL, redirects are not followed. Source:
``ClientCredentialsJwtRetriever``, ``FileJwtRetriever``, ``ExpiringCredentialRefreshingLogin``.
"""

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from ..common.lazy_imports import lazy_imports
from .token_settings import (
    ENDPOINT_KEY,
    KeptToken,
    RetrieverSettings,
    TokenError,
    TokenRequest,
    token_of,
    unsecured_token,
)

with lazy_imports:
    import http.client
    import urllib.error
    import urllib.parse
    import urllib.request

    from . import tls_context

if TYPE_CHECKING:
    import ssl

MAX_BYTES = 1 << 20
"""The largest answer of an endpoint, in bytes; a file is read only up to this size."""
CHUNK_BYTES = 64 * 1024
TRUST_PREFIX = "ssl.truststore."


class JwtRetriever:
    """Gets the tokens of one node. ``token`` blocks; only one thread may call it at a time."""

    def __init__(
        self,
        settings: RetrieverSettings,
        trust: Mapping[str, str],
        now_s: Callable[[], float] = time.time,
    ) -> None:
        """``trust``: the ``ssl.*`` keys for an https endpoint. Those of the login module take precedence; without a
        trust store the system's certificates are trusted. Raises TokenSettingsError, or TlsSettingsError for a trust
        store that can't be used.
        """
        settings.check()
        self._settings = settings
        own = {key: text for key, text in settings.options.items() if key.startswith("ssl.")}
        self._trust = own or dict(trust)
        self._now_s = now_s
        self._kept = KeptToken()
        self.problem: str | None = None
        """Why the last attempt to replace a token failed, while the earlier one is still used."""
        self._tls()

    def token(self) -> str:
        """Returns a token for a login. Raises TokenError if the source gives none."""
        url = self._settings.endpoint
        if url is None:
            return unsecured_token(self._settings.options, self._now_s())
        if url.partition(":")[0].lower() == "file":
            return _read(url)
        kept = self._kept.fresh(self._now_s())
        if kept is not None:
            return kept
        try:
            token = token_of(_answer_to(self._settings.request(), self._tls()), url)
        except TokenError as problem:
            kept = self._kept.valid(self._now_s())
            if kept is None:
                raise
            self.problem = str(problem)
            return kept
        self.problem = None
        self._kept.keep(token, self._now_s())
        return token

    def _tls(self) -> "ssl.SSLContext | None":
        """The TLS context for the endpoint; None for the system's default. Made for each request, so that a replaced
        trust store is read.
        """
        url = self._settings.endpoint or ""
        if not url.lower().startswith("https") or not any(key.startswith(TRUST_PREFIX) for key in self._trust):
            return None
        return tls_context.client_context(tls_context.TlsSettings(self._trust))


def _read(url: str) -> str:
    """Reads the token from the file at ``url``. Raises TokenError."""
    path = urllib.parse.unquote(urllib.parse.urlsplit(url).path)
    try:
        with open(path, encoding="utf-8") as file:
            token = file.read(MAX_BYTES).strip()
    except (OSError, UnicodeDecodeError) as error:
        raise TokenError(f"{ENDPOINT_KEY}: {path} cannot be read: {error}") from None
    if not token:
        raise TokenError(f"{ENDPOINT_KEY}: {path} is empty")
    return token


def _answer_to(request: TokenRequest, tls: "ssl.SSLContext | None") -> bytes:
    """Sends the request; returns the body of the answer. Raises TokenError."""

    class Stay(urllib.request.HTTPRedirectHandler):
        """Makes a redirection an error."""

        def redirect_request(self, *_: object) -> None:
            """Returns None, so that a redirection is raised as an HTTPError."""

    handlers = [Stay()] if tls is None else [Stay(), urllib.request.HTTPSHandler(context=tls)]
    posted = urllib.request.Request(
        request.url, data=request.body.encode(), headers=dict(request.headers), method="POST"
    )
    try:
        with urllib.request.build_opener(*handlers).open(posted, timeout=request.timeout_s) as answer:
            body = bytearray()
            deadline_s = time.monotonic() + request.timeout_s
            while chunk := answer.read1(CHUNK_BYTES):
                body += chunk
                if len(body) > MAX_BYTES or time.monotonic() > deadline_s:
                    raise TokenError(f"{request.url} did not send a complete answer within {request.timeout_s:.0f} s")
    except TokenError:
        raise
    except urllib.error.HTTPError as error:
        raise TokenError(f"{request.url} answered HTTP {error.code} {error.reason}") from None
    except (urllib.error.URLError, OSError, ValueError, http.client.HTTPException) as error:
        reason = error.reason if isinstance(error, urllib.error.URLError) else error
        raise TokenError(f"{request.url} returned no token: {reason}") from None
    return bytes(body)
