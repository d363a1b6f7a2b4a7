"""Validates signed tokens (JWT): finds the key in a JWKS, verifies the signature, checks the claims.

Pure. Imported only if OAUTHBEARER with JWKS is configured, since it needs the extra ``security``. Unlike Kafka
(jose4j), it accepts only algorithms with public keys (RS, PS, ES and EdDSA); shared secrets (HS) are refused, even if
the JWKS has one. Source: ``BrokerJwtValidator``, ``ClaimValidationUtils``, jose4j's ``JwtConsumer`` and
``VerificationJwkSelector``; KIP-768, RFC 7517.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from jwt.algorithms import Algorithm, get_default_algorithms
from jwt.exceptions import PyJWTError

from .bearer_token import BearerToken, TokenRefusal, split_token, time_claim

KEY_TYPES: Mapping[str, str] = {
    **dict.fromkeys(("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"), "RSA"),
    **dict.fromkeys(("ES256", "ES384", "ES512"), "EC"),
    "EdDSA": "OKP",
}
"""The accepted algorithms (``alg``) -> the type of their keys (``kty``)."""
CURVES: Mapping[str, str] = {"ES256": "P-256", "ES384": "P-384", "ES512": "P-521"}
RSA_BITS_MIN = 2048
MAX_KEYS = 200
"""The most keys that one JWKS may have."""
MAX_SECONDS = (1 << 63) // 1000
_ALGORITHMS: Mapping[str, Algorithm] = {
    name: algorithm for name, algorithm in get_default_algorithms().items() if name in KEY_TYPES
}


class JwksError(ValueError):
    """Raised for a JWKS that can't be used. The text contains no key."""


class TokenRules(NamedTuple):
    """The required claims of a token (``sasl.oauthbearer.*``).

    If ``issuer`` is None, the issuer (``iss``) is not checked. Without ``audiences``, a token must have no ``aud``.
    """

    audiences: frozenset[str] = frozenset()
    issuer: str | None = None
    name_claim: str = "sub"
    scope_claim: str = "scope"
    clock_skew_s: int = 30


class VerificationKey(NamedTuple):
    """One public key of a JWKS."""

    key_id: str | None
    key_type: str
    algorithm: str | None
    curve: str | None
    key: Any


def parse_jwks(text: str) -> list[VerificationKey]:
    """The keys of a JWKS that can verify signatures. Raises JwksError if it is malformed."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        raise JwksError("the JWKS is not JSON") from None
    keys = document.get("keys") if isinstance(document, dict) else None
    if not isinstance(keys, list):
        raise JwksError('the JWKS is not an object with a list "keys"')
    if len(keys) > MAX_KEYS:
        raise JwksError(f"the JWKS has more than {MAX_KEYS} keys")
    return [key for jwk in keys if isinstance(jwk, dict) and (key := _public_key(jwk)) is not None]


def _public_key(jwk: Mapping[str, Any]) -> VerificationKey | None:
    """Parses one key. Returns None for a key of another use, type or size; jose4j ignores unknown keys too."""
    key_type, use, curve = jwk.get("kty"), jwk.get("use", "sig"), jwk.get("crv")
    operations = jwk.get("key_ops", ["verify"])
    if key_type not in ("RSA", "EC", "OKP") or use != "sig" or not isinstance(operations, list):
        return None
    if "verify" not in operations or "d" in jwk:
        return None
    fitting = (name for name, kind in KEY_TYPES.items() if kind == key_type and CURVES.get(name, curve) == curve)
    name = next(fitting, None)
    if name is None:
        return None
    try:
        key = _ALGORITHMS[name].from_jwk(dict(jwk))
    except (PyJWTError, ValueError, TypeError, KeyError, AttributeError):
        return None
    if isinstance(key, RSAPublicKey):
        if key.key_size < RSA_BITS_MIN:
            return None
    elif not isinstance(key, EllipticCurvePublicKey | Ed25519PublicKey):
        return None
    key_id, algorithm = jwk.get("kid"), jwk.get("alg")
    if not isinstance(key_id, str | None) or not isinstance(algorithm, str | None):
        return None
    return VerificationKey(key_id, key_type, algorithm, curve, key)


def key_id_of(text: str) -> str | None:
    """The key id (``kid``) in a token's header; None if it has none, or if the token is malformed."""
    try:
        key_id = split_token(text).header.get("kid")
    except TokenRefusal:
        return None
    return key_id if isinstance(key_id, str) else None


def validate_signed(text: str, keys: Sequence[VerificationKey], rules: TokenRules, now_ms: int) -> BearerToken:
    """Checks a token's signature and claims. ``now_ms``: wall-clock time. Raises TokenRefusal."""
    token = split_token(text)
    name = token.header.get("alg")
    if not isinstance(name, str) or name not in KEY_TYPES:
        raise TokenRefusal("the token's algorithm (alg) is not a supported public-key algorithm")
    if "crit" in token.header:
        raise TokenRefusal("the token requires extensions (crit), which are not supported")
    key = _chosen(keys, name, token.header.get("kid"))
    if not _ALGORITHMS[name].verify(token.signed, key.key, token.signature):
        raise TokenRefusal("the token's signature is wrong")
    return _checked(token.claims, rules, now_ms // 1000)


def _chosen(keys: Sequence[VerificationKey], algorithm: str, key_id: object) -> VerificationKey:
    curve = CURVES.get(algorithm)
    found = [
        key
        for key in keys
        if key.key_type == KEY_TYPES[algorithm]
        and (key_id is None or key.key_id == key_id)
        and key.algorithm in (None, algorithm)
        and (curve is None or key.curve == curve)
    ]
    if not found:
        raise TokenRefusal("no key of the JWKS has the token's key id (kid) and algorithm")
    return found[0]


def _checked(claims: Mapping[str, Any], rules: TokenRules, now_s: int) -> BearerToken:
    expires_s, issued_s = _time(claims, "exp"), _time(claims, "iat")
    not_before_s = _time(claims, "nbf")
    if expires_s is None or issued_s is None:
        raise TokenRefusal(f"the token has no {'exp' if expires_s is None else 'iat'}")
    if now_s - rules.clock_skew_s >= expires_s:
        raise TokenRefusal("the token has expired (exp)")
    if expires_s < issued_s or (not_before_s is not None and expires_s < not_before_s):
        raise TokenRefusal("the token expires before it becomes valid (exp, iat, nbf)")
    if not_before_s is not None and now_s + rules.clock_skew_s < not_before_s:
        raise TokenRefusal("the token is not valid yet (nbf)")
    _check_issuer(claims, rules)
    _check_scopes(claims.get(rules.scope_claim), rules.scope_claim)
    for text in ("sub", "jti"):
        if not isinstance(claims.get(text), str | None):
            raise TokenRefusal(f"the token's {text} is not text")
    name = claims.get(rules.name_claim)
    if not isinstance(name, str) or not name.strip():
        raise TokenRefusal(f"the token has no name in the claim {rules.name_claim}")
    if min(expires_s, issued_s) < 0:
        raise TokenRefusal("the token has a time before 1970 (exp, iat)")
    return BearerToken(name.strip(), expires_s * 1000)


def _check_issuer(claims: Mapping[str, Any], rules: TokenRules) -> None:
    """Raises TokenRefusal for the token of another issuer, or for another audience.

    As in jose4j, a token that names an audience is refused if no audience is configured.
    """
    issuer, audience = claims.get("iss"), claims.get("aud")
    if not isinstance(issuer, str | None) or rules.issuer not in (None, issuer):
        raise TokenRefusal("the token's issuer (iss) is not sasl.oauthbearer.expected.issuer")
    audiences = [audience] if isinstance(audience, str) else audience
    if audiences is None and not rules.audiences:
        return
    is_list = isinstance(audiences, list) and all(isinstance(audience, str) for audience in audiences)
    if not is_list or rules.audiences.isdisjoint(audiences or ()):
        raise TokenRefusal("the token's audience (aud) is not in sasl.oauthbearer.expected.audience")


def _check_scopes(claim: object, name: str) -> None:
    if not isinstance(claim, str | list):
        return
    scopes = [claim] if isinstance(claim, str) else claim
    texts = [scope.strip() for scope in scopes if isinstance(scope, str)]
    if len(texts) != len(scopes) or not all(texts) or len(set(texts)) != len(texts):
        raise TokenRefusal(f"the token's scopes ({name}) are empty, repeated or not text")


def _time(claims: Mapping[str, Any], name: str) -> int | None:
    value = time_claim(claims, name, MAX_SECONDS)
    return None if value is None else int(value)
