"""Decodes JSON web tokens (JWT) into header, claims and signature.

Pure. Never does: checking a signature. Invariants: no error text contains a token; ``MAX_CONTAINERS`` and the size of
the client's message bound the cost of decoding. Source: ``OAuthBearerUnsecuredJws``, RFC 7515, RFC 7519.
"""

import base64
import binascii
import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from odradek.protocol.security.oauthbearer import INVALID_TOKEN

MAX_CONTAINERS = 1_000
"""The most arrays and objects in one part of a token, which also bounds their depth. Real tokens have a few."""


class BearerToken(NamedTuple):
    """A valid token: the client's name, and when the token expires, in ms since the epoch."""

    name: str
    expires_ms: int


class TokenRefusal(Exception):  # noqa: N818 - an answer to the client, not an error of ours
    """Raised for a token that is refused. The text is for the log.

    ``status`` and ``scope`` (the required scopes) are for the client's error message (RFC 7628).
    """

    def __init__(self, reason: str, status: str = INVALID_TOKEN, scope: str | None = None) -> None:
        super().__init__(reason)
        self.status = status
        self.scope = scope


class TokenParts(NamedTuple):
    """The decoded parts of a compact serialization. ``signed``: the bytes that the signature covers."""

    header: dict[str, Any]
    claims: dict[str, Any]
    signature: bytes
    signed: bytes

    def __repr__(self) -> str:
        return f"TokenParts(header: {sorted(self.header)!r}, claims: {sorted(self.claims)!r})"


def split_token(text: str) -> TokenParts:
    """Decodes a token. Raises TokenRefusal."""
    parts = text.split(".")
    if len(parts) != 3:
        raise TokenRefusal(f"a token must have 3 parts, this one has {len(parts)}")
    header, claims = (_object(part, name) for part, name in zip(parts, ("header", "claims"), strict=False))
    signed = f"{parts[0]}.{parts[1]}".encode()
    return TokenParts(header, claims, _bytes(parts[2], "signature"), signed)


def _bytes(part: str, name: str) -> bytes:
    try:
        data = part.rstrip("=").encode("ascii")
        return base64.b64decode(data + b"=" * (-len(data) % 4), altchars=b"-_", validate=True)
    except (UnicodeEncodeError, binascii.Error):
        raise TokenRefusal(f"the token's {name} is not Base64") from None


def _object(part: str, name: str) -> dict[str, Any]:
    data = _bytes(part, name)
    if data.count(b"[") + data.count(b"{") > MAX_CONTAINERS:
        raise TokenRefusal(f"the token's {name} has too many arrays and objects")
    try:
        found = json.loads(data.decode("utf-8"), object_pairs_hook=_unique, parse_constant=_no_number)
    except (ValueError, RecursionError):
        raise TokenRefusal(f"the token's {name} is not JSON, or names a field twice") from None
    if not isinstance(found, dict):
        raise TokenRefusal(f"the token's {name} is not a JSON object")
    return found


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name occurs twice")
    return found


def _no_number(text: str) -> float:
    raise ValueError(f"{text} is not JSON")


def time_claim(claims: Mapping[str, Any], name: str, seconds_max: float) -> int | float | None:
    """A claim that is a time in seconds; None if the token has none. Raises TokenRefusal if it is not a number up to
    ``seconds_max``."""
    value = claims.get(name)
    if value is None:
        return None
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= seconds_max:
        return value
    raise TokenRefusal(f"the token's {name} is not a time")
