"""The settings for OAUTHBEARER tokens of a client: Kafka's configs, the request to the token endpoint, its answer.

Pure: the time is passed in. Never does: sending requests, reading files, verifying a token. Errors and ``repr`` never
show a token or a secret. Source: ``DefaultJwtRetriever``, ``ClientCredentialsJwtRetriever``, ``FileJwtRetriever``,
``OAuthBearerUnsecuredLoginCallbackHandler``; RFC 6749, 4.4.
"""

import base64
import json
import math
from collections.abc import Mapping
from typing import Any, NamedTuple

ENDPOINT_KEY = "sasl.oauthbearer.token.endpoint.url"
HANDLER_KEY = "sasl.login.callback.handler.class"
CONNECT_TIMEOUT_KEY, READ_TIMEOUT_KEY = "sasl.login.connect.timeout.ms", "sasl.login.read.timeout.ms"
SCOPE_KEY = "sasl.oauthbearer.scope"
ENCODE_KEY = "sasl.oauthbearer.header.urlencode"
PREFIX = "sasl.oauthbearer.client.credentials."
CREDENTIALS = {"client.id": "clientId", "client.secret": "clientSecret"}
"""Java's key after ``PREFIX`` -> the older option of the login module."""
TOKEN_KEYS = (
    ENDPOINT_KEY,
    HANDLER_KEY,
    CONNECT_TIMEOUT_KEY,
    READ_TIMEOUT_KEY,
    SCOPE_KEY,
    ENCODE_KEY,
    *(PREFIX + key for key in CREDENTIALS),
)
"""The keys that are read here."""
UNSECURED = "unsecuredLogin"
UNSECURED_HANDLER = "OAuthBearerUnsecuredLoginCallbackHandler"
REFRESH_WINDOW = 0.8
"""``sasl.login.refresh.window.factor``: a token is replaced when this share of its life has passed."""
DEFAULT_TIMEOUT_MS = 10_000
SCHEMES = ("http", "https", "file")
UNRESERVED = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789*-._")
"""The bytes that Java's URLEncoder does not encode."""


class TokenSettingsError(ValueError):
    """The settings name no source of tokens, or a wrong one. The text names the key."""


class TokenError(ValueError):
    """The source gives no token now."""


class TokenRequest(NamedTuple):
    """One POST to a token endpoint."""

    url: str
    headers: Mapping[str, str]
    body: str
    timeout_s: float

    def __repr__(self) -> str:
        return f"TokenRequest(url={self.url!r})"


class RetrieverSettings(NamedTuple):
    """``texts``: the values of ``TOKEN_KEYS`` that are set. ``options``: of the login module."""

    texts: Mapping[str, str]
    options: Mapping[str, str]

    def __repr__(self) -> str:
        return f"RetrieverSettings(texts={sorted(self.texts)}, options={sorted(self.options)})"

    @property
    def endpoint(self) -> str | None:
        """The URL of the endpoint or of a file; None for tokens without a signature."""
        return self.texts.get(ENDPOINT_KEY, "").strip() or None

    def check(self) -> None:
        """Raises TokenSettingsError if the settings name no source of tokens."""
        handler = self.texts.get(HANDLER_KEY, "").strip()
        url = self.endpoint
        if url is None:
            if handler and not handler.endswith(UNSECURED_HANDLER):
                raise TokenSettingsError(f"{ENDPOINT_KEY} is not set")
            unsecured_token(self.options, 0.0)
            return
        scheme = url.partition(":")[0].lower()
        if scheme not in SCHEMES:
            raise TokenSettingsError(f"{ENDPOINT_KEY} must be a URL with http, https or file")
        if scheme != "file":
            self.request()

    def request(self) -> TokenRequest:
        """The request of the client credentials grant. Raises TokenSettingsError."""
        assert self.endpoint is not None
        scope = self.texts.get(SCOPE_KEY) or self.options.get("scope") or ""
        pair = ":".join(self._encoded(self._credential(key)) for key in CREDENTIALS)
        headers = {
            "Accept": "application/json",
            "Authorization": f"Basic {base64.b64encode(pair.encode()).decode()}",
            "Cache-Control": "no-cache",
            "Content-Type": "application/x-www-form-urlencoded",
        }
        body = "grant_type=client_credentials" + (f"&scope={self._encoded(scope)}" if scope.strip() else "")
        return TokenRequest(self.endpoint, headers, body, self._timeout_s())

    def _timeout_s(self) -> float:
        """The timeout of the whole request, in seconds: the longer of Kafka's connect and read timeouts."""
        times = []
        for key in (CONNECT_TIMEOUT_KEY, READ_TIMEOUT_KEY):
            text = self.texts.get(key, "").strip()
            if text and not text.isdecimal():
                raise TokenSettingsError(f"{key} must be a number of ms, not {text!r}")
            times += [int(text)] if text else []
        return max(times, default=DEFAULT_TIMEOUT_MS) / 1000

    def _credential(self, key: str) -> str:
        value = self.texts.get(PREFIX + key) or self.options.get(CREDENTIALS[key]) or ""
        if not value.strip():
            raise TokenSettingsError(f"{PREFIX}{key} is not set")
        return value

    def _encoded(self, text: str) -> str:
        is_encoded = self.texts.get(ENCODE_KEY, "").strip().lower() == "true"
        return url_encoded(text.strip()) if is_encoded else text.strip()


class KeptToken:
    """The last token of an endpoint, used again while most of its life is left."""

    def __init__(self) -> None:
        self._token = ""
        self._fresh_until_s = self._expires_s = 0.0

    def keep(self, token: str, now_s: float) -> None:
        """Keeps a token. A token without an expiry time is not used again."""
        expires_s = expiry_of(token)
        self._token = token
        self._expires_s = 0.0 if expires_s is None else expires_s
        self._fresh_until_s = 0.0 if expires_s is None else now_s + (expires_s - now_s) * REFRESH_WINDOW

    def fresh(self, now_s: float) -> str | None:
        """The token, if it need not be replaced yet."""
        return self._token if now_s < self._fresh_until_s else None

    def valid(self, now_s: float) -> str | None:
        """The token, if it has not expired."""
        return self._token if now_s < self._expires_s else None


def url_encoded(text: str) -> str:
    """``application/x-www-form-urlencoded``, as Java's URLEncoder writes it."""
    data = text.encode()
    return "".join("+" if byte == 0x20 else chr(byte) if byte in UNRESERVED else f"%{byte:02X}" for byte in data)


def extensions_of(options: Mapping[str, str]) -> dict[str, str]:
    """The extensions of the login module's options: ``extension_<name>``, or ``unsecuredLoginExtension_<name>``."""
    prefixes = ("extension_", f"{UNSECURED}Extension_")
    return {key.removeprefix(p): value for key, value in options.items() for p in prefixes if key.startswith(p)}


def token_of(answer: bytes, url: str) -> str:
    """The token in an endpoint's answer. Raises TokenError, without the answer."""
    try:
        document = json.loads(answer)
    except ValueError:
        raise TokenError(f"the answer of {url} is not JSON") from None
    for key in ("access_token", "id_token"):
        value = document.get(key) if isinstance(document, dict) else None
        if isinstance(value, str) and value.strip():
            return value.strip()
    raise TokenError(f"the answer of {url} has no access_token")


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
    """A token without a signature, of the options ``unsecuredLogin...``. Raises TokenSettingsError."""
    claims: dict[str, Any] = {}
    try:
        lifetime_s = int(options.get(f"{UNSECURED}LifetimeSeconds", "3600"))
    except ValueError:
        raise TokenSettingsError(f"{UNSECURED}LifetimeSeconds must be a number") from None
    claims["exp"], claims["iat"] = math.floor(now_s) + lifetime_s, now_s
    for option, text in options.items():
        for kind in ("StringClaim_", "NumberClaim_", "ListClaim_"):
            prefix = UNSECURED + kind
            if not option.startswith(prefix) or option == prefix:
                continue
            name = option.removeprefix(prefix)
            if name in ("exp", "iat"):
                raise TokenSettingsError(f"{option}: the claim {name} cannot be set")
            claims[name] = _claim(option, kind, text)
    principal = options.get(f"{UNSECURED}PrincipalClaimName") or "sub"
    if not claims.get(principal):
        raise TokenSettingsError(
            f"OAUTHBEARER needs a source of tokens: set {ENDPOINT_KEY}, or for tests "
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
        raise TokenSettingsError(f"{option} must be a number") from None


def _part(document: dict[str, Any]) -> str:
    return base64.urlsafe_b64encode(json.dumps(document, separators=(",", ":")).encode()).rstrip(b"=").decode()
