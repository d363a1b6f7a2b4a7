"""The rates at which connections are accepted: of the broker, and of each listener (KIP-612).

Pure. Owns: the rates, and the averages of throttle times. Never does: accepting, reading a clock. Invariants: the
listener between the nodes counts only for itself if there are others; a connection that is refused because of its
address does not count. Source: ``ConnectionQuotas.recordConnectionAndGetThrottleTimeMs``, ``updateListenerMetrics``.
Imported with the first limit, or with metrics.
"""

from collections.abc import Iterable, Mapping

from .client_quota import QuotaWindows, throttle_time_ms
from .windows import Average, Rate

UNLIMITED = 2**31 - 1


class ListenerRates:
    """What one listener has accepted. ``throttled``, ``throttled_addresses``: of throttle times above 0, in ms."""

    def __init__(self, windows: QuotaWindows) -> None:
        self.accepted = Rate(*windows)
        self.throttled = Average()
        self.throttled_addresses = Average()


class CreationRates:
    """What was accepted in the last windows."""

    def __init__(self, windows: QuotaWindows, listeners: Iterable[str], protected: str | None) -> None:
        """``windows``: of ``quota.window.num`` and ``quota.window.size.seconds``. ``listeners``: all of the broker.
        ``protected``: the listener between the nodes, if there are others.
        """
        self._windows = windows
        self._protected = protected
        self.broker = Rate(*windows)
        self.listeners: Mapping[str, ListenerRates] = {name: ListenerRates(windows) for name in listeners}

    def delay_ms(self, listener: str, own_limit: int, broker_limit: int, now_ms: int) -> int:
        """Counts a new connection. Returns how long its listener must wait before it serves it; a window at most.

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
        """A connection that was counted is not served, because its address connects too often."""
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
