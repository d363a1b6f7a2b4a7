"""The methods of a consumer that need no group: positions, begin and end offsets of logs, metadata.

Owns: seeking, and the look-ups of offsets and topics. Never does: records, groups (``consumer.py``). Source:
``org.apache.kafka.clients.consumer.Consumer``.
"""

from collections.abc import Iterable, Mapping, Sequence

from odradek.protocol.errors import ErrorCode, KafkaError

from ..cluster.cluster import Cluster
from ..cluster.list_offsets import EARLIEST_TIMESTAMP, LATEST_TIMESTAMP, list_offsets
from ..errors import ConfigurationError, NoOffsetForPartitionError
from ..group.subscription import SubscriptionState
from ..types import OffsetAndMetadata, OffsetAndTimestamp, TopicPartition
from .positions import FetchCommitted, Positions


class ConsumerBase:
    """The base class of the consumer, with its calls about positions and logs."""

    def __init__(
        self,
        cluster: Cluster,
        subscription: SubscriptionState,
        positions: Positions,
        *,
        isolation_level: int,
        timeout_ms: float,
    ) -> None:
        """All objects are the consumer's own. ``timeout_ms`` limits each look-up of offsets."""
        self._cluster = cluster
        self._subscription = subscription
        self._positions = positions
        self._isolation_level = isolation_level
        self._timeout_ms = timeout_ms

    def _fetch_committed(self) -> FetchCommitted | None:
        """The function that looks up committed offsets; None without a group."""
        return None

    # Positions

    def seek(self, partition: TopicPartition, offset: int | OffsetAndMetadata) -> None:
        """Makes the next poll read the partition from ``offset``. Raises ConfigurationError if it is not assigned.

        An OffsetAndMetadata with a leader epoch (that of the record before it) is validated first (KIP-320).
        """
        number, epoch = (offset, -1) if isinstance(offset, int) else (offset.offset, offset.leader_epoch)
        if number < 0:
            raise ConfigurationError(f"offset {number} is negative; call seek_to_beginning() or seek_to_end() instead")
        self._subscription.seek(TopicPartition(*partition), number, epoch)

    async def seek_to_beginning(self, *partitions: TopicPartition) -> None:
        """Makes the next poll read from the log start offset; without arguments, for all assigned partitions."""
        await self._seek(partitions, EARLIEST_TIMESTAMP)

    async def seek_to_end(self, *partitions: TopicPartition) -> None:
        """Makes the next poll read from the end (with read_committed, from the last stable offset)."""
        await self._seek(partitions, LATEST_TIMESTAMP)

    async def _seek(self, partitions: Sequence[TopicPartition], timestamp: int) -> None:
        for partition in partitions or list(self._subscription.assigned):
            self._subscription.reset(TopicPartition(*partition), timestamp)
        await self._positions.reset()

    def positions(self) -> dict[TopicPartition, int]:
        """The positions of the assigned partitions that have one."""
        return {p: s.position for p, s in self._subscription.assigned.items() if s.position is not None}

    async def position(self, partition: TopicPartition) -> int:
        """The offset of the next record. Raises ConfigurationError if the partition is not assigned."""
        state = self._subscription.state(TopicPartition(*partition))
        if state.position is None:
            await self._positions.find(self._fetch_committed())
        if state.position is None:
            raise NoOffsetForPartitionError(f"{partition} has no position yet")
        return state.position

    def paused(self) -> set[TopicPartition]:
        """The paused partitions."""
        return {partition for partition, state in self._subscription.assigned.items() if state.paused}

    def lag(self, partition: TopicPartition) -> int | None:
        """The offsets between the position and the end of the log at the last fetch; None before the first fetch."""
        state = self._subscription.state(TopicPartition(*partition))
        end = state.last_stable_offset if self._isolation_level else state.high_watermark
        return None if end < 0 or state.position is None else max(0, end - state.position)

    # Offsets of the log, metadata

    async def beginning_offsets(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """The log start offset of each partition. Raises KafkaError."""
        return await self._offsets(dict.fromkeys(partitions, EARLIEST_TIMESTAMP))

    async def end_offsets(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """The high watermark of each partition (with read_committed the last stable offset). Raises KafkaError."""
        return await self._offsets(dict.fromkeys(partitions, LATEST_TIMESTAMP))

    async def _offsets(self, timestamps: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        found = await list_offsets(
            self._cluster, timestamps, isolation_level=self._isolation_level, timeout_ms=self._timeout_ms
        )
        return {partition: offset.offset for partition, offset in found.items()}

    async def offsets_for_times(
        self, timestamps: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        """The first record at or after each timestamp (ms); None if no record is that late. Raises KafkaError."""
        found = await list_offsets(
            self._cluster, timestamps, isolation_level=self._isolation_level, timeout_ms=self._timeout_ms
        )
        return {partition: offset if offset.offset >= 0 else None for partition, offset in found.items()}

    async def partitions_for_topic(self, topic: str) -> list[int]:
        """The partition numbers of a topic; empty if it does not exist."""
        try:
            return list((await self._cluster.topic(topic, timeout_ms=0)).partitions)
        except KafkaError as error:
            if error.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                return []
            raise

    async def topics(self) -> set[str]:
        """The names of all topics, including internal ones."""
        return {topic.name for topic in await self._cluster.list_topics()}
