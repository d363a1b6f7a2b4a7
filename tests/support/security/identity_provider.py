"""An identity provider for tests: a token endpoint (client credentials) and the keys of its signatures, over HTTP.

with IdentityProvider({"broker": "secret"}, lifetime_s=10) as provider:
    provider.token_url, provider.jwks_url
"""

import base64
import json
import threading
import time
from collections import Counter
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType

import jwt
from cryptography.hazmat.primitives.asymmetric import ec
from jwt.algorithms import ECAlgorithm

AUDIENCE, ISSUER = "kafka", "tests"
KEY_ID = "one"


class IdentityProvider(ThreadingHTTPServer):
    """Issues a token with the client's id as ``sub`` to each client that sends its secret."""

    daemon_threads = True

    def __init__(self, secrets: Mapping[str, str], lifetime_s: float) -> None:
        """``secrets``: client id -> secret."""
        super().__init__(("127.0.0.1", 0), _Handler)
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._secrets = dict(secrets)
        self._lifetime_s = lifetime_s
        self._changed = threading.Condition()
        self._given: Counter[str] = Counter()
        self.refused = 0
        """The number of refused requests for a token."""
        self._thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.01})

    @property
    def token_url(self) -> str:
        """The URL of the token endpoint."""
        return f"http://127.0.0.1:{self.server_port}/token"

    @property
    def jwks_url(self) -> str:
        """The URL of the public key."""
        return f"http://127.0.0.1:{self.server_port}/jwks"

    def wait_for(self, client: str, count: int) -> None:
        """Waits until a client has received this many tokens."""
        with self._changed:
            self._changed.wait_for(lambda: self._given[client] >= count)

    def given(self, client: str) -> int:
        """The number of tokens that a client has received."""
        return self._given[client]

    def jwks(self) -> bytes:
        """The document with the public key."""
        key = {**ECAlgorithm.to_jwk(self._key.public_key(), as_dict=True), "kid": KEY_ID, "use": "sig"}
        return json.dumps({"keys": [key]}).encode()

    def grant(self, authorization: str) -> bytes | None:
        """The answer to a client's Authorization header; None if the client or its secret is wrong."""
        client, _, secret = base64.b64decode(authorization.removeprefix("Basic ")).decode().partition(":")
        if self._secrets.get(client) != secret:
            with self._changed:
                self.refused += 1
            return None
        token = self.token(client)
        with self._changed:
            self._given[client] += 1
            self._changed.notify_all()
        return json.dumps({"access_token": token, "token_type": "bearer", "expires_in": self._lifetime_s}).encode()

    def token(self, name: str) -> str:
        """A signed token."""
        now = int(time.time())
        claims = {"sub": name, "aud": AUDIENCE, "iss": ISSUER, "iat": now, "exp": now + self._lifetime_s}
        return jwt.encode(claims, self._key, "ES256", headers={"kid": KEY_ID})

    def __enter__(self) -> "IdentityProvider":
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.shutdown()
        self._thread.join()
        self.server_close()


class _Handler(BaseHTTPRequestHandler):
    server: IdentityProvider

    def do_POST(self) -> None:
        """The token endpoint."""
        self.rfile.read(int(self.headers["Content-Length"]))
        self._answer(self.server.grant(self.headers["Authorization"] or ""))

    def do_GET(self) -> None:
        """The endpoint of the keys."""
        self._answer(self.server.jwks())

    def _answer(self, document: bytes | None) -> None:
        body = document or b"{}"
        self.send_response(401 if document is None else 200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Logs nothing."""
