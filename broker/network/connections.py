"""All connections of the broker: limits, the shared receive buffer, idle ones.

Owns: who is connected, and one receive buffer for the event loop (BufferedProtocol with a buffer for each connection
costs 262 KiB an idle connection, shared 1.4 KiB). Never does: reading or writing. Source: ``ConnectionQuotas`` and
``SocketServer`` (max.connections, max.connections.per.ip, connections.max.idle.ms).
"""

import logging
import sys
from collections import Counter
from collections.abc import Callable, Iterator

from .connection import RECEIVE_BUFFER_BYTES, Connection

logger = logging.getLogger(__name__)


class Connections:
    """The accepted connections of all listeners."""

    def __init__(
        self,
        *,
        max_request_bytes: int,
        max_idle_ms: int,
        now_ms: Callable[[], int],
    ) -> None:
        """Limits under Kafka's names, those of the number of connections by :meth:`limit`; ``now_ms`` is a monotonic
        clock for idleness; ``max_idle_ms`` -1: never."""
        self.max_request_bytes = max_request_bytes
        self.receive_buffer = memoryview(bytearray(RECEIVE_BUFFER_BYTES))
        self._max_connections = sys.maxsize
        self._max_per_ip = sys.maxsize
        self._max_per_ip_overrides: dict[str, int] = {}
        self._max_idle_ms = max_idle_ms
        self._now_ms = now_ms
        self._open: dict[int, Connection] = {}
        self._by_host: Counter[str] = Counter()
        self._next_id = 0
        self.on_room: Callable[[], object] = lambda: None
        """Called when a connection is gone."""

    def __len__(self) -> int:
        return len(self._open)

    def limit(
        self,
        *,
        max_connections: int,
        max_connections_per_ip: int,
        max_connections_per_ip_overrides: dict[str, int],
    ) -> None:
        """Sets the limits for connections that come from now on, under Kafka's names."""
        self._max_connections = max_connections
        self._max_per_ip = max_connections_per_ip
        self._max_per_ip_overrides = max_connections_per_ip_overrides
        self.on_room()

    @property
    def max_connections(self) -> int:
        """The most connections that there may be; more are not accepted (:mod:`.acceptor`)."""
        return self._max_connections

    def admit(self, connection: Connection) -> bool:
        """Counts a new connection in; False (and one log line) where a limit is reached."""
        host = connection.client_host
        limit = self._max_per_ip_overrides.get(host, self._max_per_ip)
        if self._by_host[host] >= limit:
            logger.warning("refusing a connection from %s: max.connections.per.ip=%d is reached", host, limit)
            return False
        self._next_id += 1
        connection.connection_id = self._next_id
        connection.last_used_ms = self._now_ms()
        self._open[connection.connection_id] = connection
        self._by_host[host] += 1
        return True

    def forget(self, connection: Connection) -> None:
        """Counts a closed connection out; harmless for one that was not admitted."""
        if self._open.pop(connection.connection_id, None) is not None:
            self._by_host[connection.client_host] -= 1
            if not self._by_host[connection.client_host]:
                del self._by_host[connection.client_host]
            self.on_room()

    def used(self, connection: Connection) -> None:
        """Notes that a request came in."""
        connection.last_used_ms = self._now_ms()

    def __iter__(self) -> Iterator[Connection]:
        """The open connections, of this moment."""
        return iter(list(self._open.values()))

    def close_idle(self) -> int:
        """Closes what has neither asked nor read anything for ``connections.max.idle.ms`` and waits for no answer.

        Returns how many. Who does not read its answer is cut off: a close would wait until it does.
        """
        if self._max_idle_ms < 0:
            return 0
        oldest_ms = self._now_ms() - self._max_idle_ms
        idle = [c for c in self._open.values() if c.last_used_ms < oldest_ms and not c.is_in_service]
        for connection in idle:
            if connection.is_sending or connection.is_closing:
                connection.abort()
            else:
                connection.close()
        return len(idle)

    def close_all(self) -> None:
        """Closes every connection (shutdown)."""
        for connection in list(self._open.values()):
            connection.close()

    def abort_all(self) -> None:
        """Breaks every connection, whatever was still to be sent (a crash)."""
        for connection in list(self._open.values()):
            connection.abort()
