"""A token bucket, for the quota ``controller_mutation_rate`` (KIP-599).

Pure. Owns: the tokens. Never does: reading a clock. Source: Kafka's TokenBucket.
"""

from math import inf


class TokenBucket:
    """Tokens that refill at the rate of the quota, up to the amount of all windows together."""

    __slots__ = ("_capacity_s", "_tokens", "_updated_ms")

    def __init__(self, samples: int, window_ms: int) -> None:
        """The capacity is the quota times ``samples`` windows of ``window_ms``. The bucket is full at first."""
        self._capacity_s = samples * window_ms / 1000
        self._tokens = inf
        self._updated_ms = 0

    def tokens(self, quota: float, now_ms: int) -> float:
        """The tokens left; negative if more were taken. ``quota``: the current rate in tokens a second."""
        gained = quota * ((now_ms - self._updated_ms) / 1000)
        self._tokens = min(quota * self._capacity_s, self._tokens + gained)
        self._updated_ms = now_ms
        return self._tokens

    def take(self, count: float, quota: float, now_ms: int) -> None:
        """Takes ``count`` tokens, even if there are fewer."""
        self._tokens = min(quota * self._capacity_s, self.tokens(quota, now_ms) - count)

    def is_full(self, quota: float, now_ms: int) -> bool:
        """Whether the bucket is full, as a new one is."""
        return self.tokens(quota, now_ms) >= quota * self._capacity_s
