"""The message of SASL PLAIN: ``[authorization id] NUL user NUL password``.

Pure. Source: RFC 4616, ``PlainSaslServer.extractTokens``.
"""

from typing import NamedTuple

MECHANISM = "PLAIN"


class PlainMessage(NamedTuple):
    """What a client sends. The password does not show in ``repr``."""

    authorization_id: str
    user: str
    password: str

    def __repr__(self) -> str:
        return f"PlainMessage(user={self.user!r})"


def encode(user: str, password: str, authorization_id: str = "") -> bytes:
    """The client's message."""
    return "\0".join((authorization_id, user, password)).encode()


def decode(data: bytes) -> PlainMessage:
    """The parts of a client's message. Raises ValueError with Kafka's sentence."""
    parts = data.decode("utf-8", "replace").split("\0", 4)[:4]
    if len(parts) != 3:
        raise ValueError(f"Invalid SASL/PLAIN response: expected 3 tokens, got {len(parts)}")
    return PlainMessage(*parts)
