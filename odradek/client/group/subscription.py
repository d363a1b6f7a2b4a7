"""The state of a consumer's subscription: topics, assigned partitions, the position of each.

Pure state; no I/O, no clock. A position is the offset of the next record that ``poll`` returns. After a leader change
it must be validated before the next fetch (KIP-320). Source:
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
        self.assigned = {partition: self.assigned.get(partition) or PartitionState() for partition in partitions}

    def unsubscribe(self) -> None:
        """Removes all topics and partitions."""
        self.topics = frozenset()
        self.manual = False
        self.assigned = {}

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

    def reset(self, partition: TopicPartition, timestamp: int) -> None:
        """Marks the partition for a reset: its position comes from ListOffsets with ``timestamp``.

        ``timestamp`` is in ms, or EARLIEST_TIMESTAMP or LATEST_TIMESTAMP.
        """
        state = self.state(partition)
        state.position, state.leader_epoch, state.reset_to, state.not_before = None, -1, timestamp, 0.0
        state.validated_for = None

    def consumed(self) -> dict[TopicPartition, OffsetAndMetadata]:
        """The validated positions of all partitions, which a commit without arguments commits."""
        return {
            partition: OffsetAndMetadata(state.position, "", state.leader_epoch)
            for partition, state in self.assigned.items()
            if state.position is not None and (state.validated_for is not None or state.leader_epoch < 0)
        }

    def without_position(self) -> list[TopicPartition]:
        """The partitions without a position; they need a committed offset or a reset."""
        return [partition for partition, state in self.assigned.items() if state.position is None]


def to_commit(
    offsets: Mapping[TopicPartition, OffsetAndMetadata | int],
) -> dict[TopicPartition, OffsetAndMetadata]:
    """Converts the offsets of a user's call: plain numbers become OffsetAndMetadata."""
    return {
        TopicPartition(*partition): OffsetAndMetadata(offset) if isinstance(offset, int) else offset
        for partition, offset in offsets.items()
    }
