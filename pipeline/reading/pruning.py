"""What need not be read, whatever says so.

Pure, and without Spark: the local engine plans reads, too.
"""

from dataclasses import dataclass

_NO_TIMESTAMP = -(1 << 63)


@dataclass(frozen=True, slots=True)
class Pruning:
    """What may be left out: everything but these topics and partitions, offsets and timestamps (ms since 1970)."""

    topics: frozenset[object] | None = None
    partitions: frozenset[object] | None = None
    first_offset: int = 0
    end_offset: int = (1 << 63) - 1
    first_timestamp: int = _NO_TIMESTAMP

    def allows_partition(self, topic: str, partition: int) -> bool:
        """Whether a partition can have rows that the filters let through."""
        return (self.topics is None or topic in self.topics) and (
            self.partitions is None or partition in self.partitions
        )
