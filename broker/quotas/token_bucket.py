"""A token bucket, for the quota of changes that the controller makes (KIP-599).

Pure. Owns: the tokens. Never does: reading a clock. Source: Kafka's TokenBucket.
"""

from math import inf


class TokenBucket:
    """Tokens that come back at the rate of the quota, up to what the quota gives in all windows."""

    __slots__ = ("_capacity_s", "_tokens", "_updated_ms")

    def __init__(self, samples: int, window_ms: int) -> None:
        """The bucket holds what its quota gives in ``samples`` windows, and is full at first."""
        self._capacity_s = samples * window_ms / 1000
        self._tokens = inf
        self._updated_ms = 0

    def tokens(self, quota: float, now_ms: int) -> float:
        """The tokens that are left; negative if more were taken. ``quota``: tokens a second, which may change."""
        gained = quota * ((now_ms - self._updated_ms) / 1000)
        self._tokens = min(quota * self._capacity_s, self._tokens + gained)
        self._updated_ms = now_ms
        return self._tokens

    def take(self, count: float, quota: float, now_ms: int) -> None:
        """Takes tokens, also more than there are."""
        self._tokens = min(quota * self._capacity_s, self.tokens(quota, now_ms) - count)

    def is_full(self, quota: float, now_ms: int) -> bool:
        """Whether a new bucket would be the same."""
        return self.tokens(quota, now_ms) >= quota * self._capacity_s
