"""The limits on connections, in total and from one address.

Owns: the limits, and the number of connections from each address. Never does: accepting or closing one. Source:
``ConnectionQuotas`` (max.connections, max.connections.per.ip, max.connections.per.ip.overrides).
"""

import logging
import sys
from collections import Counter
from collections.abc import Callable

logger = logging.getLogger(__name__)


class ConnectionQuotas:
    """The limits on connections. At first, connections are unlimited."""

    def __init__(self) -> None:
        self.max_connections = sys.maxsize
        """The limit for all addresses together. :mod:`.acceptor` enforces it."""
        self._max_per_ip = sys.maxsize
        self._max_per_ip_overrides: dict[str, int] = {}
        self._by_host: Counter[str] = Counter()
        self.delay_ms: Callable[[str], int] | None = None
        """Counts a connection from an address against its rate. Returns 0, or how long to hold the connection before
        it is closed unserved. None if no address has a quota."""
        self.on_room: Callable[[], object] = lambda: None
        """Called when a connection has closed, and when the limits have changed."""

    def limit(
        self,
        *,
        max_connections: int,
        max_connections_per_ip: int,
        max_connections_per_ip_overrides: dict[str, int],
    ) -> None:
        """Sets the limits for new connections, under Kafka's names. Open connections stay open."""
        self.max_connections = max_connections
        self._max_per_ip = max_connections_per_ip
        self._max_per_ip_overrides = max_connections_per_ip_overrides
        self.on_room()

    def admit(self, host: str) -> bool:
        """Counts a new connection from ``host``. Returns False, and logs a line, if the address is at its limit."""
        limit = self._max_per_ip_overrides.get(host, self._max_per_ip)
        if self._by_host[host] >= limit:
            logger.warning("refusing a connection from %s: max.connections.per.ip=%d is reached", host, limit)
            return False
        self._by_host[host] += 1
        return True

    def release(self, host: str) -> None:
        """Counts a closed connection from ``host`` out."""
        self._by_host[host] -= 1
        if not self._by_host[host]:
            del self._by_host[host]
        self.on_room()
