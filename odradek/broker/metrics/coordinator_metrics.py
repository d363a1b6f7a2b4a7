"""The metrics of group and transaction coordinators: what they have done, and how many groups and transactional ids
are in each state.

Never does: keeping counts; it counts at each request for metrics, so that requests of clients cost no more. Invariant:
one piece counts COUNTED_A_PIECE at most, and the number of samples does not depend on the names that clients choose.
Source: ``GroupCoordinatorMetrics`` (``kafka.coordinator.group:type=GroupMetadataManager`` and
``kafka.server:type=group-coordinator-metrics``). Kafka has no such metrics of transactions.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric, UnknownMetricFamily

from .counts import GroupCounts, TransactionCounts


class CoordinatorActivity:
    """Collects the rebalances, commits of offsets, and transactions by their result, at each request.

    Those of groups have the names of Kafka's ``GroupCoordinatorMetrics``
    (``kafka.server:type=group-coordinator-metrics``), whose attributes have no type in the JMX exporter either.
    """

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
            ("share_group_rebalance", "New epochs of share groups (KIP-932).", groups.share_rebalances),
            ("streams_group_rebalance", "New epochs of streams groups (KIP-1071).", groups.streams_rebalances),
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
        yield CounterMetricFamily(
            "odradek_transaction_nudges",
            "Connections closed because their clients stood still in a transaction after a restart.",
            transactions.nudges,
        )


COUNTED_A_PIECE = 1024
"""Groups, or transactional ids, that are counted at a time."""
CLASSIC_STATES = ("PreparingRebalance", "CompletingRebalance", "Stable", "Empty", "Dead")
SHARE_STATES = ("Empty", "Stable", "Dead")
STREAMS_STATES = ("Empty", "NotReady", "Assigning", "Reconciling", "Stable", "Dead")
CONSUMER_STATES = ("Empty", "Assigning", "Reconciling", "Stable", "Dead")
TRANSACTION_STATES = ("Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort")
UNSETTLED_STATES = frozenset(("Ongoing", "PrepareCommit", "PrepareAbort"))


class TransactionSeen(NamedTuple):
    """The state of a transactional id, and when its last transaction began, in ms since the epoch."""

    state: str
    start_timestamp_ms: int


class CoordinatorSources(NamedTuple):
    """Functions that return the states of groups and transactional ids in the partitions that are loaded here."""

    classic_states: Callable[[], Iterator[str]]
    consumer_states: Callable[[], Iterator[str]]
    share_states: Callable[[], Iterator[str]]
    streams_states: Callable[[], Iterator[str]]
    transactions: Callable[[], Iterator[TransactionSeen]]


class CoordinatorMetrics:
    """Collects the states at each request, in pieces."""

    def __init__(self, sources: CoordinatorSources, clock_ms: Callable[[], int]) -> None:
        """``clock_ms``: wall clock, milliseconds since the epoch."""
        self._sources = sources
        self._clock_ms = clock_ms

    def pieces(self) -> Iterator[Metric]:
        """All metrics with their current values."""
        classic: Counter[str] = Counter()
        for number, state in enumerate(self._sources.classic_states(), 1):
            classic[state] += 1
            if number % COUNTED_A_PIECE == 0:
                yield _group_count(())
        consumer: Counter[str] = Counter()
        for number, state in enumerate(self._sources.consumer_states(), 1):
            consumer[state] += 1
            if number % COUNTED_A_PIECE == 0:
                yield _group_count(())
        share: Counter[str] = Counter()
        for number, state in enumerate(self._sources.share_states(), 1):
            share[state] += 1
            if number % COUNTED_A_PIECE == 0:
                yield _group_count(())
        streams: Counter[str] = Counter()
        for number, state in enumerate(self._sources.streams_states(), 1):
            streams[state] += 1
            if number % COUNTED_A_PIECE == 0:
                yield _group_count(())
        kinds = {"classic": classic, "consumer": consumer, "share": share, "streams": streams}
        yield _group_count([(kind, states.total()) for kind, states in kinds.items()])
        for state in CLASSIC_STATES:
            name = f"kafka_coordinator_group_groupmetadatamanager_numgroups{state.lower()}"
            yield GaugeMetricFamily(name, f"Classic groups in the state {state}.", classic[state])
        yield _by_state(
            "kafka_server_group_coordinator_metrics_consumer_group_count",
            "Groups of the new protocol (KIP-848) by state.",
            [(state.lower(), consumer[state]) for state in CONSUMER_STATES],
        )
        yield _by_state(
            "kafka_server_group_coordinator_metrics_share_group_count",
            "Share groups (KIP-932) by state.",
            [(state.lower(), share[state]) for state in SHARE_STATES],
        )
        yield _by_state(
            "kafka_server_group_coordinator_metrics_streams_group_count",
            "Streams groups (KIP-1071) by state.",
            [(state.lower(), streams[state]) for state in STREAMS_STATES],
        )
        yield from self._transaction_pieces()

    def _transaction_pieces(self) -> Iterator[Metric]:
        counts: Counter[str] = Counter()
        now_ms = self._clock_ms()
        oldest_ms = now_ms
        for number, (state, start_timestamp_ms) in enumerate(self._sources.transactions(), 1):
            counts[state] += 1
            if state in UNSETTLED_STATES:
                oldest_ms = min(oldest_ms, start_timestamp_ms)
            if number % COUNTED_A_PIECE == 0:
                yield _transaction_count(())
        yield _transaction_count([(state, counts[state]) for state in TRANSACTION_STATES])
        yield GaugeMetricFamily(
            "odradek_oldest_transaction_seconds",
            "Age of the transaction that has been open longest; 0 if no transaction is open.",
            (now_ms - oldest_ms) / 1000,
        )


def _group_count(counts: Iterable[tuple[str, int]]) -> Metric:
    family = GaugeMetricFamily(
        "kafka_server_group_coordinator_metrics_group_count", "Groups by protocol.", labels=("protocol",)
    )
    for protocol, count in counts:
        family.add_metric((protocol,), count)
    return family


def _transaction_count(counts: Sequence[tuple[str, int]]) -> Metric:
    return _by_state("odradek_transactional_ids", "Transactional ids by the state of their last transaction.", counts)


def _by_state(name: str, meaning: str, counts: Sequence[tuple[str, int]]) -> Metric:
    family = GaugeMetricFamily(name, meaning, labels=("state",))
    for state, count in counts:
        family.add_metric((state,), count)
    return family
