"""The HTTP server of the admin port.

Owns: requests and answers as JSON. Never does: anything with the broker (:mod:`.routes` does). Invariants: each
request has a thread, since it may wait; a body has at most MOST_BYTES. The port has no authentication, because it is
for tests; it listens on 127.0.0.1 by default.
"""

import asyncio
import json
import logging
import socket
from concurrent.futures import Future
from threading import Thread
from typing import Any
from urllib.parse import parse_qsl

from odradek.broker.http.connection import HttpLimits
from odradek.broker.http.messages import BodyRefusedError, HttpRequest, HttpResponse, HttpService
from odradek.broker.http.server import HttpServer

from .kept_recording import Lines
from .routes import AdminControl, check_running, find, refusal
from .values import AdminPortError, Arguments

logger = logging.getLogger(__name__)

MOST_BYTES = 64 << 20
LIMITS = HttpLimits(head_bytes=1 << 16, max_wait_s=60.0, max_idle_s=3600.0, max_requests=1000)


class AdminServer:
    """An admin port that serves in a thread of its own."""

    def __init__(self, host: str, port: int, control: AdminControl) -> None:
        """Binds the port; 0 takes any free one. Raises OSError."""
        self._control = control
        self._socket = socket.create_server((host, port))
        self.port = int(self._socket.getsockname()[1])
        """The TCP port that the server listens on."""
        self._loop = asyncio.new_event_loop()
        self._stopped = asyncio.Event()
        self._thread = Thread(target=self._run, name="odradek-admin", daemon=True)

    def start(self) -> None:
        """Starts the thread that serves requests."""
        self._thread.start()

    def stop(self) -> None:
        """Closes the port. Requests that are still waiting get no answer."""
        self._loop.call_soon_threadsafe(self._stopped.set)
        self._thread.join()

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        server = HttpServer(HttpService(self._answer, refused=_refused), LIMITS)
        await server.start_on(self._socket)
        await self._stopped.wait()
        server.stop()

    async def _answer(self, request: HttpRequest) -> HttpResponse:
        """Answers a request of any method."""
        try:
            body = _document(await request.read_body(MOST_BYTES))
            answer = await asyncio.wrap_future(self._on_thread(request, body))
        except BodyRefusedError as error:
            return _refused(error.status, str(error))
        except AdminPortError as error:
            return _refused(error.status, error.message)
        is_text = isinstance(answer, Lines)
        content = answer.encode() if is_text else json.dumps(answer).encode() + b"\n"
        return HttpResponse(200, (("Content-Type", "application/jsonl" if is_text else "application/json"),), content)

    def _on_thread(self, request: HttpRequest, body: dict[str, Any]) -> "Future[Any]":
        """Acts on a thread that does not delay the end of the process."""
        answered: Future[Any] = Future()

        def run() -> None:
            try:
                answered.set_result(self._act(request, body))
            except AdminPortError as error:
                answered.set_exception(error)

        Thread(target=run, name="odradek-admin-request", daemon=True).start()
        return answered

    def _act(self, request: HttpRequest, body: dict[str, Any]) -> Any:
        """Does what a request asks for. Raises AdminPortError."""
        try:
            action, named = find(request.method, request.path)
            check_running(self._control, request.path)
            return action(self._control, Arguments({**dict(parse_qsl(request.query)), **body, **named}))
        except Exception as error:
            known = refusal(error)
            if known is None:
                logger.exception("%s %s failed", request.method, request.target)
                known = AdminPortError(500, f"{type(error).__name__}: {error}")
            raise known from error


def _refused(status: int, reason: str) -> HttpResponse:
    body = json.dumps({"error": reason.strip()}).encode() + b"\n"
    return HttpResponse(status, (("Content-Type", "application/json"),), body)


def _document(body: bytes) -> dict[str, Any]:
    """The JSON object in a body; empty without one. Raises AdminPortError: 400."""
    try:
        found = json.loads(body or b"{}")
    except ValueError as error:
        raise AdminPortError(400, f"the body is not JSON: {error}") from error
    except RecursionError:
        raise AdminPortError(400, "the body is nested too deeply") from None
    if not isinstance(found, dict):
        raise AdminPortError(400, "the body must be a JSON object")
    return found
