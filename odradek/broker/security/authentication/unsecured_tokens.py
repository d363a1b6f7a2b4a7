"""Validates tokens without a signature. For tests only: any client can make such a token for any name.

Pure. Used only if a listener enables OAUTHBEARER without ``sasl.server.callback.handler.class``, which is Kafka's
default too. The broker then logs a WARNING at start. Source: ``OAuthBearerUnsecuredValidatorCallbackHandler``,
``OAuthBearerUnsecuredJws``, ``OAuthBearerValidationUtils``.
"""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from odradek.protocol.security.oauthbearer import INSUFFICIENT_SCOPE

from .bearer_token import BearerToken, TokenRefusal, split_token, time_claim

PREFIX = "unsecuredValidator"
MAX_SECONDS = 1e15
"""The largest time in a claim, in seconds. In ms it still fits an int64."""


class UnsecuredRules(NamedTuple):
    """The ``unsecuredValidator*`` options of the login module."""

    name_claim: str = "sub"
    scope_claim: str = "scope"
    required_scopes: tuple[str, ...] = ()
    clock_skew_ms: int = 0

    @classmethod
    def of(cls, options: Mapping[str, str]) -> "UnsecuredRules":
        """Reads the rules from JAAS options. Raises ValueError that names the wrong option."""
        skew = options.get(f"{PREFIX}AllowableClockSkewMs", "").strip() or "0"
        if not skew.isascii() or not skew.isdigit() or len(skew) > 10:
            raise ValueError(f"{PREFIX}AllowableClockSkewMs is not a number of milliseconds")
        return cls(
            options.get(f"{PREFIX}PrincipalClaimName", "").strip() or "sub",
            options.get(f"{PREFIX}ScopeClaimName", "").strip() or "scope",
            tuple(options.get(f"{PREFIX}RequiredScope", "").split()),
            int(skew),
        )


def validate_unsecured(text: str, rules: UnsecuredRules, now_ms: int) -> BearerToken:
    """Checks a token's claims. ``now_ms``: wall-clock time. Raises TokenRefusal."""
    token = split_token(text)
    if token.header.get("alg") != "none" or token.signature:
        raise TokenRefusal("the token is signed, but this listener accepts only unsecured tokens (alg none)")
    claims = token.claims
    name = claims.get(rules.name_claim)
    if not isinstance(name, str) or not name.strip():
        raise TokenRefusal(f"the token has no name in the claim {rules.name_claim}")
    expires_s = _seconds(claims, "exp")
    if expires_s is None:
        raise TokenRefusal("the token has no time of expiry (exp)")
    issued_s = _seconds(claims, "iat")
    if issued_s is not None and issued_s * 1000 > now_ms + rules.clock_skew_ms:
        raise TokenRefusal("the token was issued in the future (iat)")
    if now_ms - rules.clock_skew_ms >= expires_s * 1000:
        raise TokenRefusal("the token has expired (exp)")
    if issued_s is not None and expires_s <= issued_s:
        raise TokenRefusal("the token expires before it is issued (exp, iat)")
    scopes = _scopes(claims.get(rules.scope_claim))
    if any(required not in scopes for required in rules.required_scopes):
        needed = f"[{', '.join(rules.required_scopes)}]"
        raise TokenRefusal("the token lacks a required scope", INSUFFICIENT_SCOPE, needed)
    return BearerToken(name, math.floor(expires_s * 1000 + 0.5))


def _seconds(claims: Mapping[str, Any], name: str) -> float | None:
    value = time_claim(claims, name, MAX_SECONDS)
    return None if value is None else float(value)


def _scopes(claim: object) -> set[str]:
    if claim is None:
        return set()
    given = [claim] if isinstance(claim, str) else claim
    if not isinstance(given, list):
        raise TokenRefusal("the token's scopes are neither text nor a list")
    return {scope.strip() for scope in given if isinstance(scope, str) and scope.strip()}
