"""A small HTTP server on the event loop that serves the metrics, and says whether the broker serves.

    GET /metrics    the metrics
    GET /health     200 while the process answers
    GET /ready      200 while clients can write, else 503 with the reason

With credentials, only a client that sends them reads the metrics; the other two paths are for probes, which have none.

Owns: its listener. Never does: threads, keeping connections, TLS. Invariants: a request is a few KiB at most, and
arrives within MAX_WAIT_S; at most MAX_REQUESTS requests are awaited at a time, TLS handshakes included; an answer may
take as long as it needs, but a client that reads nothing of it for MAX_WAIT_S is cut off; one turn of the event loop
makes pieces of one answer, for TURN_S and one piece more at most; while a client does not read, no more pieces are made
for it. Source: Prometheus' exposition formats (by prometheus_client).
"""

import asyncio
import base64
import contextlib
import hmac
import logging
from collections.abc import Callable, Iterator, Sequence
from time import perf_counter

from prometheus_client.exposition import choose_encoder

from .pieces import MetricsSource, encoded

logger = logging.getLogger(__name__)

MAX_HEAD_BYTES = 8192
MAX_WAIT_S = 10.0
MAX_REQUESTS = 100
"""The most connections that have not sent their request. Another one takes the place of the oldest."""
TURN_S = 0.0005
"""The time after which a turn makes no further piece. Most pieces take a tenth of it: with one in each turn, an answer
would wait for a hundred turns, which takes a second if the broker is busy.
"""
_CHALLENGE = 'WWW-Authenticate: Basic realm="metrics", charset="UTF-8"\r\n'
PATHS = ("/metrics", "/health", "/ready")

OverTls = Callable[[asyncio.Protocol], asyncio.BaseProtocol]
"""Makes the protocol of a socket whose plaintext goes to a given protocol."""


class MetricsEndpoint:
    """Listens from `start` to `stop`."""

    def __init__(
        self,
        source: MetricsSource,
        unready: Callable[[], str | None] = lambda: None,
        credentials: str = "",
        over_tls: OverTls | None = None,
        max_wait_s: float = MAX_WAIT_S,
        turn_s: float = TURN_S,
    ) -> None:
        """``source`` is read at each request. ``unready``: why clients can't write now; None if they can.
        ``credentials``: ``user:password`` of the readers of metrics; empty: anyone. ``over_tls``: None without
        TLS. ``max_wait_s``: how long a client
        may take to send its request, and how long it may read nothing of the answer. ``turn_s``: the time after which
        a turn of the event loop makes no further piece.
        """
        self._max_wait_s = max_wait_s
        self._turn_s = turn_s
        self._authorization = b"basic " + base64.b64encode(credentials.encode()) if credentials else b""
        self._over_tls = over_tls
        self._source = source
        self._unready = unready
        self._turn = asyncio.Lock()
        """Held by the answer that makes pieces in this turn of the event loop."""
        self._server: asyncio.Server | None = None
        self._awaited: dict[asyncio.StreamWriter, None] = {}
        """The connections whose request is awaited, the oldest first."""

    async def start(self, host: str, port: int, hosts: Sequence[str] = ()) -> int:
        """Starts to listen. ``hosts``: the addresses of ``host``, if it is one for all interfaces. Returns the port.
        Raises OSError.
        """
        self._server = await asyncio.get_running_loop().create_server(self._accept, list(hosts) or host, port)
        bound: int = self._server.sockets[0].getsockname()[1]
        logger.info("metrics at %s://%s:%d/metrics", "http" if self._over_tls is None else "https", host, bound)
        return bound

    def stop(self) -> None:
        """Closes the listener."""
        if self._server is not None:
            self._server.close()

    def _accept(self) -> asyncio.BaseProtocol:
        """The protocol of a new connection, which calls :meth:`_serve`."""
        protocol = asyncio.StreamReaderProtocol(asyncio.StreamReader(MAX_HEAD_BYTES), self._serve)
        return protocol if self._over_tls is None else self._over_tls(protocol)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._awaited[writer] = None
        if len(self._awaited) > MAX_REQUESTS:
            oldest = next(iter(self._awaited))
            del self._awaited[oldest]
            oldest.transport.abort()
        try:
            try:
                async with asyncio.timeout(self._max_wait_s):
                    head = await reader.readuntil(b"\r\n\r\n")
            finally:
                self._awaited.pop(writer, None)
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
                some = _some(parts, self._turn_s)
                await asyncio.sleep(0)  # other work gets a turn before the next pieces of any answer
            if not some:
                return
            writer.write(b"".join(some))
            if not await _drained(writer, self._max_wait_s):
                host, port = writer.get_extra_info("peername")[:2]
                logger.warning(
                    "%s:%d has read none of its metrics for %g s: connection closed", host, port, self._max_wait_s
                )
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
        if not self._may_read(_field(head, "authorization")):
            yield _response("401 Unauthorized", b"the metrics need a password\n", _CHALLENGE)
            return
        accepted = _field(head, "accept")
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

    def _may_read(self, authorization: str) -> bool:
        scheme, _, sent = authorization.strip().partition(" ")
        given = f"{scheme.lower()} {sent.strip()}".encode()
        return not self._authorization or hmac.compare_digest(given, self._authorization)


def _some(parts: Iterator[bytes], turn_s: float) -> list[bytes]:
    """The next parts, as many as there is time for in ``turn_s``: at least one, and none at the end."""
    some: list[bytes] = []
    end_s = perf_counter() + turn_s
    for part in parts:
        some.append(part)
        if perf_counter() >= end_s:
            break
    return some


def _field(head: list[str], name: str) -> str:
    """The value of a field of a request's head; empty if it is absent."""
    return next((line.partition(":")[2] for line in head[1:] if line.lower().startswith(f"{name}:")), "")


async def _drained(writer: asyncio.StreamWriter, max_wait_s: float) -> bool:
    """Waits until the client has read most of the written bytes. Returns False if it has read nothing in
    ``max_wait_s``."""
    while True:
        unread_bytes = writer.transport.get_write_buffer_size()
        try:
            async with asyncio.timeout(max_wait_s):
                await writer.drain()
        except TimeoutError:
            if writer.transport.get_write_buffer_size() >= unread_bytes:
                return False
        else:
            return True


def _response(status: str, body: bytes, more: str = "") -> bytes:
    fields = (
        f"Content-Type: text/plain; charset=utf-8\r\nContent-Length: {len(body)}\r\nConnection: close\r\n{more}\r\n"
    )
    return f"HTTP/1.1 {status}\r\n{fields}".encode() + body


def host_and_port(address: str) -> tuple[str, int]:
    """The parts of ``odradek.metrics.listener``, which the configuration has checked."""
    host, _, port = address.rpartition(":")
    return host.strip("[]"), int(port)
