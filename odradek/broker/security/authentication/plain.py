"""SASL PLAIN: users and passwords of a JAAS configuration.

Pure. Source: ``PlainSaslServer``, ``PlainServerCallbackHandler``; RFC 4616.
"""

import hmac
from collections.abc import Mapping

from odradek.protocol.security import plain

from .mechanism import Authenticated, Refused

WRONG = "Authentication failed: Invalid username or password"
OTHER_ID = "Authentication failed: Client requested an authorization id that is different from username"


class PlainExchange:
    """A PLAIN exchange: the client sends one message, with user and password."""

    __slots__ = ("_passwords",)

    def __init__(self, passwords: Mapping[str, str]) -> None:
        """``passwords``: user -> password."""
        self._passwords = passwords

    def respond(self, token: bytes, now_ms: int) -> Authenticated:
        """Checks the password, and takes the same time for known and unknown users. Raises Refused."""
        try:
            message = plain.decode(token)
        except ValueError as malformed:
            raise Refused(str(malformed), str(malformed)) from None
        for part, name in ((message.user, "username"), (message.password, "password")):
            if not part:
                sentence = f"Authentication failed: {name} not specified"
                raise Refused(sentence, sentence)
        expected = self._passwords.get(message.user)
        given = message.password.encode("utf-8", "surrogatepass")
        is_equal = hmac.compare_digest(given if expected is None else expected.encode("utf-8", "surrogatepass"), given)
        if expected is None or not is_equal:
            raise Refused(WRONG, WRONG)
        if message.authorization_id and message.authorization_id != message.user:
            raise Refused(OTHER_ID, OTHER_ID)
        return Authenticated(f"User:{message.user}")
