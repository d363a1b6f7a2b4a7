"""Where the tokens of OAUTHBEARER come from: a function, a file, a token endpoint, or unsecured ones for tests.

Owns: Java's keys for them. A token is asked for at each login and each re-authentication; one from an endpoint is kept
until 80 % of its life has passed (``sasl.login.refresh.window.factor``). Errors never show a token or a secret.
Source: ``DefaultJwtRetriever``, ``ClientCredentialsJwtRetriever``, ``OAuthBearerUnsecuredLoginCallbackHandler``.
"""

import asyncio
import base64
import inspect
import json
import math
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote_plus, urlsplit

from ..errors import AuthenticationError, ConfigurationError
from .settings import Security, TokenProvider

ENDPOINT_KEY = "sasl.oauthbearer.token.endpoint.url"
HANDLER_KEY = "sasl.login.callback.handler.class"
PREFIX = "sasl.oauthbearer.client.credentials."
CREDENTIALS = {"client.id": "clientId", "client.secret": "clientSecret"}
"""Java's key after ``PREFIX`` -> the older option of the login module."""
UNSECURED = "unsecuredLogin"
REFRESH_WINDOW = 0.8
"""``sasl.login.refresh.window.factor``."""
MAX_RESPONSE_BYTES = 1 << 20


def check_token_settings(texts: Mapping[str, str], options: Mapping[str, str]) -> None:
    """Raises ConfigurationError if the settings name no source of tokens."""
    if ENDPOINT_KEY not in texts:
        if HANDLER_KEY in texts and not texts[HANDLER_KEY].endswith("UnsecuredLoginCallbackHandler"):
            raise ConfigurationError(f"{ENDPOINT_KEY} is not set")
        unsecured_token(options, 0.0)
        return
    url = urlsplit(texts[ENDPOINT_KEY])
    if url.scheme not in ("http", "https", "file"):
        raise ConfigurationError(f"{ENDPOINT_KEY} is not a URL of http, https or file")
    if url.scheme != "file":
        for key in CREDENTIALS:
            _credential(texts, options, key)


def extensions_of(options: Mapping[str, str]) -> dict[str, str]:
    """The extensions of the login module's options: ``extension_<name>``, or ``unsecuredLoginExtension_<name>``."""
    prefixes = ("extension_", f"{UNSECURED}Extension_")
    return {key.removeprefix(p): value for key, value in options.items() for p in prefixes if key.startswith(p)}


class TokenSource:
    """The tokens of one client. Keeps the last one of an endpoint while it is fresh."""

    def __init__(self, security: Security, options: Mapping[str, str]) -> None:
        """``options``: of the login module."""
        self._texts, self._options = security.texts, options
        self._provider = security.token_provider
        self._kept = ""
        self._fresh_until_s = 0.0

    async def token(self) -> str:
        """A token. Raises AuthenticationError if the source gives none."""
        if self._provider is not None:
            return await _provided(self._provider)
        if ENDPOINT_KEY not in self._texts:
            return unsecured_token(self._options, time.time())
        url = self._texts[ENDPOINT_KEY]
        if self._kept and time.time() < self._fresh_until_s:
            return self._kept
        token = await asyncio.to_thread(self._from_file if urlsplit(url).scheme == "file" else self._ask, url)
        now_s = time.time()
        expires_s = expiry_of(token)
        self._fresh_until_s = 0.0 if expires_s is None else now_s + (expires_s - now_s) * REFRESH_WINDOW
        self._kept = token
        return token

    def _from_file(self, url: str) -> str:
        path = urlsplit(url).path
        try:
            with open(path, encoding="utf-8") as file:
                return file.read(MAX_RESPONSE_BYTES).strip()
        except (OSError, UnicodeDecodeError) as error:
            raise AuthenticationError(f"OAUTHBEARER: {ENDPOINT_KEY}: {path} cannot be read: {error}") from None

    def _ask(self, url: str) -> str:
        """The client credentials grant (RFC 6749, 4.4). Runs on a thread."""
        from urllib.error import HTTPError, URLError
        from urllib.request import HTTPSHandler, Request, build_opener

        timeout_s = float(self._texts.get("sasl.login.read.timeout.ms") or 10_000) / 1000
        handlers = []
        if url.startswith("https") and any(key.startswith("ssl.truststore.") for key in self._texts):
            from .tls import context_of

            handlers.append(HTTPSHandler(context=context_of(Security("SSL", self._texts))))
        request = Request(url, data=self._body().encode(), headers=self._headers(), method="POST")
        try:
            with build_opener(*handlers).open(request, timeout=timeout_s) as answer:
                text = answer.read(MAX_RESPONSE_BYTES)
        except HTTPError as error:
            raise AuthenticationError(f"OAUTHBEARER: {url} answered HTTP {error.code} {error.reason}") from None
        except (URLError, OSError, ValueError) as error:
            reason = error.reason if isinstance(error, URLError) else error
            raise AuthenticationError(f"OAUTHBEARER: {url} gave no token: {reason}") from None
        return token_of(text, url)

    def _body(self) -> str:
        scope = self._texts.get("sasl.oauthbearer.scope") or self._options.get("scope") or ""
        return "grant_type=client_credentials" + (f"&scope={self._encoded(scope)}" if scope.strip() else "")

    def _headers(self) -> dict[str, str]:
        pair = ":".join(self._encoded(_credential(self._texts, self._options, key)) for key in CREDENTIALS)
        return {
            "Accept": "application/json",
            "Authorization": f"Basic {base64.b64encode(pair.encode()).decode()}",
            "Cache-Control": "no-cache",
            "Content-Type": "application/x-www-form-urlencoded",
        }

    def _encoded(self, text: str) -> str:
        is_encoded = self._texts.get("sasl.oauthbearer.header.urlencode", "").strip().lower() == "true"
        return quote_plus(text.strip(), safe="*-._") if is_encoded else text.strip()


async def _provided(provider: TokenProvider) -> str:
    """The token of the user's function, which runs on a thread unless it is a coroutine."""
    if inspect.iscoroutinefunction(provider):
        found = await provider()
    else:
        found = await asyncio.to_thread(provider)
        if inspect.isawaitable(found):
            found = await found
    if not isinstance(found, str) or not found:
        raise AuthenticationError(f"OAUTHBEARER: the token provider returned {type(found).__name__}, not a token")
    return found


def token_of(answer: bytes, url: str) -> str:
    """The token in an endpoint's answer. Raises AuthenticationError, without the answer."""
    try:
        document = json.loads(answer)
    except ValueError:
        raise AuthenticationError(f"OAUTHBEARER: {url} did not answer JSON") from None
    for key in ("access_token", "id_token"):
        value = document.get(key) if isinstance(document, dict) else None
        if isinstance(value, str) and value.strip():
            return value.strip()
    raise AuthenticationError(f"OAUTHBEARER: the answer of {url} has no access_token")


def expiry_of(token: str) -> float | None:
    """When a JWT expires, in seconds since 1970; None if it does not say. Verifies nothing: the broker does."""
    parts = token.split(".")
    try:
        claims = json.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
        expires = claims["exp"]
    except (IndexError, ValueError, KeyError, TypeError):
        return None
    is_number = isinstance(expires, int | float) and not isinstance(expires, bool)
    return float(expires) if is_number and math.isfinite(expires) else None


def unsecured_token(options: Mapping[str, str], now_s: float) -> str:
    """A token without a signature, of the options ``unsecuredLogin...``. Raises ConfigurationError."""
    claims: dict[str, Any] = {}
    try:
        lifetime_s = int(options.get(f"{UNSECURED}LifetimeSeconds", "3600"))
    except ValueError:
        raise ConfigurationError(f"{UNSECURED}LifetimeSeconds is not a number") from None
    claims["exp"], claims["iat"] = math.floor(now_s) + lifetime_s, now_s
    for option, text in options.items():
        for kind in ("StringClaim_", "NumberClaim_", "ListClaim_"):
            prefix = UNSECURED + kind
            if not option.startswith(prefix) or option == prefix:
                continue
            name = option.removeprefix(prefix)
            if name in ("exp", "iat"):
                raise ConfigurationError(f"{option}: the claim {name} cannot be set")
            claims[name] = _claim(option, kind, text)
    principal = options.get(f"{UNSECURED}PrincipalClaimName") or "sub"
    if not claims.get(principal):
        raise ConfigurationError(
            f"OAUTHBEARER has no source of tokens: set {ENDPOINT_KEY}, give a token_provider, or for tests "
            f'{UNSECURED}StringClaim_{principal}="..." in sasl.jaas.config'
        )
    return f"{_part({'alg': 'none'})}.{_part(claims)}."


def _claim(option: str, kind: str, text: str) -> str | float | list[str]:
    if kind == "StringClaim_":
        return text
    if kind == "ListClaim_":
        delimiter = text[:1]
        return text[1:].split(delimiter) if delimiter and len(text) > 1 else []
    try:
        return float(text)
    except ValueError:
        raise ConfigurationError(f"{option} is not a number") from None


def _part(document: dict[str, Any]) -> str:
    return base64.urlsafe_b64encode(json.dumps(document, separators=(",", ":")).encode()).rstrip(b"=").decode()


def _credential(texts: Mapping[str, str], options: Mapping[str, str], key: str) -> str:
    value = texts.get(PREFIX + key) or options.get(CREDENTIALS[key]) or ""
    if not value.strip():
        raise ConfigurationError(f"{PREFIX}{key} is not set")
    return value
