"""What of a log must be on the disk before an append is answered, and before a consumer sees it.

Owns: the rule. Never does: syncing, waiting. Invariant: what is answered under the promise can be seen, and what can be
seen is lost only as far as flush.messages allows. Source: Kafka's UnifiedLog.append, which flushes before it returns
once flush.messages offsets are not synced; `odradek.acks.all.fsync` is our own.

    setting                      answered when so many of its last offsets are unsynced     seen by consumers
    flush.messages=N             fewer than N (any acks)                                    the same
    odradek.acks.all.fsync       acks=all: none; otherwise as flush.messages says           none
"""

from .log_config import MAX_INT64, LogConfig


class SyncPromise:
    """The rule for one configuration. `unseen_from`: so many unsynced offsets are not shown to consumers.

    `asks_for_syncs`: whether appends bring about syncs at all (flush.ms does too); False for Kafka's defaults.
    """

    __slots__ = ("_flush_messages", "asks_for_syncs", "flush_ms", "unseen_from")

    def __init__(self, config: LogConfig) -> None:
        self._flush_messages = config.flush_messages
        self.unseen_from = 1 if config.acks_all_fsync else config.flush_messages
        self.flush_ms = config.flush_ms
        self.asks_for_syncs = self.unseen_from != MAX_INT64 or config.flush_ms != MAX_INT64

    def offset_to_answer(self, end_offset: int, *, acks_all: bool) -> int:
        """How far the log must be synced before an append that ends at `end_offset` (exclusive) is answered."""
        return end_offset - (self.unseen_from if acks_all else self._flush_messages) + 1

    def offset_to_see(self, end_offset: int) -> int:
        """How far the log must be synced before consumers see what ends at `end_offset` (exclusive)."""
        return end_offset - self.unseen_from + 1
