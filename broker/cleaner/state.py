"""Which partitions are being cleaned, which can't be and why, and what the last rounds did.

Pure: the time is given, ms since 1970. Never does: choosing (storage/compaction/selection.py). Invariant: a partition
that could not be cleaned is tried again, later and later, and is shown until it was cleaned or has gone. Source: the
states of Kafka's LogCleanerManager, which never tries an uncleanable partition again; CleanerStats.
"""

from collections.abc import Container
from dataclasses import dataclass

TopicPartition = tuple[str, int]

FIRST_RETRY_MS = 60_000
LAST_RETRY_MS = 3_600_000


@dataclass(frozen=True, slots=True)
class Uncleanable:
    """Why a partition can't be cleaned, what waits there, how often it was tried, and when it is tried again."""

    reason: str
    directory: str
    cleanable_bytes: int
    attempts: int
    retry_ms: int


@dataclass(frozen=True, slots=True)
class RoundStats:
    """The last round: bytes read and written, how long it took, and how full its map of keys was (0 to 1)."""

    bytes_read: int = 0
    bytes_written: int = 0
    elapsed_ms: int = 0
    map_utilization: float = 0.0


class CleanerState:
    """What the cleaner knows from one pass to the next."""

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
        """Whether nobody cleans the partition now, and it is not waiting for its next try."""
        refusal = self.uncleanable.get(key)
        return key not in self.in_progress and (refusal is None or refusal.retry_ms <= now_ms)

    def cleaned(self, key: TopicPartition, stats: RoundStats) -> None:
        """A round has ended well."""
        self.uncleanable.pop(key, None)
        self.last_round = stats
        self.rounds += 1
        self.bytes_read += stats.bytes_read
        self.bytes_written += stats.bytes_written

    def failed(
        self, key: TopicPartition, directory: str, reason: str, cleanable_bytes: int, now_ms: int
    ) -> Uncleanable:
        """A round, or looking at the partition, has failed; when it is tried again."""
        before = self.uncleanable.get(key)
        attempts = 1 if before is None else before.attempts + 1
        wait_ms = min(FIRST_RETRY_MS << min(attempts - 1, 10), LAST_RETRY_MS)
        refusal = self.uncleanable[key] = Uncleanable(reason, directory, cleanable_bytes, attempts, now_ms + wait_ms)
        return refusal

    def forget_missing(self, compacted: Container[TopicPartition]) -> None:
        """Forgets what is no longer there, or no longer compacted (``maintainUncleanablePartitions``)."""
        for key in [key for key in self.uncleanable if key not in compacted]:
            del self.uncleanable[key]
