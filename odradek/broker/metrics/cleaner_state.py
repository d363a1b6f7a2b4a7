"""The cleaner's state: partitions being cleaned, uncleanable partitions with the reason, results of the last rounds.

Pure: the time is passed in, ms since 1970. Never does: choosing (storage/compaction/selection.py). Invariant: an
uncleanable partition is tried again at growing intervals, and listed until it is cleaned or removed. Source: the states
of Kafka's LogCleanerManager, which never tries an uncleanable partition again; CleanerStats.
"""

from collections.abc import Container
from dataclasses import dataclass

from odradek.protocol.names.topics import TopicPartition

FIRST_RETRY_MS = 60_000
LAST_RETRY_MS = 3_600_000


@dataclass(frozen=True, slots=True)
class Uncleanable:
    """An uncleanable partition: the reason, its cleanable bytes, the number of tries, the time of the next try."""

    reason: str
    directory: str
    cleanable_bytes: int
    attempts: int
    retry_ms: int


@dataclass(frozen=True, slots=True)
class RoundStats:
    """The last round: bytes read and written, its duration, and the fill level of its map of keys (0 to 1)."""

    bytes_read: int = 0
    bytes_written: int = 0
    elapsed_ms: int = 0
    map_utilization: float = 0.0


class CleanerState:
    """The state that the cleaner keeps from pass to pass."""

    def __init__(self) -> None:
        self.in_progress: set[TopicPartition] = set()
        self.uncleanable: dict[TopicPartition, Uncleanable] = {}
        self.last_run_ms = 0
        self.max_dirty_ratio = 0.0
        self.max_compaction_delay_ms = 0
        self.last_round = RoundStats()
        self.rounds = 0
        self.bytes_read = 0
        self.bytes_written = 0

    def may_clean(self, key: TopicPartition, now_ms: int) -> bool:
        """Whether the partition is not being cleaned and not waiting for its next try."""
        refusal = self.uncleanable.get(key)
        return key not in self.in_progress and (refusal is None or refusal.retry_ms <= now_ms)

    def cleaned(self, key: TopicPartition, stats: RoundStats) -> None:
        """Notes the success of a round."""
        self.uncleanable.pop(key, None)
        self.last_round = stats
        self.rounds += 1
        self.bytes_read += stats.bytes_read
        self.bytes_written += stats.bytes_written

    def failed(
        self, key: TopicPartition, directory: str, reason: str, cleanable_bytes: int, now_ms: int
    ) -> Uncleanable:
        """Notes a failure of a round or of a check of the partition. Returns it with the time of the next try."""
        before = self.uncleanable.get(key)
        attempts = 1 if before is None else before.attempts + 1
        wait_ms = min(FIRST_RETRY_MS << min(attempts - 1, 10), LAST_RETRY_MS)
        refusal = self.uncleanable[key] = Uncleanable(reason, directory, cleanable_bytes, attempts, now_ms + wait_ms)
        return refusal

    def forget_missing(self, compacted: Container[TopicPartition]) -> None:
        """Forgets partitions that were removed or are not compacted any more (``maintainUncleanablePartitions``)."""
        for key in [key for key in self.uncleanable if key not in compacted]:
            del self.uncleanable[key]
