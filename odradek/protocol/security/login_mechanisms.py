"""The client's side of the SASL mechanisms: PLAIN, SCRAM, OAUTHBEARER.

Pure: nonces and tokens are passed in. A mechanism returns the client's first message, then its answer to each message
of the broker, until the login is complete. ``repr`` does not show passwords or tokens. Source: ``PlainSaslClient``,
``ScramSaslClient``, ``OAuthBearerSaslClient``.
"""

import hmac
import re
from collections.abc import Mapping
from typing import Protocol

from . import plain, scram

EXTENSION_KEY = re.compile(r"[A-Za-z]+")
EXTENSION_VALUE = re.compile(r"[\x21-\x7e \t\r\n]+")
TOKEN = re.compile(r"[-_~+/.a-zA-Z0-9]+=*")
SEPARATOR = "\x01"
NONCE_BYTES = 20
ITERATIONS_AT_MOST = 1_000_000
"""The most SCRAM iterations that a broker may ask for. More would take the client over a second for each login."""


class MechanismError(ValueError):
    """The broker's message is wrong, or it could not prove that it knows the password. The text has no secret."""


class ClientLogin(Protocol):
    """One authentication, from the first message on."""

    name: str
    """The mechanism's name in SASL."""
    user: str | None
    """Who logs in, for errors. None if only the broker can tell, from a token."""

    def first(self) -> bytes:
        """The client's first message."""

    def answer(self, message: bytes) -> bytes | None:
        """The answer to the broker's message; None if the broker's message was the last. Raises MechanismError."""


class PlainLogin:
    """PLAIN: one message with user and password."""

    name = plain.MECHANISM

    def __init__(self, user: str, password: str) -> None:
        """Both may have any characters but NUL."""
        self.user: str | None = user
        self._message = plain.encode(user, password)

    def first(self) -> bytes:
        """``NUL user NUL password``."""
        return self._message

    def answer(self, message: bytes) -> bytes | None:
        """Returns None: the broker's empty message ends the login. Raises MechanismError for any other message."""
        if message:
            raise MechanismError(f"the broker sent {len(message)} bytes, the answer to PLAIN must be empty")
        return None


class ScramLogin:
    """SCRAM-SHA-256 or SCRAM-SHA-512: both sides prove that they know the password without sending it."""

    def __init__(self, mechanism: str, user: str, password: str, nonce: str, *, by_token: bool = False) -> None:
        """``nonce``: random, printable. ``by_token``: user and password are id and HMAC of a delegation token."""
        self.name = mechanism
        self.user: str | None = user
        self._mechanism = scram.MECHANISMS[mechanism]
        self._password = password
        self._first = scram.ClientFirst(user, nonce, extensions=",tokenauth=true" if by_token else "")
        self._expected: bytes | None = None

    def first(self) -> bytes:
        """User and nonce."""
        return self._first.encode()

    def answer(self, message: bytes) -> bytes | None:
        """Answers the broker's first message with the proof; checks its signature in the second (returns None)."""
        try:
            if self._expected is None:
                return self._proof(message)
            self._check(message, self._expected)
        except scram.ScramError as error:
            raise MechanismError(str(error)) from None
        return None

    def _proof(self, message: bytes) -> bytes:
        server = scram.decode_server_first(message)
        nonce = self._first.nonce
        if not server.nonce.startswith(nonce) or len(server.nonce) == len(nonce):
            raise MechanismError("the broker's nonce does not begin with the client's")
        if not scram.ITERATIONS_MIN <= server.iterations <= ITERATIONS_AT_MOST:
            raise MechanismError(
                f"the broker asks for {server.iterations} iterations; "
                f"{scram.ITERATIONS_MIN} to {ITERATIONS_AT_MOST} are allowed"
            )
        salted = scram.salted_password(self._mechanism, self._password, server.salt, server.iterations)
        final = scram.ClientFinal(b"n,,", server.nonce)
        signed = scram.signed_text(self._first, server, final)
        key = scram.server_key(self._mechanism, salted)
        self._expected = scram.server_signature(self._mechanism, key, signed)
        return final._replace(proof=scram.client_proof(self._mechanism, salted, signed)).encode()

    def _check(self, message: bytes, expected: bytes) -> None:
        final = scram.decode_server_final(message)
        if final.error is not None:
            raise MechanismError(f"the broker refused the login: {final.error}")
        if not hmac.compare_digest(final.signature, expected):
            raise MechanismError("the broker could not prove that it knows the password")


class OAuthBearerLogin:
    """OAUTHBEARER: one message with a token, and extensions."""

    name = "OAUTHBEARER"
    user: str | None = None

    def __init__(self, token: str, extensions: Mapping[str, str]) -> None:
        """Raises MechanismError for a token or extension with characters that are not allowed (RFC 7628)."""
        if TOKEN.fullmatch(token) is None:
            raise MechanismError("the token has characters that are not allowed in a bearer token")
        for key, value in extensions.items():
            if key == "auth" or not EXTENSION_KEY.fullmatch(key) or not EXTENSION_VALUE.fullmatch(value):
                raise MechanismError(f"the extension {key!r} has a key or a value that is not allowed")
        pairs = "".join(f"{SEPARATOR}{key}={value}" for key, value in extensions.items())
        self._message = f"n,,{SEPARATOR}auth=Bearer {token}{pairs}{SEPARATOR}{SEPARATOR}".encode()

    def first(self) -> bytes:
        """The token and the extensions."""
        return self._message

    def answer(self, message: bytes) -> bytes | None:
        """Returns None if ``message`` is empty: the broker has accepted the token. Otherwise ``message`` is an error in
        JSON, which the client must answer with one byte; the broker's next response is then the failure."""
        return SEPARATOR.encode() if message else None
