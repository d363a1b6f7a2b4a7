"""How long a failed authentication waits for its answer: longer if its address has failed often.

Pure. Owns: the number of recent failures of each address. Invariants: an address without recent failures waits as in
Kafka (``connection.failed.authentication.delay.ms``); memory is bounded, an address that is not seen for
``FORGET_MS`` counts as new. Successes never wait. Source: ours.
"""

from collections import OrderedDict

FREE_FAILURES = 10
"""The failures of one address that wait no longer than in Kafka, such as a service with an old password."""
MAX_DELAY_MS = 5_000
FORGET_MS = 60_000
"""An address that has not failed for this time starts anew."""
MAX_ADDRESSES = 10_000


class Failures:
    """The recent failures."""

    def __init__(self, delay_ms: int) -> None:
        """``delay_ms``: Kafka's delay; 0 delays nothing but floods."""
        self._delay_ms = delay_ms
        self._by_host: OrderedDict[str, tuple[int, int]] = OrderedDict()
        """Address -> (failures, time of the last one); the one that failed last is the last."""

    def failed(self, host: str, now_ms: int) -> int:
        """Counts a failure. Returns for how many ms its answer waits. ``now_ms``: a monotonic clock."""
        count, last_ms = self._by_host.pop(host, (0, now_ms))
        if now_ms - last_ms > FORGET_MS:
            count = 0
        self._by_host[host] = count + 1, now_ms
        if len(self._by_host) > MAX_ADDRESSES:
            self._by_host.popitem(last=False)
        if count < FREE_FAILURES:
            return self._delay_ms
        doubled = max(self._delay_ms, 1) << min(count - FREE_FAILURES, 13)
        return max(self._delay_ms, min(MAX_DELAY_MS, doubled))

    def count(self, host: str) -> int:
        """The recent failures of an address."""
        return self._by_host.get(host, (0, 0))[0]
