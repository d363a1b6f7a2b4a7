"""Where a consumer starts: the committed offset of each partition, else what ``auto_offset_reset`` says.

Owns: nothing; it fills in the subscription's positions. Never overwrites a position that a seek set meanwhile. Source:
``consumer.internals.OffsetFetcher`` and ``ConsumerCoordinator.initWithCommittedOffsetsIfNeeded``.
"""

from .cluster import Cluster
from .errors import NoOffsetForPartitionError
from .group import GroupMember
from .list_offsets import list_offsets
from .subscription import Subscription


class Positions:
    """Finds positions for one consumer."""

    def __init__(
        self,
        cluster: Cluster,
        subscription: Subscription,
        *,
        reset_timestamp: int | None,
        isolation_level: int,
        timeout_ms: float,
    ) -> None:
        """``reset_timestamp`` None: there is no reset, missing positions are errors."""
        self._cluster = cluster
        self._subscription = subscription
        self._reset_timestamp = reset_timestamp
        self._isolation_level = isolation_level
        self._timeout_ms = timeout_ms

    async def find(self, member: GroupMember | None) -> None:
        """Gives each assigned partition a position. Raises NoOffsetForPartitionError, KafkaError."""
        assigned = self._subscription.assigned
        fresh = [
            partition for partition in self._subscription.without_position() if assigned[partition].reset_to is None
        ]
        if fresh and member is not None:
            committed = await member.committed(fresh, self._timeout_ms)
            for partition, offset in committed.items():
                state = self._subscription.assigned.get(partition)
                if state is not None and state.position is None and state.reset_to is None:
                    state.position, state.leader_epoch = offset.offset, offset.leader_epoch
        for partition in fresh:
            state = self._subscription.assigned.get(partition)
            if state is not None and state.position is None and state.reset_to is None:
                if self._reset_timestamp is None:
                    raise NoOffsetForPartitionError(
                        f"no committed offset for {partition}, and auto_offset_reset is none; commit or seek() first"
                    )
                state.reset_to = self._reset_timestamp
        await self.reset()

    async def reset(self) -> None:
        """Looks up the offsets of partitions that wait for a reset. Raises KafkaError."""
        wanted = {
            partition: state.reset_to
            for partition, state in self._subscription.assigned.items()
            if state.position is None and state.reset_to is not None
        }
        if not wanted:
            return
        found = await list_offsets(
            self._cluster, wanted, isolation_level=self._isolation_level, timeout_ms=self._timeout_ms
        )
        for partition, offset in found.items():
            state = self._subscription.assigned.get(partition)
            if state is not None and state.position is None and state.reset_to == wanted[partition]:
                self._subscription.seek(partition, offset.offset)
