"""Partitions that change hands: what was consumed is committed, the listener told, the subscription changed.

Owns: the order of these. Runs only inside ``poll``, ``unsubscribe`` and ``stop``, as Java's callbacks do. Invariant:
the subscription changes also when a listener raises; its error reaches the caller of ``poll``. Source:
``consumer.internals.ConsumerRebalanceListenerInvoker``, ``ConsumerCoordinator.onJoinPrepare`` and ``onJoinComplete``.
"""

from collections.abc import Awaitable, Callable, Collection, Iterable

from ..cluster.cluster import Cluster
from ..types import TopicPartition
from .subscription import SubscriptionState


class RebalanceListener:
    """Callbacks for partitions that are revoked, assigned or lost, called inside ``poll``. Override any."""

    async def on_partitions_revoked(self, partitions: Collection[TopicPartition]) -> None:
        """The partitions are about to be given up; commits still count."""

    async def on_partitions_assigned(self, partitions: Collection[TopicPartition]) -> None:
        """The partitions are new to the consumer (with cooperative rebalancing: besides those that it has).

        Positions are looked up after this.
        """

    async def on_partitions_lost(self, partitions: Collection[TopicPartition]) -> None:
        """The partitions may belong to others already; commits would fail."""
        await self.on_partitions_revoked(partitions)


class Handover:
    """Hands the partitions of one consumer over."""

    def __init__(
        self, cluster: Cluster, subscription: SubscriptionState, commit: Callable[[], Awaitable[None]]
    ) -> None:
        """``commit`` commits what was consumed, if that is automatic; it does not raise."""
        self._subscription = subscription
        self._cluster = cluster
        self.commit = commit
        self.listener = RebalanceListener()

    @property
    def owned(self) -> list[TopicPartition]:
        """What the consumer has, sorted."""
        return sorted(self._subscription.assigned)

    async def revoke(self, partitions: Iterable[TopicPartition]) -> None:
        """Revokes partitions: commit, listener, subscription. Does nothing without partitions."""
        going = list(partitions)
        if not going:
            return
        try:
            await self.commit()
            await self.listener.on_partitions_revoked(going)
        finally:
            self._forget(going)

    async def lose(self) -> None:
        """All partitions are gone already."""
        going = self.owned
        if not going:
            return
        try:
            await self.listener.on_partitions_lost(going)
        finally:
            self._forget(going)

    async def assign(self, partitions: Iterable[TopicPartition]) -> None:
        """Takes partitions besides those that the consumer has."""
        coming = [partition for partition in partitions if partition not in self._subscription.assigned]
        self._cluster.wanted_topics.update(partition.topic for partition in coming)
        self._subscription.assign([*self._subscription.assigned, *coming])
        await self.listener.on_partitions_assigned(coming)

    def _forget(self, partitions: Collection[TopicPartition]) -> None:
        self._subscription.assign([p for p in self._subscription.assigned if p not in partitions])
