"""A token endpoint whose answers are given by the test, and unsigned tokens.

with TokenEndpoint() as endpoint:
    endpoint.answers = [answer_with(jwt(expires_s))]
"""

import base64
import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from types import TracebackType


class TokenEndpoint(HTTPServer):
    """Answers each request with the next of ``answers``: status, and the body, or the URL to go to (302)."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answers: list[tuple[int, bytes]] = []
        self.asked: list[tuple[str, str]] = []
        """The Authorization header and the body of each request."""
        self._thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.01})

    @property
    def url(self) -> str:
        """Where clients POST."""
        return f"http://127.0.0.1:{self.server_port}/token"

    def __enter__(self) -> "TokenEndpoint":
        self._thread.start()
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.shutdown()
        self._thread.join()
        self.server_close()


class _Handler(BaseHTTPRequestHandler):
    server: TokenEndpoint

    def do_POST(self) -> None:
        self._answer()

    def do_GET(self) -> None:
        self._answer()

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"] or 0)).decode()
        self.server.asked.append((self.headers["Authorization"], body))
        status, answer = self.server.answers.pop(0)
        self.send_response(status)
        if status == 302:
            self.send_header("Location", answer.decode())
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""


def jwt(expires_s: float, number: int) -> str:
    """A token without a signature. ``number`` makes it differ from others."""
    claims = json.dumps({"exp": expires_s, "n": number}).encode()
    return f"e30.{base64.urlsafe_b64encode(claims).rstrip(b'=').decode()}.x"


def answer_with(token: str) -> tuple[int, bytes]:
    """The answer that gives a token."""
    return 200, json.dumps({"access_token": token}).encode()
