"""How fast replicas may be copied in bytes a second, measured over the last samples as Kafka does (KIP-73).

Pure. Owns: the limit's comparison. Never does: reading a clock, knowing what is throttled. Invariant: the rate at each
moment is that of Kafka's SimpleRate with the same samples. Source: ReplicationQuotaManager, SimpleRate.
"""

from ..quotas.windows import SimpleRate


class ReplicationQuota(SimpleRate):
    """The rate of what was copied, over ``replication.quota.window.num`` samples of
    ``replication.quota.window.size.seconds``."""

    __slots__ = ()

    def is_exceeded(self, rate_limit: int, now_ms: int) -> bool:
        """Whether the rate is above ``rate_limit`` bytes a second."""
        return self.rate(now_ms) > rate_limit
