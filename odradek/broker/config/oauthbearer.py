"""The configuration of OAUTHBEARER: where keys come from, and which claims a token must have.

Owns: these settings and their checks. Never does: reading keys, checking tokens. Invariant: tokens without a signature
are accepted only if the configuration requires them. Kafka accepts them by default, even on a listener whose login
module has no options. Source: ``OAuthBearerValidatorCallbackHandler``, ``BrokerJwtValidator``, ``ConfigurationUtils``,
``OAuthBearerUnsecuredValidatorCallbackHandler``; KIP-255, KIP-768.
"""

from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import urlsplit

from odradek.protocol.security.token_settings import HANDLER_KEY as LOGIN_HANDLER_KEY
from odradek.protocol.security.token_settings import TOKEN_KEYS, UNSECURED, RetrieverSettings, TokenSettingsError

from .errors import ConfigError
from .typed_values import ListenerValue, TypedValues, listener_value, prefix_of

MECHANISM = "OAUTHBEARER"
PACKAGE = "org.apache.kafka.common.security.oauthbearer"
JWKS_HANDLER = f"{PACKAGE}.OAuthBearerValidatorCallbackHandler"
UNSECURED_HANDLER = f"{PACKAGE}.internals.unsecured.OAuthBearerUnsecuredValidatorCallbackHandler"
HANDLER_KEY = "sasl.server.callback.handler.class"
URL_KEY = "sasl.oauthbearer.jwks.endpoint.url"
REFRESH_KEY = "sasl.oauthbearer.jwks.endpoint.refresh.ms"
RETRY_KEY = "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms"
RETRY_MAX_KEY = "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms"
AUDIENCE_KEY = "sasl.oauthbearer.expected.audience"
ISSUER_KEY = "sasl.oauthbearer.expected.issuer"
NAME_CLAIM_KEY = "sasl.oauthbearer.sub.claim.name"
SCOPE_CLAIM_KEY = "sasl.oauthbearer.scope.claim.name"
SKEW_KEY = "sasl.oauthbearer.clock.skew.seconds"
UNSECURED_OPTIONS = (UNSECURED, "unsecuredValidator")
"""The prefixes of the login module's options for tokens without a signature."""
LOGIN_HANDLER = f"{PACKAGE}.OAuthBearerLoginCallbackHandler"
"""Gets tokens from an endpoint or a file."""
UNSECURED_LOGIN_HANDLER = f"{PACKAGE}.internals.unsecured.OAuthBearerUnsecuredLoginCallbackHandler"
"""Makes tokens without a signature from the options of the login module."""
SCHEMES = ("file", "http", "https")


class JwksSettings(NamedTuple):
    """The settings for checking signed tokens. Times are in ms, except ``clock_skew_s``."""

    url: str
    audiences: tuple[str, ...]
    issuer: str | None
    name_claim: str
    scope_claim: str
    clock_skew_s: int
    refresh_ms: int
    retry_backoff_ms: int
    retry_backoff_max_ms: int


class OAuthBearerSettings(NamedTuple):
    """OAUTHBEARER on one listener. ``jwks`` is None if the listener accepts tokens without a signature; the options of
    the login module then say which."""

    jwks: JwksSettings | None
    options: Mapping[str, str]


def oauthbearer_settings(config: TypedValues, listener: str, options: Mapping[str, str]) -> OAuthBearerSettings:
    """The settings of a listener that enables OAUTHBEARER. ``options``: its login module's. Raises ConfigError."""
    key = f"{prefix_of(listener)}{MECHANISM.lower()}.{HANDLER_KEY}"
    handler = config.originals.get(key, "").strip()
    if handler == JWKS_HANDLER:
        return OAuthBearerSettings(_jwks(config, listener, key), options)
    if handler == UNSECURED_HANDLER or (not handler and any(name.startswith(UNSECURED_OPTIONS) for name in options)):
        return OAuthBearerSettings(None, options)
    if handler:
        where = config.place_of(key)
        problem = f"{key} ({where}): the class {handler} is not supported; set {JWKS_HANDLER}"
    else:
        problem = (
            f"the listener {listener} enables {MECHANISM}, but {key} is not set, so no class would check tokens. "
            f"Set it to {JWKS_HANDLER}; for tests, to {UNSECURED_HANDLER}, which accepts any name"
        )
    raise ConfigError([problem])


def token_settings(config: TypedValues, listener: str, options: Mapping[str, str]) -> RetrieverSettings:
    """How this broker gets the tokens with which it logs in at a listener of other nodes. Raises ConfigError.

    ``options``: of the login module of the listener. The class must be set for the listener and the mechanism, as in
    Kafka (``LoginManager``).
    """
    key = f"{prefix_of(listener)}{MECHANISM.lower()}.{LOGIN_HANDLER_KEY}"
    given = {
        name: listener_value(config, listener, name, MECHANISM) for name in TOKEN_KEYS if name != LOGIN_HANDLER_KEY
    }
    texts = {name: value.text for name, value in given.items() if value is not None}
    handler = config.originals.get(key, "").strip()
    if handler == LOGIN_HANDLER:
        texts[LOGIN_HANDLER_KEY] = handler
    elif handler == UNSECURED_LOGIN_HANDLER or (not handler and any(name.startswith(UNSECURED) for name in options)):
        texts = {LOGIN_HANDLER_KEY: handler}  # this class knows no endpoint
    elif handler:
        where = config.place_of(key)
        raise ConfigError([f"{key} ({where}): the class {handler} is not supported; set {LOGIN_HANDLER}"])
    else:
        raise ConfigError(
            [
                f"{key} is not set, so this broker gets no token for the listener {listener} of other nodes. Set it to "
                f"{LOGIN_HANDLER}; for tests, to {UNSECURED_LOGIN_HANDLER}"
            ]
        )
    settings = RetrieverSettings(texts, options)
    try:
        settings.check()
    except TokenSettingsError as problem:
        raise ConfigError([f"logging in at the listener {listener} of other nodes: {problem}"]) from None
    return settings


def _jwks(config: TypedValues, listener: str, handler_key: str) -> JwksSettings:
    reader = _OAuthReader(config, listener)
    url = reader.text(URL_KEY) or ""
    if not url:
        reader.problems.append(f"{handler_key} needs {URL_KEY}, which is not set")
    elif urlsplit(url).scheme.lower() not in SCHEMES:
        reader.problems.append(f"{reader.place(URL_KEY)}: must be a URL with one of the schemes {', '.join(SCHEMES)}")
    found = JwksSettings(
        url,
        tuple(audience.strip() for audience in (reader.text(AUDIENCE_KEY) or "").split(",") if audience.strip()),
        reader.text(ISSUER_KEY) or None,
        reader.text(NAME_CLAIM_KEY) or "",
        reader.text(SCOPE_CLAIM_KEY) or "",
        reader.whole(SKEW_KEY, 0),
        reader.whole(REFRESH_KEY, 1),
        reader.whole(RETRY_KEY, 0),
        reader.whole(RETRY_MAX_KEY, 0),
    )
    reader.problems += [
        f"{reader.place(key)}: must be the name of a claim"
        for key, name in ((NAME_CLAIM_KEY, found.name_claim), (SCOPE_CLAIM_KEY, found.scope_claim))
        if not name
    ]
    if reader.problems:
        raise ConfigError(reader.problems)
    return found


class _OAuthReader:
    """Reads the keys of one listener, and collects the problems."""

    def __init__(self, config: TypedValues, listener: str) -> None:
        self._config = config
        self._listener = listener
        self.problems: list[str] = []

    def _given(self, key: str) -> ListenerValue | None:
        return listener_value(self._config, self._listener, key, MECHANISM)

    def text(self, key: str) -> str | None:
        given = self._given(key)
        if given is not None:
            return given.text
        default: object = self._config[key]
        return default if isinstance(default, str) else None

    def whole(self, key: str, least: int) -> int:
        given = self._given(key)
        if given is None:
            return self._config.get_int(key)
        try:
            number = int(given.text)
        except ValueError:
            number = least - 1
        if number < least:
            self.problems.append(f"{self.place(key)}: {given.text!r} is not a whole number of at least {least}")
        return number

    def place(self, key: str) -> str:
        given = self._given(key)
        return key if given is None else f"{given.key} ({self._config.place_of(given.key)})"
