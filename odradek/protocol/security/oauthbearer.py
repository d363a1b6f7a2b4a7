"""The messages of SASL OAUTHBEARER: the client's first one, and the server's error.

    n,[a=<authorization id>],^Aauth=Bearer <token>^A[<key>=<value>^A ...]^A          (^A: the byte 1)

Pure. Never does: checking a token. Invariant: errors and representations never show the token. Source:
``OAuthBearerClientInitialResponse``, ``OAuthBearerSaslServer.jsonErrorResponse``; RFC 7628.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

SEPARATOR = "\x01"
ACKNOWLEDGED_ERROR = b"\x01"
"""What a client answers to the server's error."""
INVALID_TOKEN, INSUFFICIENT_SCOPE = "invalid_token", "insufficient_scope"
AUTH_KEY = "auth"

_NAME = re.compile(r"(?:[\x01-\x2b\x2d-\x3c\x3e-\x7f]|=2C|=3D)+")
"""Without ``,`` and ``=``."""
_KEY = re.compile(r"[A-Za-z]+")
_VALUE = re.compile(r"[\x21-\x7e \t\r\n]+")
_AUTH = re.compile(r"(\w+) +([-_~+/.a-zA-Z0-9]+=*)", re.ASCII)


class OAuthBearerError(ValueError):
    """A message that is malformed. The text shows nothing of it."""


class ClientInitial(NamedTuple):
    """What a client sends. ``authorization_id`` is empty if it names none."""

    token: str
    authorization_id: str = ""
    extensions: Mapping[str, str] = {}

    def __repr__(self) -> str:
        return f"ClientInitial(authorization_id={self.authorization_id!r}, extensions={list(self.extensions)!r})"


def decode_client_initial(data: bytes) -> ClientInitial:
    """Parses the client's first message, in time proportional to its size. Raises OAuthBearerError."""
    head, comma, rest = data.decode("utf-8", "replace").partition(",")
    authorization, second_comma, pairs = rest.partition(",")
    well_formed = head == "n" and comma and second_comma and pairs[:1] == SEPARATOR and len(pairs) > 1
    if authorization:
        well_formed = well_formed and authorization[:2] == "a=" and _NAME.fullmatch(authorization, 2) is not None
    if not well_formed or pairs[-1] != SEPARATOR:
        raise OAuthBearerError("Invalid OAUTHBEARER client first message")
    properties = _properties(pairs[1:-1])
    auth = properties.pop(AUTH_KEY, None)
    if auth is None:
        raise OAuthBearerError("Invalid OAUTHBEARER client first message: 'auth' not specified")
    found = _AUTH.fullmatch(auth)
    if found is None:
        raise OAuthBearerError("Invalid OAUTHBEARER client first message: invalid 'auth' format")
    if found[1].lower() != "bearer":
        raise OAuthBearerError("Invalid scheme in OAUTHBEARER client first message")
    return ClientInitial(found[2], authorization[2:], properties)


def _properties(text: str) -> dict[str, str]:
    if not text:
        return {}
    if text[-1] != SEPARATOR:
        raise OAuthBearerError("Invalid OAUTHBEARER client first message")
    properties = {}
    for pair in text[:-1].split(SEPARATOR):
        key, equals, value = pair.partition("=")
        if not equals or not _KEY.fullmatch(key) or not _VALUE.fullmatch(value):
            raise OAuthBearerError("Invalid OAUTHBEARER client first message")
        properties[key] = value
    return properties


def encode_server_error(status: str, scope: str | None = None) -> bytes:
    """What a client gets for a token that is refused. ``scope``: the scope that it needs."""
    needed = "" if scope is None else f', "scope":"{scope}"'
    return f'{{"status":"{status}"{needed}}}'.encode()
