"""How much of a log must be synced before an append is answered, and before a consumer sees it.

Owns: the rule for one configuration. Never does: syncing, waiting. Invariant: an answered record is visible, and a
crash loses at most flush.messages visible records. Source: Kafka's UnifiedLog.append, which flushes before it returns
once flush.messages offsets are unsynced; `odradek.acks.all.fsync` is our own.

    setting                      unsynced offsets allowed when answered             allowed when visible to consumers
    flush.messages=N             fewer than N (any acks)                            fewer than N
    odradek.acks.all.fsync       acks=all: none; other acks: as flush.messages      none
"""

from odradek.protocol.records.varint import MAX_INT64

from .log_config import LogConfig


class FlushPolicy:
    """The rule for one configuration.

    `unseen_from`: consumers do not see the log's end while this many offsets before it, or more, are unsynced.
    `asks_for_syncs`: whether an append may require a sync, now or after `flush_ms`; False for Kafka's defaults.
    """

    __slots__ = ("_flush_messages", "asks_for_syncs", "flush_ms", "unseen_from")

    def __init__(self, config: LogConfig) -> None:
        self._flush_messages = config.flush_messages
        self.unseen_from = 1 if config.acks_all_fsync else config.flush_messages
        self.flush_ms = config.flush_ms
        self.asks_for_syncs = self.unseen_from != MAX_INT64 or config.flush_ms != MAX_INT64

    def offset_to_answer(self, end_offset: int, *, acks_all: bool) -> int:
        """The end offset up to which the log must be synced before an append that ends at `end_offset` is answered."""
        return end_offset - (self.unseen_from if acks_all else self._flush_messages) + 1

    def offset_to_see(self, end_offset: int) -> int:
        """The end offset up to which the log must be synced before consumers see the records before `end_offset`."""
        return end_offset - self.unseen_from + 1
