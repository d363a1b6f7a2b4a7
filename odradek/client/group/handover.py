"""Revokes and assigns partitions: commits the consumed positions, calls the listener, changes the subscription.

Owns: the order of these steps. Runs only inside ``poll``, ``unsubscribe`` and ``stop``, as Java's callbacks do.
Invariant: the subscription changes even if the listener raises; its error reaches the caller of ``poll``. Source:
``consumer.internals.ConsumerRebalanceListenerInvoker``, ``ConsumerCoordinator.onJoinPrepare`` and ``onJoinComplete``.
"""

from collections.abc import Awaitable, Callable, Collection, Iterable

from ..cluster.cluster import Cluster
from ..types import TopicPartition
from .subscription import SubscriptionState


class RebalanceListener:
    """Callbacks for partitions that are revoked, assigned or lost, called inside ``poll``. Override what you need."""

    async def on_partitions_revoked(self, partitions: Collection[TopicPartition]) -> None:
        """Called before the consumer gives the partitions up. Their offsets can still be committed."""

    async def on_partitions_assigned(self, partitions: Collection[TopicPartition]) -> None:
        """Called with the newly assigned partitions; with cooperative rebalancing the consumer has others too.

        The positions are looked up after this call.
        """

    async def on_partitions_lost(self, partitions: Collection[TopicPartition]) -> None:
        """Called after the consumer lost the partitions. Others may own them already; commits would fail."""
        await self.on_partitions_revoked(partitions)


class Handover:
    """Changes the partitions of one consumer in a rebalance."""

    def __init__(
        self, cluster: Cluster, subscription: SubscriptionState, commit: Callable[[], Awaitable[None]]
    ) -> None:
        """``commit`` commits the positions if auto commit is on. It does not raise."""
        self._subscription = subscription
        self._cluster = cluster
        self.commit = commit
        self.listener = RebalanceListener()

    @property
    def owned(self) -> list[TopicPartition]:
        """The partitions assigned to the consumer, sorted."""
        return sorted(self._subscription.assigned)

    async def revoke(self, partitions: Iterable[TopicPartition]) -> None:
        """Gives partitions up: commits, calls the listener, changes the subscription."""
        revoked = list(partitions)
        if not revoked:
            return
        try:
            await self.commit()
            await self.listener.on_partitions_revoked(revoked)
        finally:
            self._forget(revoked)

    async def lose(self) -> None:
        """Drops all partitions, which others may own already: calls the listener without a commit."""
        lost = self.owned
        if not lost:
            return
        try:
            await self.listener.on_partitions_lost(lost)
        finally:
            self._forget(lost)

    async def assign(self, partitions: Iterable[TopicPartition]) -> None:
        """Adds partitions to those that the consumer has, and calls the listener with the added ones."""
        added = [partition for partition in partitions if partition not in self._subscription.assigned]
        self._cluster.wanted_topics.update(partition.topic for partition in added)
        self._subscription.assign([*self._subscription.assigned, *added])
        await self.listener.on_partitions_assigned(added)

    def _forget(self, partitions: Collection[TopicPartition]) -> None:
        gone = set(partitions)
        self._subscription.assign([p for p in self._subscription.assigned if p not in gone])
