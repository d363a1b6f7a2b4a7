"""Computes the delay of the answer to a failed authentication: longer for an address with many recent failures.

Pure. Owns: the number of recent failures of each address. Invariants: an address with few recent failures has Kafka's
delay (``connection.failed.authentication.delay.ms``); memory is bounded; an address without a failure for ``FORGET_MS``
counts as new. Successful authentications are not delayed. Source: ours.
"""

from collections import OrderedDict

FREE_FAILURES = 10
"""The number of failures of one address that have only Kafka's delay, for example of a service with an old password."""
MAX_DELAY_MS = 5_000
FORGET_MS = 60_000
"""The failure count of an address that has not failed for this time starts again at 0."""
MAX_ADDRESSES = 10_000


class Failures:
    """The recent failures of each address."""

    def __init__(self, delay_ms: int) -> None:
        """``delay_ms``: Kafka's delay. If it is 0, only failures after the first ``FREE_FAILURES`` are delayed."""
        self._delay_ms = delay_ms
        self._by_host: OrderedDict[str, tuple[int, int]] = OrderedDict()
        """Address -> (number of failures, time of the last one). The address that failed most recently is last."""

    def failed(self, host: str, now_ms: int) -> int:
        """Counts a failure. Returns the delay of its answer in ms. ``now_ms``: of a monotonic clock."""
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
        """The number of recent failures of an address."""
        return self._by_host.get(host, (0, 0))[0]
