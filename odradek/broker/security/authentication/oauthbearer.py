"""SASL OAUTHBEARER: the client sends its token in one message. If it is refused, one more round trip follows.

Pure. Never does: checking a token (a given function does). Source: ``OAuthBearerSaslServer``; KIP-255, RFC 7628.
"""

from collections.abc import Callable

from odradek.protocol.security.oauthbearer import (
    ACKNOWLEDGED_ERROR,
    OAuthBearerError,
    decode_client_initial,
    encode_server_error,
)

from .bearer_token import BearerToken, TokenRefusal
from .mechanism import Authenticated, Refused

Validate = Callable[[str, int], BearerToken]
"""``(token, now_ms)``: checks a token. ``now_ms`` is in ms since the epoch. Raises TokenRefusal."""


class OAuthBearerExchange:
    """An OAUTHBEARER exchange: the client sends its token, and after a refusal an acknowledgement."""

    __slots__ = ("_refusal", "_validate")

    def __init__(self, validate: Validate) -> None:
        self._validate = validate
        self._refusal: tuple[str, str] | None = None
        """The reason why the last token was refused, and the error that was sent to the client."""

    def respond(self, token: bytes, now_ms: int) -> bytes | Authenticated:
        """Checks the client's token. If it is refused, returns an error for the client, which the client acknowledges.

        Raises Refused for the acknowledgement, for a malformed message, and for another authorization id.
        """
        if self._refusal is not None and token == ACKNOWLEDGED_ERROR:
            raise Refused(*self._refusal)
        self._refusal = None
        try:
            message = decode_client_initial(token)
        except OAuthBearerError as malformed:
            raise Refused(str(malformed)) from None
        try:
            bearer = self._validate(message.token, now_ms)
        except TokenRefusal as refusal:
            error = encode_server_error(refusal.status, refusal.scope)
            self._refusal = str(refusal), error.decode()
            return error
        if message.authorization_id and message.authorization_id != bearer.name:
            raise Refused(
                "the client's authorization id is not the name in its token",
                f"Authentication failed: Client requested an authorization id ({message.authorization_id}) that is "
                f"different from the token's principal name ({bearer.name})",
            )
        return Authenticated(f"User:{bearer.name}", b"", bearer.expires_ms)
