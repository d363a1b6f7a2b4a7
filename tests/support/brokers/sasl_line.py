"""One connection that logs in with SASL and sends requests, the same bytes to our broker and to a real Kafka."""

import base64
import hashlib
import hmac
import socket
from collections.abc import Callable
from typing import Any

from odradek.protocol.codec import decode
from odradek.protocol.codec.header import encode_request, response_header_version
from odradek.protocol.messages import message_class
from odradek.protocol.messages.security import SaslAuthenticateRequest, SaslHandshakeRequest
from odradek.protocol.messages.structure import Message

NONCE = "client-nonce"


class LoginFailed(Exception):  # noqa: N818 - what a test expects
    """The broker refused the login, with the broker's error message."""


class SaslLine:
    """A connection. ``session_ms``: the lifetime of the session that the broker announced."""

    def __init__(self, port: int, host: str = "127.0.0.1") -> None:
        """``host``: the address of the client."""
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=60, source_address=(host, 0))
        self.session_ms = 0

    def close(self) -> None:
        """Closes it."""
        self.socket.close()

    def ask(self, request: Message, version: int) -> Any:
        """Sends a request; returns the answer. Raises EOFError if the broker closes the connection instead."""
        self.socket.sendall(encode_request(request, version, 7, "line"))
        frame = self._read(int.from_bytes(self._read(4), "big"))
        response = message_class(request.NAME.replace("Request", "Response"))
        return decode(response, version, frame, 4 + response_header_version(request.API_KEY, version))[0]

    def _read(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            piece = self.socket.recv(size - len(data))
            if not piece:
                raise EOFError("the broker closed the connection")
            data += piece
        return data

    def begin(self, mechanism: str) -> None:
        """Sends SaslHandshake with a mechanism. Raises LoginFailed."""
        answer = self.ask(SaslHandshakeRequest(mechanism), 1)
        if answer.error_code:
            raise LoginFailed(f"{answer.error_code} {answer.mechanisms}")

    def token(self, data: bytes) -> bytes:
        """Sends a SASL token; returns the broker's. Raises LoginFailed."""
        answer = self.ask(SaslAuthenticateRequest(data), 2)
        if answer.error_code:
            raise LoginFailed(answer.error_message)
        self.session_ms = answer.session_lifetime_ms
        return bytes(answer.auth_bytes)

    def plain(self, user: str, password: str) -> "SaslLine":
        """Logs in with PLAIN."""
        self.begin("PLAIN")
        self.token(f"\0{user}\0{password}".encode())
        return self

    def scram(self, user: str, password: str, extension: str = "", name: str = "sha256") -> "SaslLine":
        """Logs in with SCRAM, and checks the broker's signature. ``extension``: of the first message, such as
        ``,tokenauth=true``.
        """
        self.begin(f"SCRAM-SHA-{name.removeprefix('sha')}")
        bare = f"n={user},r={NONCE}{extension}"
        first = self.token(f"n,,{bare}".encode()).decode()
        fields = dict(part.split("=", 1) for part in first.split(","))
        assert fields["r"].startswith(NONCE)
        salted = hashlib.pbkdf2_hmac(name, password.encode(), base64.b64decode(fields["s"]), int(fields["i"]))
        without_proof = f"c=biws,r={fields['r']}"
        signed = f"{bare},{first},{without_proof}".encode()
        sign: Callable[[bytes, bytes], bytes] = lambda key, text: hmac.digest(key, text, name)  # noqa: E731
        key = sign(salted, b"Client Key")
        signature = sign(hashlib.new(name, key).digest(), signed)
        proof = base64.b64encode(bytes(one ^ other for one, other in zip(key, signature, strict=True))).decode()
        final = self.token(f"{without_proof},p={proof}".encode()).decode()
        assert base64.b64decode(final.removeprefix("v=")) == sign(sign(salted, b"Server Key"), signed)
        return self

    def by_token(self, token_id: str, digest: bytes, name: str = "sha256") -> "SaslLine":
        """Logs in with a delegation token."""
        return self.scram(token_id, base64.b64encode(digest).decode(), ",tokenauth=true", name)
