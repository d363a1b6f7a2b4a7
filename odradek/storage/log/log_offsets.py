"""The offsets of one log: its start and end, how far consumers see it, and how far it is synced.

Pure: numbers, leader epochs and producer state in memory. Never does: I/O. Invariants: log start offset <= last stable
offset <= high watermark <= log end offset; recovery point <= synced offset <= log end offset. Source: Kafka's
UnifiedLog.
"""

from ..errors import OffsetOutOfRangeError
from ..producers.producer_state import ProducerStateManager
from .leader_epochs import LeaderEpochs
from .log_config import FlushPolicy


class LogOffsets:
    """The offsets of a log, without its files.

    Until the first call of `set_high_watermark` the high watermark is the log end offset, minus the records that
    the `FlushPolicy` hides from consumers until they are synced.
    """

    def __init__(
        self,
        leader_epochs: LeaderEpochs,
        producer_state: ProducerStateManager,
        flush_policy: FlushPolicy,
        *,
        log_start_offset: int,
        log_end_offset: int,
        recovery_point: int,
    ) -> None:
        """For a log that was just opened: nothing after the recovery point counts as synced."""
        self.leader_epochs = leader_epochs
        self.producer_state = producer_state
        self.flush_policy = flush_policy
        self.log_start_offset = log_start_offset
        self.log_end_offset = log_end_offset
        self.recovery_point = recovery_point
        self.synced_offset = recovery_point
        """Batches below this offset are on the disk. The recovery point may be lower: below the recovery point, the
        indexes are on the disk, too.
        """
        self.wants_sync = flush_policy.asks_for_syncs
        """Whether `GroupCommit` must be called after an append: the flush policy asks for it, or a segment rolled."""
        self.truncations = 0
        """How often the log was truncated. `ReplicaMove` compares it to see whether to truncate its copy, too."""
        self._high_watermark: int | None = None
        self._holds_back = False
        producer_state.forget_unreplicated(log_end_offset)

    @property
    def high_watermark(self) -> int:
        """Consumers read below this offset."""
        return self.log_end_offset if self._high_watermark is None else self._high_watermark

    @property
    def has_high_watermark(self) -> bool:
        """Whether `set_high_watermark` moves the high watermark; otherwise it moves with the log's end."""
        return self._high_watermark is not None and not self._holds_back

    @property
    def last_stable_offset(self) -> int:
        """read_committed consumers read below this offset: every transaction below is completed."""
        unstable = self.producer_state.first_unstable_offset
        high_watermark = self.high_watermark
        if unstable is None or unstable >= high_watermark:
            return high_watermark
        return max(unstable, self.log_start_offset)

    def set_high_watermark(self, offset: int) -> None:
        """Moves the high watermark, limited to the offsets of the log. From now on only this moves it."""
        self._holds_back = False
        self._move_high_watermark(offset)

    def _move_high_watermark(self, offset: int) -> None:
        self._high_watermark = max(self.log_start_offset, min(offset, self.log_end_offset))
        self.producer_state.forget_unreplicated(self._high_watermark)

    def follow_end(self) -> None:
        """Makes the high watermark move with the log's end, as before the first `set_high_watermark`.

        Called when the partition has no followers any more.
        """
        self._high_watermark = None
        self._holds_back = False
        self.advance(self.log_end_offset)

    @property
    def latest_epoch(self) -> int:
        """The latest leader epoch in the log; -1 if there is none."""
        return self.leader_epochs.latest

    def epoch_of(self, offset: int) -> int:
        """The leader epoch of an offset; -1 if unknown."""
        return self.leader_epochs.epoch_of(offset)

    def epoch_end_offset(self, epoch: int) -> tuple[int, int] | None:
        """The (epoch, end offset) that OffsetForLeaderEpoch returns (`LeaderEpochs.end_offset_for`)."""
        return self.leader_epochs.end_offset_for(epoch, self.log_end_offset)

    @property
    def unflushed_records(self) -> int:
        """The number of offsets from the recovery point to the log end."""
        return self.log_end_offset - self.recovery_point

    def advance(self, log_end_offset: int) -> None:
        """Moves the log end offset up after an append, and the high watermark if the flush policy allows it."""
        self.producer_state.map_end_offset = log_end_offset
        if self._high_watermark is None:
            if log_end_offset - self.synced_offset >= self.flush_policy.unseen_from:
                self._high_watermark = self.log_end_offset
                self._holds_back = True
            else:
                self.producer_state.forget_unreplicated(log_end_offset)
        self.log_end_offset = log_end_offset

    def increment_log_start_offset(self, offset: int) -> bool:
        """Moves the log start offset up (DeleteRecords). `Log.delete_old_segments` removes whole segments below it.

        Returns False if the start is at `offset` or beyond. Raises OFFSET_OUT_OF_RANGE above the high watermark.
        """
        if offset > self.high_watermark:
            raise OffsetOutOfRangeError(
                f"Cannot increment the log start offset to {offset} since it is larger than the high watermark "
                f"{self.high_watermark}"
            )
        if offset <= self.log_start_offset:
            return False
        self.log_start_offset = offset
        self.leader_epochs.truncate_from_start(offset)
        state = self.producer_state
        state.forget_unreplicated(offset)
        state.map_end_offset = max(state.map_end_offset, offset)
        return True

    def note_synced(self, offset: int, *, with_indexes: bool) -> None:
        """Notes that everything below `offset` is on the disk; consumers now see the records that were hidden until
        then.
        """
        offset = min(offset, self.log_end_offset)
        self.synced_offset = max(self.synced_offset, offset)
        if with_indexes:
            self.recovery_point = max(self.recovery_point, offset)
        if self._holds_back:
            self._release_high_watermark()

    def set_flush_policy(self, flush_policy: FlushPolicy) -> None:
        """Sets the policy of a changed configuration. Records that it no longer hides become visible at once."""
        self.flush_policy = flush_policy
        if self._holds_back:
            self._release_high_watermark()

    def cut_offsets(self, offset: int) -> None:
        """Lowers the offsets after a truncation to `offset`."""
        self.truncations += 1
        self.log_end_offset = offset
        self.log_start_offset = min(self.log_start_offset, offset)
        self.recovery_point = min(self.recovery_point, offset)
        self.synced_offset = min(self.synced_offset, offset)
        if self._high_watermark is not None:
            self._move_high_watermark(self._high_watermark)
        if self._holds_back:
            self._release_high_watermark()

    def _release_high_watermark(self) -> None:
        """Shows consumers the synced records, and all records if the flush policy allows it."""
        if self.log_end_offset - self.synced_offset < self.flush_policy.unseen_from:
            self._high_watermark = None
            self._holds_back = False
            self.producer_state.forget_unreplicated(self.log_end_offset)
        else:
            self._move_high_watermark(max(self.synced_offset, self.high_watermark))
