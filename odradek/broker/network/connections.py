"""The accepted connections of all listeners.

Owns: the set of open connections, their receive buffer, the closing of idle ones. Never does: serving. Source:
``SocketServer``, ``Selector``.
"""

from collections.abc import Callable, Iterator
from heapq import nsmallest
from operator import attrgetter
from typing import TYPE_CHECKING

from odradek.protocol.common.steps import Steps

from .connection import Connection
from .connection_quotas import ConnectionQuotas
from .request_order import RECEIVE_BUFFER_BYTES, SERVE_S
from .turns import SharedTurns
from .unauthenticated import Unauthenticated

if TYPE_CHECKING:
    from .waiting import Waiting

MOST_ENDED = 1_000
"""The most addresses of clients of which an ended connection is kept for :meth:`Connections.ended_asking`."""
CLOSED_A_STEP = 64
"""Idle connections that are closed in one step."""


class Connections:
    """The accepted connections of all listeners, and their receive buffer (``SocketServer``)."""

    def __init__(
        self,
        *,
        max_request_bytes: int,
        max_idle_ms: int,
        now_ms: Callable[[], int],
        quotas: ConnectionQuotas | None = None,
        unauthenticated: Unauthenticated | None = None,
        waiting: "Waiting | None" = None,
        closed: Callable[[int], None] = lambda _: None,
    ) -> None:
        """``max_request_bytes``: of one frame. ``max_idle_ms``: -1 never closes idle connections. ``now_ms``: a
        monotonic clock. ``quotas``: None limits nothing. ``unauthenticated``: None if no listener asks for
        authentication. ``waiting`` counts the waits of requests and answers; None without metrics.
        ``closed`` is called with the id of a connection that has ended.
        """
        self.max_request_bytes = max_request_bytes
        self.receive_buffer = memoryview(bytearray(RECEIVE_BUFFER_BYTES))
        self.turns = SharedTurns(SERVE_S)
        """The time for requests in each turn of the event loop."""
        self.quotas = quotas or ConnectionQuotas()
        self._max_idle_ms = max_idle_ms
        self._now_ms = now_ms
        self._open: dict[int, Connection] = {}
        self.unauthenticated = unauthenticated
        self.waiting = waiting
        self._closed = closed
        self._next_id = 0
        self._ended_asking: dict[str, Connection] = {}
        """Address of clients -> the last connection that ended after it had only asked for metadata."""

    def __len__(self) -> int:
        return len(self._open)

    def admit(self, connection: Connection) -> bool:
        """Counts a new connection in. Returns False, and logs a line, if a limit is reached."""
        if not self.quotas.admit(connection.client_host, connection.listener_name):
            return False
        self._next_id += 1
        connection.connection_id = self._next_id
        connection.last_used_ms = self._now_ms()
        self._open[connection.connection_id] = connection
        if not connection.is_authenticated:
            assert self.unauthenticated is not None, "a listener asks for authentication, and nothing limits it"
            self.unauthenticated.add(connection)
        return True

    def find(self, connection_id: int) -> Connection | None:
        """The open connection with an id, or None."""
        return self._open.get(connection_id)

    def authenticated(self, connection: Connection) -> None:
        """Notes that the connection has authenticated."""
        if self.unauthenticated is not None:
            self.unauthenticated.remove(connection)

    def holds(self, connection: Connection, held_bytes: int) -> None:
        """Notes the bytes that are held for a connection that has not authenticated."""
        if self.unauthenticated is not None:
            self.unauthenticated.holds(connection, held_bytes)

    def forget(self, connection: Connection) -> None:
        """Counts a closed connection out. Ignores one that was not admitted."""
        if self._open.pop(connection.connection_id, None) is not None:
            self.quotas.release(connection.client_host, connection.listener_name)
            if self.unauthenticated is not None:
                self.unauthenticated.remove(connection)
            self._closed(connection.connection_id)
            if connection.sent and not connection.has_worked and len(self._ended_asking) < MOST_ENDED:
                self._ended_asking[connection.client_host] = connection

    def ended_asking(self) -> list[Connection]:
        """One connection of each client address that has ended since the last call, and had only asked for metadata."""
        ended, self._ended_asking = list(self._ended_asking.values()), {}
        return ended

    def used(self, connection: Connection) -> None:
        """Notes that the connection is in use."""
        connection.last_used_ms = self._now_ms()

    def __iter__(self) -> Iterator[Connection]:
        """The connections that are open now."""
        return iter(list(self._open.values()))

    @property
    def closes_idle(self) -> bool:
        """Whether idle connections are closed: ``connections.max.idle.ms`` is not negative."""
        return self._max_idle_ms >= 0

    def close_idle(self) -> Steps[int]:
        """Closes connections that neither sent nor read anything for ``connections.max.idle.ms`` and wait for no
        answer, at the time of this call. Returns their number.

        A connection that does not read its answer is aborted, since a close would wait for it.
        """
        assert self.closes_idle
        # Read now, and not in the first step: the caller has made sure that no received bytes wait to be read.
        return self._close_unused_since(self._now_ms() - self._max_idle_ms)

    def _close_unused_since(self, oldest_ms: int) -> Steps[int]:
        closed = 0
        for connection in list(self._open.values()):
            if connection.last_used_ms >= oldest_ms or connection.is_in_service:
                continue
            if connection.is_sending or connection.is_closing:
                connection.abort()
            else:
                connection.close()
            closed += 1
            if closed % CLOSED_A_STEP == 0:
                yield
        return closed

    def close_excess(self) -> None:
        """Closes the least recently used connections, if there are more than ``max.connections``: that key was made
        smaller, or the inter-broker listener needs room. Connections of the inter-broker listener stay if there are
        other listeners.
        """
        excess = self.quotas.excess()
        if not excess:
            return
        others = [connection for connection in self._open.values() if connection.listener_name != self.quotas.protected]
        staying = [other for other in others if not other.is_closing]
        excess -= len(others) - len(staying)
        for connection in nsmallest(excess, staying, key=attrgetter("last_used_ms")):
            connection.refuse(f"max.connections={self.quotas.max_connections} is exceeded")

    def close_all(self) -> None:
        """Closes every connection (shutdown)."""
        for connection in list(self._open.values()):
            connection.close()

    def abort_all(self) -> None:
        """Breaks every connection and drops unsent data (a crash)."""
        for connection in list(self._open.values()):
            connection.abort()
