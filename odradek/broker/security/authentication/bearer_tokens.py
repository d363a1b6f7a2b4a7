"""Chooses how a listener checks OAUTHBEARER tokens: by the keys of a JWKS, or unsecured, as it is configured.

Owns: the choice, and a WARNING if clients can log in with any name. Never does: checking. Source:
``OAuthBearerValidatorCallbackHandler``, ``SaslChannelBuilder.createServerCallbackHandlers``.
"""

import logging
from functools import partial
from typing import TYPE_CHECKING

from odradek.protocol.common.lazy_imports import lazy_imports

from ...config.errors import ConfigError
from ...config.oauthbearer import AUDIENCE_KEY, ISSUER_KEY, JWKS_HANDLER, JwksSettings, OAuthBearerSettings
from .bearer_token import BearerToken, TokenRefusal
from .oauthbearer import Validate
from .unsecured_tokens import UnsecuredRules, validate_unsecured

with lazy_imports:
    from . import signed_tokens

if TYPE_CHECKING:
    from .jwks import FetchedKeys, FileKeys
    from .signed_tokens import TokenRules

logger = logging.getLogger(__name__)

MISSING_LIBRARY = f"{JWKS_HANDLER} needs PyJWT and cryptography: install odradek with the extra security"


def validation_of(settings: OAuthBearerSettings) -> Validate:
    """The function that checks tokens. Raises ConfigError if keys can't be read, or a library is missing."""
    if settings.jwks is not None:
        return _by_keys(settings.jwks)
    try:
        rules = UnsecuredRules.of(settings.options)
    except ValueError as problem:
        raise ConfigError([f"the login module of OAUTHBEARER: {problem}"]) from None
    logger.warning(
        "OAUTHBEARER accepts tokens without a signature: a client can log in with any name. Use it for tests only; "
        "sasl.server.callback.handler.class=%s checks signatures",
        JWKS_HANDLER,
    )
    return lambda text, now_ms: validate_unsecured(text, rules, now_ms)


def _by_keys(settings: JwksSettings) -> Validate:
    for key, value in ((AUDIENCE_KEY, settings.audiences), (ISSUER_KEY, settings.issuer)):
        if not value:
            logger.warning("OAUTHBEARER checks tokens without %s, so tokens for other services may be accepted", key)
    try:
        from .jwks import open_keys
        from .signed_tokens import TokenRules
    except ModuleNotFoundError as missing:
        raise ConfigError([f"{MISSING_LIBRARY} ({missing.name} is not installed)"]) from missing
    rules = TokenRules(
        frozenset(settings.audiences),
        settings.issuer,
        settings.name_claim,
        settings.scope_claim,
        settings.clock_skew_s,
    )
    return partial(_validate, open_keys(settings), rules)


def _validate(keys: "FileKeys | FetchedKeys", rules: "TokenRules", text: str, now_ms: int) -> BearerToken:
    known = keys.current()
    try:
        return signed_tokens.validate_signed(text, known, rules, now_ms)
    except TokenRefusal:
        key_id = signed_tokens.key_id_of(text)
        if key_id is not None and all(key.key_id != key_id for key in known):
            keys.missing()
        raise
