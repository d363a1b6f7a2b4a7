"""The limits on connections that have not authenticated: how many there are, for how long, and their memory.

Owns: these connections, in the order of their accept. Never does: authenticating. Invariants: a connection that has not
authenticated in time is closed, even if it sends a byte now and then; at the limit the oldest connection of the address
with the most of them makes room, so a flood from one address closes its own connections first. The memory for what all
of them have sent exceeds its limit by the last growth of one connection at most; then the largest connection of the
address that holds most is closed. Source: ours; Kafka closes such connections only after ``connections.max.idle.ms``
without a byte.
"""

from collections import Counter
from collections.abc import Callable

from .connection import Connection
from .connection_quotas import ConnectionQuotas

TIMEOUT_KEY = "odradek.connection.authentication.timeout.ms"
MAX_KEY = "odradek.connections.unauthenticated.max"
BYTES_KEY = "odradek.connections.unauthenticated.max.bytes"
CHECK_MS = 1_000
"""The interval of checks for late connections."""


class Unauthenticated:
    """The connections that have not authenticated."""

    def __init__(
        self,
        *,
        timeout_ms: int,
        max_connections: int,
        max_bytes: int,
        share_of: Callable[[], int],
        now_ms: Callable[[], int],
    ) -> None:
        """``timeout_ms``: from accept to authentication. ``max_connections``: at one time; at most half of
        ``share_of()``, the most connections of all kinds. ``max_bytes``: held for all of them. ``now_ms``: a monotonic
        clock.
        """
        self._timeout_ms = timeout_ms
        self._max_connections = max_connections
        self._share_of = share_of
        self._now_ms = now_ms
        self._since_ms: dict[Connection, int] = {}
        self._by_host: Counter[str] = Counter()
        self._max_bytes = max_bytes
        self.held_bytes = 0
        """The memory for what these connections have sent."""
        self._held: dict[Connection, int] = {}
        """Connection -> the bytes held for it; without those that hold none."""
        self._held_by_host: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._since_ms)

    def add(self, connection: Connection) -> None:
        """Counts a new connection in. At the limit another one is closed, and a line is logged."""
        most = min(self._max_connections, max(1, self._share_of() // 2))
        if len(self._since_ms) >= most:
            self._make_room(most)
        self._since_ms[connection] = self._now_ms()
        self._by_host[connection.client_host] += 1

    def remove(self, connection: Connection) -> None:
        """Counts a connection out that has authenticated or closed. Ignores one that is not counted."""
        if self._since_ms.pop(connection, None) is not None:
            self._by_host[connection.client_host] -= 1
            if not self._by_host[connection.client_host]:
                del self._by_host[connection.client_host]
        self._note(connection, 0)

    def holds(self, connection: Connection, held_bytes: int) -> None:
        """Notes the memory for what a connection has sent. Above the limit the largest connection of the address that
        holds most is closed, which may be this one. Ignores a connection that is not counted.
        """
        if connection not in self._since_ms:
            return
        self._note(connection, held_bytes)
        while self.held_bytes > self._max_bytes:
            self._free_memory()

    def close_late(self) -> int:
        """Closes the connections whose time is over, and logs a line for each. Returns the number."""
        oldest_ms = self._now_ms() - self._timeout_ms
        late = []
        for connection, since_ms in self._since_ms.items():
            if since_ms > oldest_ms:
                break
            late.append(connection)
        for connection in late:
            self._end(connection, f"it has not authenticated within {TIMEOUT_KEY}={self._timeout_ms}")
        return len(late)

    def _note(self, connection: Connection, held_bytes: int) -> None:
        grown = held_bytes - self._held.pop(connection, 0)
        if held_bytes:
            self._held[connection] = held_bytes
        if grown:
            self.held_bytes += grown
            self._held_by_host[connection.client_host] += grown
            if not self._held_by_host[connection.client_host]:
                del self._held_by_host[connection.client_host]

    def _free_memory(self) -> None:
        host = max(self._held_by_host, key=self._held_by_host.__getitem__)
        largest = max(
            (connection for connection in self._held if connection.client_host == host), key=self._held.__getitem__
        )
        what = f"connections that have not authenticated hold more than {BYTES_KEY}={self._max_bytes}"
        self._end(largest, f"{what}, most of it from its address")

    def _make_room(self, most: int) -> None:
        host = max(self._by_host, key=self._by_host.__getitem__)
        oldest = next(connection for connection in self._since_ms if connection.client_host == host)
        self._end(oldest, f"{most} connections have not authenticated, most of them from its address ({MAX_KEY})")

    def _end(self, connection: Connection, reason: str) -> None:
        self.remove(connection)
        connection.refuse(reason)
        connection.abort()  # a close would wait for a client that does not read


def all_connections(quotas: ConnectionQuotas, descriptors: int) -> Callable[[], int]:
    """Returns how many connections there may be now: by ``max.connections`` and by the limit of open files."""
    return lambda: min(quotas.max_connections, descriptors)
