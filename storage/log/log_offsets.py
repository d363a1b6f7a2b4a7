"""The offsets of one log: between which it is read, up to where consumers see it, and how far it is on the disk.

Pure: numbers, leader epochs and producer state in memory. Never does: I/O. Invariants: log start offset <= last stable
offset <= high watermark <= log end offset; recovery point <= synced offset <= log end offset. Source: Kafka's
UnifiedLog.
"""

from ..errors import OffsetOutOfRangeError
from ..producers.producer_state import ProducerState
from .flush_policy import FlushPolicy
from .leader_epochs import LeaderEpochs


class LogOffsets:
    """What `Log` is without its files.

    The high watermark is the log end offset until `set_high_watermark` is called for the first time, but for what the
    configuration's `FlushPolicy` keeps from consumers until it is synced.
    """

    def __init__(
        self,
        leader_epochs: LeaderEpochs,
        producer_state: ProducerState,
        flush_policy: FlushPolicy,
        *,
        log_start_offset: int,
        log_end_offset: int,
        recovery_point: int,
    ) -> None:
        """As a log begins that was just opened: what it has behind the recovery point is not synced."""
        self.leader_epochs = leader_epochs
        self.producer_state = producer_state
        self.flush_policy = flush_policy
        self.log_start_offset = log_start_offset
        self.log_end_offset = log_end_offset
        self.recovery_point = recovery_point
        self.synced_offset = recovery_point
        """Up to where the batches are on the disk; the recovery point, up to where their indexes are too, is lower."""
        self._high_watermark: int | None = None
        self._holds_back = False
        producer_state.forget_unreplicated(log_end_offset)

    @property
    def high_watermark(self) -> int:
        """Up to where consumers read."""
        return self.log_end_offset if self._high_watermark is None else self._high_watermark

    @property
    def last_stable_offset(self) -> int:
        """Up to where readers of committed data read: no transaction below is undecided."""
        unstable = self.producer_state.first_unstable_offset
        high_watermark = self.high_watermark
        if unstable is None or unstable >= high_watermark:
            return high_watermark
        return max(unstable, self.log_start_offset)

    def set_high_watermark(self, offset: int) -> None:
        """Moves the high watermark, within the log."""
        self._high_watermark = max(self.log_start_offset, min(offset, self.log_end_offset))
        self.producer_state.forget_unreplicated(self._high_watermark)

    @property
    def latest_epoch(self) -> int:
        """The latest leader epoch in the log, -1 without any."""
        return self.leader_epochs.latest

    def epoch_of(self, offset: int) -> int:
        """The leader epoch of an offset, -1 when unknown."""
        return self.leader_epochs.epoch_of(offset)

    def epoch_end_offset(self, epoch: int) -> tuple[int, int] | None:
        """(epoch, end offset) as OffsetForLeaderEpoch answers (`LeaderEpochs.end_offset_for`)."""
        return self.leader_epochs.end_offset_for(epoch, self.log_end_offset)

    @property
    def unflushed_records(self) -> int:
        """How many offsets lie behind the recovery point."""
        return self.log_end_offset - self.recovery_point

    def advance(self, log_end_offset: int) -> None:
        """The log is longer now; what the flush policy hides from consumers stays above the high watermark."""
        self.producer_state.map_end_offset = log_end_offset
        if self._high_watermark is None:
            if log_end_offset - self.synced_offset >= self.flush_policy.unseen_from:
                self._high_watermark = self.log_end_offset
                self._holds_back = True
            else:
                self.producer_state.forget_unreplicated(log_end_offset)
        self.log_end_offset = log_end_offset

    def increment_log_start_offset(self, offset: int) -> bool:
        """Moves the log's start up (DeleteRecords); whole segments below it go with `delete_old_segments`.

        False when the start is there or further already. Raises OFFSET_OUT_OF_RANGE beyond the high watermark.
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
        """All below `offset` is on the disk; consumers see what they were to see only then."""
        offset = min(offset, self.log_end_offset)
        self.synced_offset = max(self.synced_offset, offset)
        if with_indexes:
            self.recovery_point = max(self.recovery_point, offset)
        if self._holds_back:
            self._release_high_watermark()

    def set_flush_policy(self, flush_policy: FlushPolicy) -> None:
        """Follows another configuration. Records that it does not hide become visible at once."""
        self.flush_policy = flush_policy
        if self._holds_back:
            self._release_high_watermark()

    def cut_offsets(self, offset: int) -> None:
        """The log ends at `offset` now."""
        self.log_end_offset = offset
        self.log_start_offset = min(self.log_start_offset, offset)
        self.recovery_point = min(self.recovery_point, offset)
        self.synced_offset = min(self.synced_offset, offset)
        if self._high_watermark is not None:
            self.set_high_watermark(self._high_watermark)
        if self._holds_back:
            self._release_high_watermark()

    def _release_high_watermark(self) -> None:
        """Lets consumers see what is synced, and everything if the flush policy allows it."""
        if self.log_end_offset - self.synced_offset < self.flush_policy.unseen_from:
            self._high_watermark = None
            self._holds_back = False
            self.producer_state.forget_unreplicated(self.log_end_offset)
        else:
            self.set_high_watermark(max(self.synced_offset, self.high_watermark))
