"""Describes the records that a read may skip, for example because of Spark's filters.

Pure. Needs no Spark, because the local engine also plans reads.
"""

from dataclasses import dataclass

_NO_TIMESTAMP = -(1 << 63)


@dataclass(frozen=True, slots=True)
class Pruning:
    """Limits of a read: records outside of these topics, partitions, offsets and timestamps (ms) may be skipped.

    None: all topics or partitions.
    """

    topics: frozenset[object] | None = None
    partitions: frozenset[object] | None = None
    first_offset: int = 0
    end_offset: int = (1 << 63) - 1
    first_timestamp: int = _NO_TIMESTAMP

    def allows_partition(self, topic: str, partition: int) -> bool:
        """Whether the partition must be read."""
        return (self.topics is None or topic in self.topics) and (
            self.partitions is None or partition in self.partitions
        )
