"""A set with the iteration order of Java's ``HashSet``, because the sticky assignors move its first partition.

Owns: that set. Never does: I/O. Source: ``java.util.HashSet``, ``TopicPartition.hashCode``.
"""

from odradek.protocol.java.hash import INITIAL_BUCKETS, grown_buckets, hash_bucket, java_hash_code

from ...types import TopicPartition


def partition_hash_code(partition: TopicPartition) -> int:
    """Java's ``TopicPartition.hashCode``, before the truncation to 32 bits."""
    return 31 * (31 + partition.partition) + java_hash_code(partition.topic)


class PartitionSet:
    """A set of partitions that knows the first one of Java's iterator. Like Java's, its hash table never shrinks."""

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
