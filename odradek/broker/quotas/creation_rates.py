"""Limits the rates at which the broker and each listener accept connections (KIP-612).

Pure. Owns: the rates, and the averages of throttle times. Never does: accepting, reading a clock. Invariants: if there
are other listeners, connections to the inter-broker listener do not count for the broker's limit; a connection that is
refused because of its address's limit does not count. Source:
``ConnectionQuotas.recordConnectionAndGetThrottleTimeMs``, ``updateListenerMetrics``. This module is imported only if a
limit is set or metrics are enabled.
"""

from collections.abc import Iterable, Mapping

from .client_quota import QuotaWindows, throttle_time_ms
from .windows import Average, Rate

UNLIMITED = 2**31 - 1


class ListenerRates:
    """The rate of one listener's connections, and its average throttle times in ms (of those above 0).

    ``throttled``: by limits of listener or broker. ``throttled_addresses``: by limits of addresses.
    """

    def __init__(self, windows: QuotaWindows) -> None:
        self.accepted = Rate(*windows)
        self.throttled = Average()
        self.throttled_addresses = Average()


class CreationRates:
    """The rates of accepted connections of the broker and its listeners."""

    def __init__(self, windows: QuotaWindows, listeners: Iterable[str], protected: str | None) -> None:
        """``windows``: ``quota.window.num`` and ``quota.window.size.seconds``. ``listeners``: all of the broker.

        ``protected``: the inter-broker listener; None without other listeners.
        """
        self._windows = windows
        self._protected = protected
        self.broker = Rate(*windows)
        self.listeners: Mapping[str, ListenerRates] = {name: ListenerRates(windows) for name in listeners}

    def delay_ms(self, listener: str, own_limit: int, broker_limit: int, now_ms: int) -> int:
        """Counts a new connection. Returns the time in ms that its listener must wait before serving it, at most a
        window.

        ``own_limit``, ``broker_limit``: connections a second of the listener, and of the broker.
        """
        rates = self.listeners[listener]
        delay_ms = self._delay_ms(rates.accepted, own_limit, now_ms)
        if listener != self._protected:
            delay_ms = max(delay_ms, self._delay_ms(self.broker, broker_limit, now_ms))
        if delay_ms:
            rates.throttled.record(delay_ms, now_ms)
        return delay_ms

    def refused(self, listener: str, throttle_ms: int, now_ms: int) -> None:
        """Takes back the count of a connection that its address's limit refuses. Records the throttle time."""
        rates = self.listeners[listener]
        rates.accepted.record(-1, now_ms)
        if listener != self._protected:
            self.broker.record(-1, now_ms)
        rates.throttled_addresses.record(throttle_ms, now_ms)

    def _delay_ms(self, rate: Rate, limit: int, now_ms: int) -> int:
        rate.record(1, now_ms)
        found = rate.rate(now_ms)
        if found <= limit or limit == UNLIMITED:
            return 0
        longest_ms = self._windows.window_ms
        return min(throttle_time_ms(found, limit, rate.window_ms(now_ms)), longest_ms) if limit else longest_ms
