"""What the coordinators, share groups and pushed metrics count since the start.

Pure. Owns: the counts. It is separate from the modules that show them, which a broker without metrics never imports.
Source: ``ShareGroupMetrics``, ``ClientMetricsManager.ClientMetricsStats``.
"""

from collections import Counter
from dataclasses import dataclass


@dataclass(slots=True)
class GroupCounts:
    """The counts of all groups of this broker (``GroupCoordinatorMetrics``)."""

    completed_rebalances: int = 0
    """Rebalances of classic groups whose assignment was stored."""
    consumer_rebalances: int = 0
    """New epochs of consumer groups (KIP-848)."""
    share_rebalances: int = 0
    """New epochs of share groups (KIP-932)."""
    streams_rebalances: int = 0
    """New epochs of streams groups (KIP-1071)."""
    offset_commits: int = 0
    """Committed offsets, one for each partition."""
    offset_deletions: int = 0
    """Offsets that a client has deleted."""
    offset_expirations: int = 0
    """Offsets that have expired."""


@dataclass(slots=True)
class TransactionCounts:
    """The decided transactions of all transactional ids of this broker, by the cause of the decision."""

    committed: int = 0
    aborted: int = 0
    """Aborted by their producer."""
    timed_out: int = 0
    fenced: int = 0
    """Aborted because a new producer has taken over the transactional id."""
    nudges: int = 0
    """Connections that were closed because their clients stood still in a transaction."""

    def ended(self, commit: bool) -> None:
        """Counts a transaction that its producer has ended."""
        if commit:
            self.committed += 1
        else:
            self.aborted += 1


class ShareCounts:
    """Counts of all share groups together.

    ``acknowledgements``: acknowledge type -> records. ``lock_timeouts``: records that members held until their locks
    ended. ``evictions``: sessions that ended with their connections, or made room. ``letters``, ``lost_letters``: dead
    letters that were written, and that could not be.
    """

    __slots__ = ("acknowledgements", "evictions", "letters", "lock_timeouts", "lost_letters")

    def __init__(self) -> None:
        self.acknowledgements: Counter[int] = Counter()
        self.lock_timeouts = 0
        self.evictions = 0
        self.letters = 0
        self.lost_letters = 0


class ClientMetricsCounts:
    """Counts since the start."""

    __slots__ = ("dropped", "errors", "exports", "throttled", "unknown_subscriptions")

    def __init__(self) -> None:
        self.unknown_subscriptions = 0
        """Pushes with the id of another subscription."""
        self.throttled = 0
        """Requests that came before the interval was over."""
        self.exports = 0
        """Pushes that were read."""
        self.errors = 0
        """Pushes that could not be read."""
        self.dropped = {"client": 0, "total": 0, "invalid": 0}
        """Points that are not shown, by reason: the client has too many series, all clients together have, or name or
        attributes can't be shown."""
