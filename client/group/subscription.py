"""What a consumer reads, and its positions: the subscription, the assigned partitions, the next offset of each.

Pure state; no I/O, no clock. A position is the offset of the next record that ``poll`` gives out; it is fetched from
only while it is known to be in the log of the leader's epoch. Source:
``org.apache.kafka.clients.consumer.internals.SubscriptionState``.
"""

from collections.abc import Collection, Container, Iterable
from dataclasses import dataclass

from ..cluster.metadata import PartitionMetadata
from ..errors import ConfigurationError
from ..types import OffsetAndMetadata, TopicPartition


@dataclass(slots=True, eq=False)
class PartitionState:
    """One assigned partition."""

    position: int | None = None
    leader_epoch: int = -1
    """The epoch of the last record read, committed along with the position."""
    validated_for: tuple[int, int] | None = None
    """The leader and its epoch for which the position was last known to be in the log (KIP-320)."""
    reset_to: int | None = None
    """A ListOffsets timestamp when the position has to be asked for."""
    paused: bool = False
    high_watermark: int = -1
    last_stable_offset: int = -1
    log_start_offset: int = -1
    not_before: float = 0.0
    """No fetch before this time (the caller's clock, seconds), after an error."""
    preferred_read_replica: int | None = None
    """The broker that the leader has named to read from (KIP-392)."""
    preferred_until: float = 0.0
    """After this time (the same clock) the leader is asked again."""

    def read_replica(self, leader_id: int, brokers: Container[int], now: float) -> int:
        """The broker to fetch from: the preferred one for a time, if it is known; else the leader."""
        preferred = self.preferred_read_replica
        if preferred is not None and (now >= self.preferred_until or preferred not in brokers):
            preferred = self.preferred_read_replica = None
        return leader_id if preferred is None else preferred

    def needs_validation(self, leader: PartitionMetadata) -> bool:
        """Whether the leader must be asked first if the log still has the records read. Stores it if not."""
        now = (leader.leader, leader.leader_epoch)
        if self.validated_for == now:
            return False
        if self.leader_epoch < 0 or leader.leader_epoch < 0:
            self.validated_for = now  # no epoch to compare
            return False
        return True


class SubscriptionState:
    """Either topics of a group or partitions that the user assigned, never both."""

    def __init__(self) -> None:
        self.topics: frozenset[str] = frozenset()
        self.manual = False
        """The partitions were given by ``assign``."""
        self.assigned: dict[TopicPartition, PartitionState] = {}

    def subscribe(self, topics: Collection[str]) -> None:
        """Sets the topics. Raises ConfigurationError after ``assign``."""
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
        """Replaces the assignment; partitions that stay keep their state."""
        self.assigned = {partition: self.assigned.get(partition) or PartitionState() for partition in partitions}

    def unsubscribe(self) -> None:
        """Forgets everything."""
        self.topics = frozenset()
        self.manual = False
        self.assigned = {}

    def state(self, partition: TopicPartition) -> PartitionState:
        """The state of an assigned partition. Raises ConfigurationError for another."""
        try:
            return self.assigned[partition]
        except KeyError:
            raise ConfigurationError(f"{partition} is not assigned to this consumer") from None

    def seek(self, partition: TopicPartition, offset: int, leader_epoch: int = -1) -> None:
        """Sets a position; with the epoch of the record before it, it is validated before the next fetch."""
        state = self.state(partition)
        state.position, state.leader_epoch, state.reset_to, state.not_before = offset, leader_epoch, None, 0.0
        state.validated_for = None

    def reset(self, partition: TopicPartition, timestamp: int) -> None:
        """The position has to be asked for: of a timestamp, or EARLIEST_TIMESTAMP or LATEST_TIMESTAMP."""
        state = self.state(partition)
        state.position, state.leader_epoch, state.reset_to, state.not_before = None, -1, timestamp, 0.0
        state.validated_for = None

    def consumed(self) -> dict[TopicPartition, OffsetAndMetadata]:
        """The positions of all partitions that have a valid one: what a commit without arguments commits."""
        return {
            partition: OffsetAndMetadata(state.position, "", state.leader_epoch)
            for partition, state in self.assigned.items()
            if state.position is not None and (state.validated_for is not None or state.leader_epoch < 0)
        }

    def without_position(self) -> list[TopicPartition]:
        """Partitions that need a committed offset or a reset."""
        return [partition for partition, state in self.assigned.items() if state.position is None]
