"""The metrics of what the coordinators have done: rebalances, commits of offsets, transactions by their result.

Never does: counting. The metrics of groups have the names of Kafka's ``GroupCoordinatorMetrics``
(``kafka.server:type=group-coordinator-metrics``), whose attributes have no type in the JMX exporter either. Kafka has
no such metric of transactions.
"""

from collections.abc import Iterator

from prometheus_client.metrics_core import CounterMetricFamily, Metric, UnknownMetricFamily

from .coordinator_counts import GroupCounts, TransactionCounts


class CoordinatorActivity:
    """Collects the metrics at each request."""

    def __init__(self, groups: GroupCounts, transactions: TransactionCounts) -> None:
        self._groups = groups
        self._transactions = transactions

    def pieces(self) -> Iterator[Metric]:
        """All metrics with their current values."""
        groups = self._groups
        for name, what, count in (
            ("group_completed_rebalance", "Completed rebalances of classic groups.", groups.completed_rebalances),
            (
                "consumer_group_rebalance",
                "New epochs of groups of the new protocol (KIP-848).",
                groups.consumer_rebalances,
            ),
            ("offset_commit", "Offsets that were committed.", groups.offset_commits),
            ("offset_deletion", "Committed offsets that clients have deleted.", groups.offset_deletions),
            ("offset_expiration", "Committed offsets that have expired.", groups.offset_expirations),
        ):
            yield UnknownMetricFamily(f"kafka_server_group_coordinator_metrics_{name}_count", what, count)
        decided = CounterMetricFamily("odradek_transactions", "Completed transactions by result.", labels=("result",))
        transactions = self._transactions
        decided.add_metric(("committed",), transactions.committed)
        decided.add_metric(("aborted",), transactions.aborted)
        decided.add_metric(("timed_out",), transactions.timed_out)
        decided.add_metric(("fenced",), transactions.fenced)
        yield decided
