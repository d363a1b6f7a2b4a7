"""The HTTP endpoint of the metrics, which also says whether the broker serves.

    GET /metrics    the metrics
    GET /health     200 while the process answers
    GET /ready      200 while clients can write, else 503 with the reason

With credentials, only a client that sends them reads the metrics; the other two paths are for probes, which have none.

Owns: what each path answers. Never does: reading requests, sending (:mod:`..http`), keeping connections. Invariants: a
request is a few KiB at most, and arrives within ``max_wait_s``; an answer may take as long as it needs, but a client
that reads nothing of it for that time is cut off; one turn of the event loop makes pieces of one answer, for ``turn_s``
and one piece more at most; while a client does not read, no more pieces are made for it. Source: Prometheus' exposition
formats (by prometheus_client).
"""

import base64
import hmac
import logging
from collections.abc import Callable, Sequence

from prometheus_client.exposition import choose_encoder

from ..http.connection import HttpLimits
from ..http.messages import HttpRequest, HttpResponse, HttpService, text_response
from ..http.server import HttpServer, OverTls
from .pieces import MetricsSource, encoded

logger = logging.getLogger(__name__)

LIMITS = HttpLimits()
_CHALLENGE = ("WWW-Authenticate", 'Basic realm="metrics", charset="UTF-8"')
PATHS = ("/metrics", "/health", "/ready")


class MetricsEndpoint:
    """Listens from `start` to `stop`."""

    def __init__(
        self,
        source: MetricsSource,
        unready: Callable[[], str | None] = lambda: None,
        credentials: str = "",
        over_tls: OverTls | None = None,
        limits: HttpLimits = LIMITS,
    ) -> None:
        """``source`` is read at each request. ``unready``: why clients can't write now; None if they can.
        ``credentials``: ``user:password`` of the readers of metrics; empty: anyone. ``over_tls``: None without TLS.
        """
        self._authorization = b"basic " + base64.b64encode(credentials.encode()) if credentials else b""
        self._scheme = "http" if over_tls is None else "https"
        self._source = source
        self._unready = unready
        self._server = HttpServer(HttpService(self._answer, "metrics"), limits, over_tls=over_tls)

    async def start(self, host: str, port: int, hosts: Sequence[str] = ()) -> int:
        """Starts to listen. ``hosts``: the addresses of ``host``, if it is one for all interfaces. Returns the port.
        Raises OSError.
        """
        bound = await self._server.start(host, port, hosts)
        logger.info("metrics at %s://%s:%d/metrics", self._scheme, host, bound)
        return bound

    def stop(self) -> None:
        """Closes the listener."""
        self._server.stop()

    async def _answer(self, request: HttpRequest) -> HttpResponse:
        path = request.path
        if path not in PATHS:
            return text_response(404, "the metrics are at /metrics; there are /health and /ready\n")
        if request.method != "GET":
            return text_response(405, "GET only\n", ("Allow", "GET"))
        if path != "/metrics":
            reason = self._unready() if path == "/ready" else None
            return text_response(200, "ok\n") if reason is None else text_response(503, f"{reason}\n")
        if not self._may_read(request.field("authorization")):
            return text_response(401, "the metrics need a password\n", _CHALLENGE)
        encode, content_type = choose_encoder(request.field("accept"))
        pieces = (piece for piece in encoded(self._source, encode) if piece)
        return HttpResponse(200, (("Content-Type", content_type),), pieces)

    def _may_read(self, authorization: str) -> bool:
        scheme, _, sent = authorization.strip().partition(" ")
        given = f"{scheme.lower()} {sent.strip()}".encode()
        return not self._authorization or hmac.compare_digest(given, self._authorization)
