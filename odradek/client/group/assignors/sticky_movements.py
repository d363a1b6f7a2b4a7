"""Records the moves of a rebalance, to avoid moving two partitions of a topic in opposite directions.

Pure. Source: ``AbstractStickyAssignor.PartitionMovements``.
"""

from odradek.protocol.java.hash import INITIAL_BUCKETS, grown_buckets, hash_bucket, java_hash_code

from ...types import TopicPartition

Move = tuple[str, str]
"""(member that loses the partition, member that gets it)."""


class Movements:
    """The moves of one assignment."""

    def __init__(self) -> None:
        self._by_topic: dict[str, dict[Move, PartitionSet]] = {}
        self._moves: dict[TopicPartition, Move] = {}

    def moved(self, partition: TopicPartition, giver: str, taker: str) -> None:
        """Records a move. If the partition moved before, both moves become one; a move back cancels the first."""
        earlier = self._moves.pop(partition, None)
        if earlier is not None:
            moves = self._by_topic[partition.topic]
            moves[earlier].remove(partition)
            if not len(moves[earlier]):
                del moves[earlier]
            giver = earlier[0]
            if giver == taker:
                return
        self._moves[partition] = (giver, taker)
        self._by_topic.setdefault(partition.topic, {}).setdefault((giver, taker), PartitionSet()).add(partition)

    def better(self, partition: TopicPartition, giver: str, taker: str) -> TopicPartition:
        """The partition to move instead: one of the same topic that moved from ``taker`` to ``giver`` before.

        Moving it back has the same effect with fewer moves. Without such a partition, returns ``partition``.
        """
        giver = self._moves.get(partition, (giver, ""))[0]
        back = self._by_topic.get(partition.topic, {}).get((taker, giver))
        return partition if back is None else back.first()


class PartitionSet:
    """A set of partitions that knows the first one of Java's iterator, which the sticky assignors move.

    Like Java's, its hash table never shrinks. Source: ``java.util.HashSet``.
    """

    def __init__(self) -> None:
        self._buckets = INITIAL_BUCKETS
        self._partitions: dict[TopicPartition, None] = {}

    def add(self, partition: TopicPartition) -> None:
        """Adds the partition as the last one of its bucket. Does nothing if the set has it."""
        self._partitions.setdefault(partition)
        self._buckets = grown_buckets(self._buckets, len(self._partitions))

    def remove(self, partition: TopicPartition) -> None:
        """Removes the partition. Raises KeyError."""
        del self._partitions[partition]

    def __len__(self) -> int:
        return len(self._partitions)

    def first(self) -> TopicPartition:
        """The first partition of Java's iterator. Raises ValueError if the set is empty."""
        return min(self._partitions, key=lambda partition: hash_bucket(partition_hash_code(partition), self._buckets))


def partition_hash_code(partition: TopicPartition) -> int:
    """Java's ``TopicPartition.hashCode``, before the truncation to 32 bits."""
    return 31 * (31 + partition.partition) + java_hash_code(partition.topic)
