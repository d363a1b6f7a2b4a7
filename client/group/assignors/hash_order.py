"""Java's ``HashSet`` of partitions: which element it gives first decides what the sticky assignors move.

Owns: that set. Never does: I/O. Source: ``java.util.HashSet``, ``TopicPartition.hashCode``.
"""

from ....protocol.java_hash import INITIAL_BUCKETS, grown_buckets, hash_bucket, java_hash_code
from ...types import TopicPartition


def partition_hash_code(partition: TopicPartition) -> int:
    """``TopicPartition.hashCode`` of Java, before it is cut to 32 bits."""
    return 31 * (31 + partition.partition) + java_hash_code(partition.topic)


class PartitionSet:
    """A set that knows which of its partitions Java's iterator gives first; as Java's, its table never shrinks."""

    def __init__(self) -> None:
        self._buckets = INITIAL_BUCKETS
        self._partitions: dict[TopicPartition, None] = {}

    def add(self, partition: TopicPartition) -> None:
        """Adds the partition behind the others of its bucket; nothing for one that is there."""
        self._partitions.setdefault(partition)
        self._buckets = grown_buckets(self._buckets, len(self._partitions))

    def remove(self, partition: TopicPartition) -> None:
        """Takes the partition out. Raises KeyError."""
        del self._partitions[partition]

    def __len__(self) -> int:
        return len(self._partitions)

    def first(self) -> TopicPartition:
        """The partition that Java's iterator gives first. Raises ValueError when there is none."""
        return min(self._partitions, key=lambda partition: hash_bucket(partition_hash_code(partition), self._buckets))
