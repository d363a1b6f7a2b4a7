"""The state of a consumer's subscription: topics, assigned partitions, the position of each.

Pure state; no I/O, no clock. A position is the offset of the next record that ``poll`` returns. After a leader change
it must be validated before the next fetch (KIP-320). A poll looks only at partitions of which something has changed
since the last one: it may come a thousand times a second, and thousands of partitions may be assigned. Source:
``org.apache.kafka.clients.consumer.internals.SubscriptionState``.
"""

from collections.abc import Collection, Container, Iterable, Mapping
from dataclasses import dataclass

from ..cluster.metadata import PartitionMetadata
from ..errors import ConfigurationError
from ..types import OffsetAndMetadata, TopicPartition


@dataclass(slots=True, eq=False)
class PartitionState:
    """The state of one assigned partition. Times are in seconds of the caller's clock."""

    position: int | None = None
    leader_epoch: int = -1
    """The leader epoch of the last record read, which is committed with the position. -1 if unknown."""
    validated_for: tuple[int, int] | None = None
    """The leader id and leader epoch for which the position was last validated (KIP-320)."""
    reset_to: int | None = None
    """The ListOffsets timestamp to get the position from; None if no reset is needed."""
    paused: bool = False
    high_watermark: int = -1
    last_stable_offset: int = -1
    log_start_offset: int = -1
    not_before: float = 0.0
    """After an error, the end of the backoff: no fetch before this time."""
    preferred_read_replica: int | None = None
    """The id of the follower that the leader named for fetches (KIP-392); None: fetch from the leader."""
    preferred_until: float = 0.0
    """From this time on, fetches go to the leader again."""

    def read_replica(self, leader_id: int, brokers: Container[int], now: float) -> int:
        """The id of the broker to fetch from: the preferred read replica if it is valid, otherwise the leader."""
        preferred = self.preferred_read_replica
        if preferred is not None and (now >= self.preferred_until or preferred not in brokers):
            preferred = self.preferred_read_replica = None
        return leader_id if preferred is None else preferred

    def needs_validation(self, leader: PartitionMetadata) -> bool:
        """Whether the position must be validated with this leader before a fetch (KIP-320).

        If an epoch is unknown, nothing can be compared: the position counts as validated.
        """
        now = (leader.leader, leader.leader_epoch)
        if self.validated_for == now:
            return False
        if self.leader_epoch < 0 or leader.leader_epoch < 0:
            self.validated_for = now
            return False
        return True


class SubscriptionState:
    """The subscription: either topics for a group or partitions that the user assigned, never both."""

    def __init__(self) -> None:
        self.topics: frozenset[str] = frozenset()
        self.manual = False
        """Whether the user assigned the partitions with ``Consumer.assign``."""
        self.assigned: dict[TopicPartition, PartitionState] = {}
        self.to_fetch: dict[TopicPartition, None] = {}
        """The partitions that may need a fetch now, in the order in which they came. The fetcher removes them.

        It leaves out those that wait for something. The end of the wait adds them again.
        """
        self.to_validate: dict[TopicPartition, None] = {}
        """The partitions whose position may need a validation. The validation removes them."""
        self._unpositioned: dict[TopicPartition, None] = {}
        self._metadata = -1

    def subscribe(self, topics: Collection[str]) -> None:
        """Sets the topics. Raises ConfigurationError after a manual assignment."""
        if self.manual and self.assigned:
            raise ConfigurationError("subscribe() after assign(): call unsubscribe() first")
        self.manual = False
        self.topics = frozenset(topics)

    def assign_manually(self, partitions: Iterable[TopicPartition]) -> None:
        """Sets the partitions. Raises ConfigurationError after ``subscribe``."""
        if self.topics:
            raise ConfigurationError("assign() after subscribe(): call unsubscribe() first")
        self.manual = True
        self.assign(partitions)

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        """Replaces the assignment. Partitions that were assigned before keep their state."""
        self._assign({partition: self.assigned.get(partition) or PartitionState() for partition in partitions})

    def _assign(self, assigned: dict[TopicPartition, PartitionState]) -> None:
        self.assigned = assigned
        self._unpositioned = {partition: None for partition, state in assigned.items() if state.position is None}
        self.to_fetch, self.to_validate = dict.fromkeys(assigned), dict.fromkeys(assigned)

    def metadata_is(self, generation: int) -> None:
        """Looks at all partitions if the metadata has changed since the last call: leaders may differ."""
        if generation != self._metadata:
            self._metadata = generation
            self.to_fetch.update(dict.fromkeys(self.assigned))
            self.to_validate.update(dict.fromkeys(self.assigned))

    def unsubscribe(self) -> None:
        """Removes all topics and partitions."""
        self.topics = frozenset()
        self.manual = False
        self._assign({})

    def state(self, partition: TopicPartition) -> PartitionState:
        """The state of an assigned partition. Raises ConfigurationError if it is not assigned."""
        try:
            return self.assigned[partition]
        except KeyError:
            raise ConfigurationError(f"{partition} is not assigned to this consumer") from None

    def seek(self, partition: TopicPartition, offset: int, leader_epoch: int = -1) -> None:
        """Sets a position. If ``leader_epoch`` is given (of the record before it), the position is validated first."""
        state = self.state(partition)
        state.position, state.leader_epoch, state.reset_to, state.not_before = offset, leader_epoch, None, 0.0
        state.validated_for = None
        self._unpositioned.pop(partition, None)
        self.to_fetch[partition] = self.to_validate[partition] = None

    def reset(self, partition: TopicPartition, timestamp: int) -> None:
        """Marks the partition for a reset: its position comes from ListOffsets with ``timestamp``.

        ``timestamp`` is in ms, or EARLIEST_TIMESTAMP or LATEST_TIMESTAMP.
        """
        state = self.state(partition)
        state.position, state.leader_epoch, state.reset_to, state.not_before = None, -1, timestamp, 0.0
        state.validated_for = None
        self._unpositioned[partition] = None

    def resume(self, partition: TopicPartition) -> None:
        """Ends a pause."""
        self.state(partition).paused = False
        self.to_fetch[partition] = None

    def validated(self, partition: TopicPartition, leader: tuple[int, int]) -> None:
        """The position is valid for this leader and leader epoch."""
        self.state(partition).validated_for = leader
        self.to_fetch[partition] = None

    def consumed(self) -> dict[TopicPartition, OffsetAndMetadata]:
        """The validated positions of all partitions, which a commit without arguments commits."""
        return {
            partition: OffsetAndMetadata(state.position, "", state.leader_epoch)
            for partition, state in self.assigned.items()
            if state.position is not None and (state.validated_for is not None or state.leader_epoch < 0)
        }

    def without_position(self) -> list[TopicPartition]:
        """The partitions without a position; they need a committed offset or a reset."""
        return list(self._unpositioned)


def to_commit(
    offsets: Mapping[TopicPartition, OffsetAndMetadata | int],
) -> dict[TopicPartition, OffsetAndMetadata]:
    """Converts the offsets of a user's call: plain numbers become OffsetAndMetadata."""
    return {
        TopicPartition(*partition): OffsetAndMetadata(offset) if isinstance(offset, int) else offset
        for partition, offset in offsets.items()
    }
