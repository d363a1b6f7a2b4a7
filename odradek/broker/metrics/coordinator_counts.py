"""What the coordinators count since the start: rebalances, commits, transactions.

Pure. Owns: the counts. It is separate from :mod:`.coordinator_metrics`, which a broker without metrics never imports.
"""

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
