"""The rates at which connections are accepted: of the broker, and of each listener (KIP-612).

Pure. Owns: the rates. Never does: accepting, reading a clock. Invariant: the listener between the nodes counts only for
itself if there are others. Source: ``ConnectionQuotas.recordConnectionAndGetThrottleTimeMs``. Imported with the first
limit.
"""

from collections.abc import Mapping

from ..config.connection_limits import UNLIMITED, ConnectionLimits
from ..quotas.client_quota import QuotaWindows, throttle_time_ms
from ..quotas.windows import Rate


class CreationRates:
    """What was accepted in the last windows."""

    def __init__(self, windows: QuotaWindows) -> None:
        """``windows``: of ``quota.window.num`` and ``quota.window.size.seconds``."""
        self._windows = windows
        self._broker = Rate(*windows)
        self._listeners: dict[str, Rate] = {}

    def delay_ms(
        self,
        listener: str,
        protected: str | None,
        broker: ConnectionLimits,
        listeners: Mapping[str, ConnectionLimits],
        now_ms: int,
    ) -> int:
        """Counts a new connection. Returns how long its listener must wait before it serves it; a window at most.

        ``protected``: the listener between the nodes, if there are others.
        """
        if listener not in self._listeners:
            self._listeners[listener] = Rate(*self._windows)
        own = self._delay_ms(self._listeners[listener], listeners.get(listener, broker).max_rate, now_ms)
        return own if listener == protected else max(own, self._delay_ms(self._broker, broker.max_rate, now_ms))

    def _delay_ms(self, rate: Rate, limit: int, now_ms: int) -> int:
        rate.record(1, now_ms)
        found = rate.rate(now_ms)
        if found <= limit or limit == UNLIMITED:
            return 0
        longest_ms = self._windows.window_ms
        return min(throttle_time_ms(found, limit, rate.window_ms(now_ms)), longest_ms) if limit else longest_ms
