"""A small HTTP server on the event loop that shows the metrics: GET /metrics, nothing else.

Owns: its listener. Never does: threads, TLS, keeping connections. Invariants: a request is a few KiB at most and comes
within seconds, or its connection is closed. Source: Prometheus' exposition formats (by prometheus_client).
"""

import asyncio
import contextlib
import logging

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

logger = logging.getLogger(__name__)

MAX_HEAD_BYTES = 8192
MAX_WAIT_S = 10.0


class MetricsEndpoint:
    """Listens from `start` to `stop`."""

    def __init__(self, collector: Collector) -> None:
        """``collector`` is asked for its metrics at each request."""
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(collector)
        self._server: asyncio.Server | None = None

    async def start(self, host: str, port: int) -> int:
        """Begins to listen; the port. Raises OSError."""
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
                writer.write(self._answer(head.decode("latin-1").split("\r\n")))
                await writer.drain()
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, TimeoutError, ConnectionError):
            pass  # nobody is there to be told
        finally:
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()

    def _answer(self, head: list[str]) -> bytes:
        words = head[0].split(" ")
        if len(words) != 3 or words[1].partition("?")[0] != "/metrics":
            return _response("404 Not Found", "text/plain; charset=utf-8", b"the metrics are at /metrics\n")
        if words[0] != "GET":
            return _response("405 Method Not Allowed", "text/plain; charset=utf-8", b"GET only\n")
        accepted = next((line.partition(":")[2] for line in head[1:] if line.lower().startswith("accept:")), "")
        encode, content_type = choose_encoder(accepted)
        return _response("200 OK", content_type, encode(self._registry))


def _response(status: str, content_type: str, body: bytes) -> bytes:
    fields = f"Content-Type: {content_type}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    return f"HTTP/1.1 {status}\r\n{fields}".encode() + body


def host_and_port(address: str) -> tuple[str, int]:
    """The parts of ``odradek.metrics.listener``, which was checked with the configuration."""
    host, _, port = address.rpartition(":")
    return host.strip("[]"), int(port)
