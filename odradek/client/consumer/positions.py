"""Finds the first position of each partition: its committed offset, or the one chosen by ``auto_offset_reset``.

Owns: nothing; it fills in the subscription's positions. Never does: overwrites a position that a seek set during the
look-up. Source: ``consumer.internals.OffsetFetcher``, ``ConsumerCoordinator.initWithCommittedOffsetsIfNeeded``.
"""

from collections.abc import Awaitable, Callable, Sequence

from odradek.protocol.common.wall_clock import clock_ms

from ..cluster.cluster import Cluster
from ..cluster.list_offsets import LATEST_TIMESTAMP, list_offsets
from ..errors import NoOffsetForPartitionError
from ..group.subscription import SubscriptionState
from ..types import OffsetAndMetadata, TopicPartition
from .offset_reset import OffsetReset

FetchCommitted = Callable[[Sequence[TopicPartition]], Awaitable[dict[TopicPartition, OffsetAndMetadata]]]
"""A function that returns the group's committed offsets of partitions. Partitions without one are left out."""


class Positions:
    """Finds positions for one consumer."""

    def __init__(
        self,
        cluster: Cluster,
        subscription: SubscriptionState,
        *,
        offset_reset: OffsetReset,
        isolation_level: int,
        timeout_ms: float,
    ) -> None:
        """If ``offset_reset`` is none, a partition without committed offset is an error."""
        self._cluster = cluster
        self._subscription = subscription
        self._offset_reset = offset_reset
        self._isolation_level = isolation_level
        self._timeout_ms = timeout_ms

    def reset_timestamp(self) -> int | None:
        """The timestamp for ListOffsets if an offset were reset now; None without a reset policy."""
        return self._offset_reset.timestamp(clock_ms())

    async def find(self, committed: FetchCommitted | None) -> None:
        """Gives each assigned partition a position. ``committed`` is None if the consumer has no group.

        Raises NoOffsetForPartitionError, KafkaError.
        """
        assigned = self._subscription.assigned
        fresh = {
            partition: assigned[partition]
            for partition in self._subscription.without_position()
            if assigned[partition].reset_to is None
        }
        if fresh and committed is not None:
            for partition, offset in (await committed(list(fresh))).items():
                state = fresh[partition]
                still = self._subscription.assigned.get(partition) is state
                if still and state.position is None and state.reset_to is None:
                    self._subscription.seek(partition, offset.offset, offset.leader_epoch)
        for partition, state in fresh.items():
            gone = self._subscription.assigned.get(partition) is not state
            if not gone and state.position is None and state.reset_to is None:
                timestamp = self.reset_timestamp()
                if timestamp is None:
                    raise NoOffsetForPartitionError(
                        f"no committed offset for {partition}, and auto_offset_reset is none; commit or seek() first"
                    )
                state.reset_to = timestamp
        await self.reset()

    async def reset(self) -> None:
        """Resets the positions of the partitions that are marked for it, with ListOffsets. Raises KafkaError."""
        states = {
            partition: self._subscription.assigned[partition] for partition in self._subscription.without_position()
        }
        waiting = {
            partition: (state, state.reset_to) for partition, state in states.items() if state.reset_to is not None
        }
        if not waiting:
            return
        found = await self._list({partition: timestamp for partition, (_, timestamp) in waiting.items()})
        late = [partition for partition, offset in found.items() if offset < 0]
        if late:  # by_duration, but all records are older: start at the end
            found |= await self._list(dict.fromkeys(late, LATEST_TIMESTAMP))
        for partition, offset in found.items():
            state, timestamp = waiting[partition]
            still = self._subscription.assigned.get(partition) is state
            if still and state.position is None and state.reset_to == timestamp:
                self._subscription.seek(partition, offset)

    async def _list(self, timestamps: dict[TopicPartition, int]) -> dict[TopicPartition, int]:
        found = await list_offsets(
            self._cluster, timestamps, isolation_level=self._isolation_level, timeout_ms=self._timeout_ms
        )
        return {partition: offset.offset for partition, offset in found.items()}
