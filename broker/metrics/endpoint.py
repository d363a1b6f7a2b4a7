"""A small HTTP server on the event loop that serves the metrics, and says whether the broker serves.

    GET /metrics    the metrics
    GET /health     200 while the process answers
    GET /ready      200 while clients can write, else 503 with the reason

Owns: its listener. Never does: threads, TLS, keeping connections. Invariants: a request is a few KiB at most, and
arrives within MAX_WAIT_S; an answer may take as long as it needs, but a client that reads nothing of it for MAX_WAIT_S
is cut off; one turn of the event loop makes one piece of all answers, and an answer that its client does not read is
made no further. Source: Prometheus' exposition formats (by prometheus_client).
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterator

from prometheus_client.exposition import choose_encoder

from .pieces import MetricsSource, encoded

logger = logging.getLogger(__name__)

MAX_HEAD_BYTES = 8192
MAX_WAIT_S = 10.0
PATHS = ("/metrics", "/health", "/ready")


class MetricsEndpoint:
    """Listens from `start` to `stop`."""

    def __init__(self, source: MetricsSource, unready: Callable[[], str | None] = lambda: None) -> None:
        """``source`` is read at each request. ``unready``: why clients can't write now; None if they can."""
        self._source = source
        self._unready = unready
        self._turn = asyncio.Lock()
        """Held by the answer that makes a piece in this turn of the event loop."""
        self._server: asyncio.Server | None = None

    async def start(self, host: str, port: int) -> int:
        """Starts to listen. Returns the port. Raises OSError."""
        self._server = await asyncio.start_server(self._serve, host, port, limit=MAX_HEAD_BYTES)
        bound: int = self._server.sockets[0].getsockname()[1]
        logger.info("metrics at http://%s:%d/metrics", host, bound)
        return bound

    def stop(self) -> None:
        """Closes the listener."""
        if self._server is not None:
            self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(MAX_WAIT_S):
                head = await reader.readuntil(b"\r\n\r\n")
            await self._send(self._answer(head.decode("latin-1").split("\r\n")), writer)
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, TimeoutError, ConnectionError):
            pass  # no request arrived, or the client has disconnected
        finally:
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()

    async def _send(self, parts: Iterator[bytes], writer: asyncio.StreamWriter) -> None:
        while True:
            async with self._turn:
                part = next(parts, None)
                await asyncio.sleep(0)  # other work gets a turn before the next piece of any answer
            if part is None:
                return
            writer.write(part)
            if not await _drained(writer):
                host, port = writer.get_extra_info("peername")[:2]
                logger.warning("%s:%d has read none of its metrics for %g s: connection closed", host, port, MAX_WAIT_S)
                writer.transport.abort()
                return

    def _answer(self, head: list[str]) -> Iterator[bytes]:
        words = head[0].split(" ")
        path = words[1].partition("?")[0] if len(words) == 3 else ""
        if path not in PATHS:
            yield _response("404 Not Found", b"the metrics are at /metrics; there are /health and /ready\n")
            return
        if words[0] != "GET":
            yield _response("405 Method Not Allowed", b"GET only\n")
            return
        if path != "/metrics":
            reason = self._unready() if path == "/ready" else None
            yield (
                _response("200 OK", b"ok\n")
                if reason is None
                else _response("503 Service Unavailable", f"{reason}\n".encode())
            )
            return
        accepted = next((line.partition(":")[2] for line in head[1:] if line.lower().startswith("accept:")), "")
        encode, content_type = choose_encoder(accepted)
        # HTTP/1.0 has no chunks: there the end of the connection ends the answer.
        in_chunks = words[2] != "HTTP/1.0"
        coding = "Transfer-Encoding: chunked\r\n" if in_chunks else ""
        yield f"HTTP/1.1 200 OK\r\nContent-Type: {content_type}\r\n{coding}Connection: close\r\n\r\n".encode()
        for piece in encoded(self._source, encode):
            if piece:
                yield b"%x\r\n%b\r\n" % (len(piece), piece) if in_chunks else piece
        if in_chunks:
            yield b"0\r\n\r\n"


async def _drained(writer: asyncio.StreamWriter) -> bool:
    """Waits until the client has read most of the written bytes. Returns False if it reads nothing for MAX_WAIT_S."""
    while True:
        unread_bytes = writer.transport.get_write_buffer_size()
        try:
            async with asyncio.timeout(MAX_WAIT_S):
                await writer.drain()
        except TimeoutError:
            if writer.transport.get_write_buffer_size() >= unread_bytes:
                return False
        else:
            return True


def _response(status: str, body: bytes) -> bytes:
    fields = f"Content-Type: text/plain; charset=utf-8\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    return f"HTTP/1.1 {status}\r\n{fields}".encode() + body


def host_and_port(address: str) -> tuple[str, int]:
    """The parts of ``odradek.metrics.listener``, which the configuration has checked."""
    host, _, port = address.rpartition(":")
    return host.strip("[]"), int(port)
