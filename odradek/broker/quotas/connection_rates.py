"""Limits the rate of new connections from each IP address (KIP-612).

Pure. Owns: the rates and limits of addresses, by their canonical form. Never does: resolving names, accepting, reading
a clock. Source: ConnectionQuotas, ``recordIpConnectionMaybeThrottle``.
"""

from collections.abc import Iterable, Mapping

from odradek.protocol.security.canonical_host import canonical_host, network_of

from .client_quota import QuotaSensor, QuotaWindows, throttle_time_ms
from .client_quotas import CONNECTION_KEY, Entity
from .entities import IP
from .sensors import SensorOwner, Sensors


class ConnectionRates:
    """The rates of new connections from each address."""

    def __init__(self, windows: QuotaWindows) -> None:
        self._windows = windows
        self._default: float | None = None
        self._limits: dict[str, float] = {}
        self.sensors: Sensors[QuotaSensor] = Sensors(lambda: QuotaSensor(windows))

    @property
    def is_enabled(self) -> bool:
        """Whether any address is limited."""
        return self._default is not None or bool(self._limits)

    def update(
        self,
        quotas: Mapping[Entity, Mapping[str, float]],
        changed: Iterable[Entity],
        addresses: Mapping[str, str],
    ) -> None:
        """Takes over changed entities. ``addresses``: host name in an entity -> its IP address."""
        for entity in changed:
            if len(entity) != 1 or entity[0][0] != IP:
                continue
            name = entity[0][1]
            limit = quotas.get(entity, {}).get(CONNECTION_KEY)
            if name is None:
                self._default = limit
            elif limit is None:
                self._limits.pop(canonical_host(addresses.get(name, name)), None)
            else:
                self._limits[canonical_host(addresses.get(name, name))] = limit

    def limit(self, host: str) -> float | None:
        """The limit of an address in connections a second; None for unlimited."""
        return self._limits.get(canonical_host(host), self._default)

    def delay_ms(self, host: str, now_ms: int) -> int:
        """Counts a new connection from ``host``. Returns 0 if it may be served.

        Otherwise returns the time in ms after which to close it. Such a connection is not counted.
        """
        host = canonical_host(host)
        limit = self.limit(host)
        if limit is None:
            return 0
        rate = self.sensors.use((host, ""), now_ms, SensorOwner(network_of(host))).rate
        rate.record(1, now_ms)
        found = rate.rate(now_ms)
        if found <= limit:
            return 0
        delay_ms = min(throttle_time_ms(found, limit, rate.window_ms(now_ms)), self._windows.window_ms)
        if delay_ms > 0:
            rate.record(-1, now_ms)
        return delay_ms
