"""The limits on connections: in total, of one listener, from one address; and on how many are accepted a second.

Owns: the limits, and the number of connections from each address and of each listener. Never does: accepting or closing
one. Invariant: if the broker has other listeners, the inter-broker listener is never full because of
``max.connections`` of the broker. Source: ``ConnectionQuotas`` (max.connections, max.connection.creation.rate,
max.connections.per.ip, max.connections.per.ip.overrides).
"""

import logging
from collections import Counter
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from odradek.protocol.security.canonical_host import canonical_host

from ..config.connection_limits import MAX_KEY, UNLIMITED, ConnectionLimits
from ..config.typed_values import prefix_of

if TYPE_CHECKING:
    from ..quotas.creation_rates import CreationRates

logger = logging.getLogger(__name__)


class ConnectionQuotas:
    """The limits on connections. At first, connections are unlimited."""

    def __init__(self) -> None:
        self._broker = ConnectionLimits(UNLIMITED, UNLIMITED)
        self._listeners: Mapping[str, ConnectionLimits] = {}
        self.protected: str | None = None
        """The inter-broker listener, if the broker has other listeners."""
        self._max_per_ip = UNLIMITED
        self._max_per_ip_overrides: Mapping[str, int] = {}
        self._by_host: Counter[str] = Counter()
        self._by_listener: Counter[str] = Counter()
        self.created: Counter[str] = Counter()
        """How many connections of each listener there were since the start."""
        self._new_rates: Callable[[], CreationRates] | None = None
        self.rates: CreationRates | None = None
        """Measures the rates of accepted connections; None if no rate is limited and no metrics are wanted."""
        self.delay_ms: Callable[[str], int] | None = None
        """Counts a connection from an address against its rate. Returns 0, or how long to hold the connection before
        it is closed unserved. None if no address has a quota."""
        self.on_room: Callable[[], object] = lambda: None
        """Called when a connection has closed, and when the limits have changed."""

    @property
    def max_connections(self) -> int:
        """The limit for all listeners together. :mod:`.acceptor` enforces it."""
        return self._broker.max_connections

    def limit(
        self,
        broker: ConnectionLimits,
        listeners: Mapping[str, ConnectionLimits],
        *,
        protected: str | None,
        max_connections_per_ip: int,
        max_connections_per_ip_overrides: Mapping[str, int],
        new_rates: "Callable[[], CreationRates] | None" = None,
    ) -> None:
        """Sets the limits for new connections. ``protected``: the inter-broker listener, if the broker has other
        listeners. ``new_rates`` makes :attr:`rates`; None if nothing needs it.
        """
        self._broker, self._listeners, self.protected = broker, listeners, protected
        self._max_per_ip = max_connections_per_ip
        self._max_per_ip_overrides = {
            canonical_host(host): most for host, most in max_connections_per_ip_overrides.items()
        }
        if new_rates is None:
            self.rates = None
        elif self.rates is None:
            self.rates = new_rates()
        self.on_room()

    def delay_with(self, delay_ms: Callable[[str], int] | None) -> None:
        """Sets :attr:`delay_ms`."""
        self.delay_ms = delay_ms

    def creation_delay_ms(self, listener: str, now_ms: int) -> int:
        """Counts a new connection against the rates. Returns how long its listener must wait before it serves it."""
        if self.rates is None:
            return 0
        own = self._listeners.get(listener, self._broker)
        return self.rates.delay_ms(listener, own.max_rate, self._broker.max_rate, now_ms)

    def refused(self, listener: str, throttle_ms: int, now_ms: int) -> None:
        """A connection that was counted is not served, because its address connects too often."""
        if self.rates is not None:
            self.rates.refused(listener, throttle_ms, now_ms)

    def full_key(self, listener: str, opening: Mapping[str, int]) -> str | None:
        """The key that allows no further connection of a listener now; None if there is room.

        ``opening``: connections of each listener that are accepted and not admitted yet.
        """
        limits = self._listeners.get(listener, self._broker)
        if self._by_listener[listener] + opening[listener] >= limits.max_connections:
            is_own = limits.max_connections != self._broker.max_connections
            return prefix_of(listener) + MAX_KEY if is_own else MAX_KEY
        if listener == self.protected:
            return None
        total = self._by_listener.total() + sum(opening.values())
        return MAX_KEY if total >= self._broker.max_connections else None

    def open_of(self, listener: str) -> int:
        """The number of open connections of a listener."""
        return self._by_listener[listener]

    def excess(self) -> int:
        """How many connections there are beyond ``max.connections`` of the broker."""
        return max(0, self._by_listener.total() - self._broker.max_connections)

    def admit(self, host: str, listener: str) -> bool:
        """Counts a new connection from ``host``. Returns False, and logs a line, if the address is at its limit."""
        limit = self._max_per_ip_overrides.get(canonical_host(host), self._max_per_ip)
        if self._by_host[host] >= limit:
            logger.warning("refusing a connection from %s: max.connections.per.ip=%d is reached", host, limit)
            return False
        self._by_host[host] += 1
        self._by_listener[listener] += 1
        self.created[listener] += 1
        return True

    def release(self, host: str, listener: str) -> None:
        """Counts a closed connection from ``host`` out."""
        self._by_host[host] -= 1
        if not self._by_host[host]:
            del self._by_host[host]
        self._by_listener[listener] -= 1
        self.on_room()
