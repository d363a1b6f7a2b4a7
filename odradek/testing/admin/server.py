"""The HTTP server of the admin port.

Owns: requests and answers as JSON. Never does: anything with the broker (:mod:`.routes` does). Invariants: each
connection has a thread, since requests may wait; a body has at most MOST_BYTES. The port has no authentication, because
it is for tests; it listens on 127.0.0.1 by default.
"""

import contextlib
import json
import logging
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from .errors import AdminPortError
from .kept_recording import Lines
from .routes import AdminControl, check_running, find, refusal
from .values import Arguments

logger = logging.getLogger(__name__)

MOST_BYTES = 64 << 20
MOST_LINE_BYTES = 1 << 16


class AdminServer:
    """An admin port that serves in a thread of its own."""

    def __init__(self, host: str, port: int, control: AdminControl) -> None:
        """Binds the port; 0 takes any free one. Raises OSError."""
        self._server = _Server((host, port), _Handler)
        self._server.control = control
        self._thread = Thread(target=self._server.serve_forever, name="odradek-admin", daemon=True)

    @property
    def port(self) -> int:
        """The TCP port that the server listens on."""
        return int(self._server.server_address[1])

    def start(self) -> None:
        """Starts the thread that serves requests."""
        self._thread.start()

    def stop(self) -> None:
        """Closes the port. Requests that are still waiting get no answer."""
        self._server.shutdown()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    control: AdminControl


class _Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    default_request_version = "HTTP/1.0"  # so that a malformed request line gets a status line, too
    server: _Server

    def handle(self) -> None:
        """Serves the connection to its end. Ignores that a test goes away without reading its answer."""
        with contextlib.suppress(ConnectionError):
            super().handle()

    def do_GET(self) -> None:
        """Answers a request of any method."""
        try:
            status: int = 200
            answer: Any = self._answer()
        except AdminPortError as error:
            status, answer = error.status, {"error": error.message}
        self._send(status, answer)

    do_POST = do_PUT = do_DELETE = do_PATCH = do_GET  # noqa: N815

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answers what the base class refuses, such as a malformed request line, as JSON too; closes the connection."""
        self.close_connection = True
        self._send(code, {"error": message or self.responses.get(code, ("refused",))[0]})

    def _send(self, status: int, answer: Any) -> None:
        is_text = isinstance(answer, Lines)
        body = answer.encode() if is_text else json.dumps(answer).encode() + b"\n"
        self.send_response(status)
        self.send_header("Content-Type", "application/jsonl" if is_text else "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _answer(self) -> Any:
        body = self._body()
        split = urlsplit(self.path)
        action, named = find(self.command, split.path)
        check_running(self.server.control, split.path)
        try:
            return action(self.server.control, Arguments({**dict(parse_qsl(split.query)), **body, **named}))
        except Exception as error:
            known = refusal(error)
            if known is None:
                logger.exception("%s %s failed", self.command, self.path)
                known = AdminPortError(500, f"{type(error).__name__}: {error}")
            raise known from error

    def _body(self) -> dict[str, Any]:
        """The JSON object in the body; empty without one. Raises AdminPortError: 400, 413."""
        is_chunked = self.headers.get("Transfer-Encoding", "").strip().lower() == "chunked"
        data = self._chunks() if is_chunked else self.rfile.read(self._size(self.headers.get("Content-Length") or "0"))
        try:
            found = json.loads(data or b"{}")
        except ValueError as error:
            raise AdminPortError(400, f"the body is not JSON: {error}") from error
        except RecursionError:
            raise AdminPortError(400, "the body is nested too deeply") from None
        if not isinstance(found, dict):
            raise AdminPortError(400, "the body must be a JSON object")
        return found

    def _chunks(self) -> bytes:
        """A body in chunks, as clients send that write JSON while they encode it (.NET's ``PostAsJsonAsync``)."""
        data = bytearray()
        while size := self._size(self.rfile.readline(MOST_LINE_BYTES).split(b";")[0].decode("latin-1"), 16, len(data)):
            data += self.rfile.read(size)
            self.rfile.readline(MOST_LINE_BYTES)
        while self.rfile.readline(MOST_LINE_BYTES).strip():
            pass  # trailers
        return bytes(data)

    def _size(self, text: str, base: int = 10, before: int = 0) -> int:
        """A number of bytes to read, with ``before`` at most MOST_BYTES. Raises AdminPortError: 400, 413."""
        try:
            size = int(text, base)
        except ValueError:
            size = -1
        if size < 0 or before + size > MOST_BYTES:
            self.close_connection = True
            raise AdminPortError(
                413 if size > 0 else 400,
                f"the body must have a Content-Length of at most {MOST_BYTES} bytes, or chunks with such a sum",
            )
        return size

    def log_message(self, format: str, *args: object) -> None:
        """Logs requests at the level DEBUG, instead of to standard error."""
        logger.debug(format, *args)
