"""Appends to the end of one log, and rolls its segments.

Owns: the append or truncation in progress, if any. Never does: waiting for the disk, choosing a thread. Invariants: an
append that raises leaves the log unchanged. While another thread writes the bytes of an append, or cuts the files of a
truncation, nothing else moves the log's end: every other operation that would do so calls `finish_pending` first, and
fails if a truncation can't be finished.
Source: Kafka's UnifiedLog.append and roll.

A small append is one call. A large append takes three, so that another thread can do the write, which costs most
(1 MiB: plan and CRC 0.1 ms, write 0.4 to 1.2 ms):

    pending = appender.begin(...)       validates, assigns offsets, rolls; AppendInfo for a duplicate batch
    pending.write()                     on any thread
    appender.complete(pending)          the log has grown; or StorageError, and the log is unchanged
"""

from pathlib import Path
from threading import Lock

from odradek.protocol.records.batch import CONTROL_FLAG, NO_TIMESTAMP, BatchHeader

from ..errors import RecordListTooLargeError, StorageError
from ..files.descriptors import Descriptor
from ..files.disk_errors import lacks_descriptors
from ..files.files import Buffer, Files
from ..segment.offset_index import MAX_RELATIVE_OFFSET
from ..segment.segment import Segment
from .append_plan import AppendInfo, AppendOrigin, AppendPlan, check_assigned, plan_append
from .log_files import LogFiles
from .log_health import LogHealth
from .log_offsets import LogOffsets
from .log_producers import LogProducers
from .pending_cut import PendingCut
from .record_inspection import InspectedBatch


class PendingAppend:
    """A batch that is being written to the end of a segment. `result`: the outcome, None until it is known."""

    __slots__ = (
        "_files",
        "_is_written",
        "_lock",
        "descriptor",
        "error",
        "first_offset",
        "leader_epoch",
        "plan",
        "position",
        "result",
        "segment",
    )

    def __init__(self, files: Files, plan: AppendPlan, first_offset: int, leader_epoch: int, segment: Segment) -> None:
        """Prepares the end of the segment for the write. Raises OSError."""
        descriptor, self.position = segment.begin_write()
        self.descriptor: Descriptor = descriptor.hold()
        self.plan = plan
        self.first_offset = first_offset
        self.leader_epoch = leader_epoch
        self.segment = segment
        self.error: OSError | None = None
        self.result: AppendInfo | StorageError | None = None
        self._files = files
        self._lock = Lock()
        self._is_written = False

    def write(self) -> None:
        """Writes the bytes once. A call during another thread's write waits for that write."""
        with self._lock:
            if not self._is_written:
                try:
                    self._files.write_all(self.descriptor.fd, self.plan.parts, self.position)
                except OSError as error:
                    self.error = error
                self._is_written = True


class LogAppender:
    """The writing end of one log. It does not refer to the `Log`, so a deleted log is freed at once, without the GC."""

    __slots__ = ("_files", "_health", "_offsets", "_pending", "_producers")

    def __init__(self, offsets: LogOffsets, files: LogFiles, producers: LogProducers, health: LogHealth) -> None:
        """`health` holds the append gate, which closes while the disk is full."""
        self._offsets = offsets
        self._files = files
        self._producers = producers
        self._health = health
        self._pending: PendingAppend | PendingCut | None = None

    def append_as_leader(
        self,
        buffer: Buffer,
        leader_epoch: int,
        now_ms: int,
        *,
        origin: AppendOrigin = AppendOrigin.CLIENT,
        header: BatchHeader | None = None,
        inspected: InspectedBatch | None = None,
        transaction_version: int = 0,
    ) -> AppendInfo:
        """Validates the one batch in `buffer`, assigns the next offsets to it and appends it.

        The buffer is neither changed nor kept. A duplicate from an idempotent producer is not appended: its earlier
        offsets are returned. `header`: the header of the batch if the caller has read it; the buffer must then hold
        nothing else. `inspected`: the result of `inspect_client_batch`. `transaction_version`: for a transaction
        marker, see `ProducerStateManager.check_marker`. Raises KafkaError with the code for the producer (see
        `plan_append`, `ProducerStateManager.check`) or KAFKA_STORAGE_ERROR; raises InspectionNeededError.
        """
        if self._pending is not None:
            self.finish_pending()
        self._health.check_appendable(origin)
        first_offset = self._offsets.log_end_offset
        config = self._files.config
        plan = plan_append(buffer, first_offset, leader_epoch, now_ms, config, origin, header, inspected)
        header, size, parts, _, _ = plan
        if header.producer_id >= 0 or header.attributes & CONTROL_FLAG:
            duplicate = self._duplicate(plan, first_offset, origin, transaction_version)
            if duplicate is not None:
                return duplicate
        try:
            last_offset = first_offset + header.last_offset_delta
            segment = self._segment_for(size, header.max_timestamp, first_offset, last_offset, now_ms)
            position = segment.write(parts, size)
        except OSError as error:
            raise self._health.storage_error(error) from error
        return self._apply_append(plan, first_offset, leader_epoch, segment, position)

    def begin(
        self, buffer: Buffer, leader_epoch: int, now_ms: int, inspected: InspectedBatch | None = None
    ) -> PendingAppend | AppendInfo:
        """Begins a client's append whose bytes another thread may write.

        `buffer` must not change until the append is completed. Returns AppendInfo for a duplicate batch. Raises as
        `append_as_leader`.
        """
        self.finish_pending()
        self._health.check_appendable(AppendOrigin.CLIENT)
        first_offset = self._offsets.log_end_offset
        config = self._files.config
        plan = plan_append(buffer, first_offset, leader_epoch, now_ms, config, AppendOrigin.CLIENT, None, inspected)
        header = plan.header
        if header.producer_id >= 0 or header.attributes & CONTROL_FLAG:
            duplicate = self._duplicate(plan, first_offset, AppendOrigin.CLIENT)
            if duplicate is not None:
                return duplicate
        try:
            last_offset = first_offset + header.last_offset_delta
            segment = self._segment_for(plan.size, header.max_timestamp, first_offset, last_offset, now_ms)
            pending = self._pending = PendingAppend(self._files.files, plan, first_offset, leader_epoch, segment)
        except OSError as error:
            raise self._health.storage_error(error) from error
        return pending

    def begin_cut(self, pending: PendingCut) -> None:
        """Notes a truncation that is done in memory. Nothing is appended until it is done on the disk, too."""
        self._pending = pending

    def complete(self, pending: PendingAppend) -> AppendInfo:
        """Completes an append after its write, or waits for it.

        Raises StorageError if the write failed; the log is unchanged then.
        """
        if pending is self._pending:
            self.finish_pending()
        result = pending.result
        assert result is not None, "an append of another log"
        if isinstance(result, StorageError):
            raise result
        return result

    def finish_cut(self) -> None:
        """Finishes a truncation in progress, if any. The producer state then matches the truncated log. Raises as
        `finish_pending`.
        """
        if isinstance(self._pending, PendingCut):
            self.finish_pending()

    def finish_pending(self) -> None:
        """Finishes the append or the truncation in progress, if any. Waits for its write.

        Raises StorageError if a truncation can't be finished for lack of a descriptor; the next call tries again.
        """
        pending = self._pending
        if pending is None:
            return
        if isinstance(pending, PendingCut):
            self._finish_cut(pending)
            return
        pending.write()
        self._pending = None
        pending.descriptor.release()
        if pending.error is not None:
            pending.segment.file.fail_write()
            pending.result = self._health.storage_error(pending.error)
        elif self._health.failure is not None:
            pending.result = self._health.storage_error(self._health.failure)
        else:
            pending.segment.file.end_write(pending.plan.size)
            pending.result = self._apply_append(
                pending.plan, pending.first_offset, pending.leader_epoch, pending.segment, pending.position
            )

    def _finish_cut(self, pending: PendingCut) -> None:
        error = pending.finish()
        if error is not None and lacks_descriptors(error):
            raise self._health.storage_error(error) from error
        self._pending = None
        pending.close()
        if error is not None:
            self._health.failure = error
            pending.failure = self._health.storage_error(error)

    def abandon_pending(self) -> None:
        """Finishes the append in progress, if any. The log is closed, so other steps of a truncation are dropped."""
        if isinstance(self._pending, PendingCut):
            self._pending.close()
            self._pending = None
        else:
            self.finish_pending()

    def move_to(self, directory: Path) -> None:
        """Follows a rename of the partition's directory."""
        if isinstance(self._pending, PendingCut):
            self._pending.move_to(directory)

    def append_as_follower(self, buffer: Buffer, now_ms: int) -> AppendInfo:
        """Appends batches that carry their final offsets and leader epochs: all of them, or none.

        Used for replicas and for the metadata log. Gaps in the offsets are kept, and sequence numbers are not checked.
        Raises KafkaError: as `check_assigned`, RECORD_LIST_TOO_LARGE or KAFKA_STORAGE_ERROR.
        """
        if self._pending is not None:
            self.finish_pending()
        self._health.check_usable()
        offsets = self._offsets
        batches = check_assigned(buffer, offsets.log_end_offset)
        first, last = batches[0][1], batches[-1][1]
        size = batches[-1][0] + last.size_in_bytes
        limit = self._files.config.segment_bytes
        if size > limit:
            raise RecordListTooLargeError(f"an append of {size} bytes exceeds segment.bytes={limit}")
        max_timestamp = max(header.max_timestamp for _, header in batches)
        view = memoryview(buffer)
        try:
            segment = self._segment_for(size, max_timestamp, _roll_offset(first), last.last_offset, now_ms)
            start = segment.write([view[:size]], size)
        except OSError as error:
            raise self._health.storage_error(error) from error
        for position, header in batches:
            segment.indexes.note_appended(
                header.base_offset, header.last_offset, header.max_timestamp, start + position, header.size_in_bytes
            )
            if header.partition_leader_epoch > offsets.leader_epochs.latest:
                offsets.leader_epochs.assign(header.partition_leader_epoch, header.base_offset)
            if header.has_producer_id:
                batch = view[position : position + header.size_in_bytes]
                self._producers.apply_append(segment, header, header.base_offset, batch)
        offsets.advance(last.next_offset)
        start_offset = offsets.log_start_offset
        return AppendInfo(first.base_offset, last.last_offset, max_timestamp, NO_TIMESTAMP, start_offset, size, False)

    def roll(self, now_ms: int, base_offset: int) -> Segment:
        """Starts a new segment at `base_offset` or the log's end, the later one. Raises OSError, StorageError.

        Returns the active segment if it starts there already.
        """
        self.finish_pending()
        offsets = self._offsets
        active = self._files.segments.active
        base_offset = max(base_offset, offsets.log_end_offset)
        if base_offset == active.base_offset:
            return active
        offsets.producer_state.map_end_offset = base_offset
        self.take_snapshot()
        offsets.wants_sync = True  # as in Kafka, a roll schedules a flush of the segments before it
        return self._files.roll(base_offset, now_ms)

    def take_snapshot(self) -> None:
        """Writes a snapshot of the producers if they have changed; the next flush syncs it. Raises OSError."""
        path = self._producers.take_snapshot()
        if path is not None:
            self._files.note_unsynced(path)

    def _segment_for(self, size: int, max_timestamp: int, first_offset: int, last_offset: int, now_ms: int) -> Segment:
        """The segment to append to: a new one if the active segment is full or too old. Raises OSError."""
        if self._files.needs_roll(size, max_timestamp, last_offset, now_ms):
            return self.roll(now_ms, first_offset)
        return self._files.segments.active

    def _duplicate(
        self, plan: AppendPlan, first_offset: int, origin: AppendOrigin, transaction_version: int = 0
    ) -> AppendInfo | None:
        """The earlier append of the same batch, None for a new batch. Raises as `ProducerStateManager.check`."""
        duplicate = self._producers.check(plan, first_offset, origin, transaction_version)
        if duplicate is None:
            return None
        first, last, time = duplicate.first_offset, duplicate.last_offset, duplicate.timestamp
        return AppendInfo(first, last, time, time, self._offsets.log_start_offset, plan.size, True)

    def _apply_append(
        self, plan: AppendPlan, first_offset: int, leader_epoch: int, segment: Segment, position: int
    ) -> AppendInfo:
        """Updates indexes, epochs, producers and offsets for a batch that the segment holds. Cannot fail."""
        header, size, _, append_time, batch = plan
        max_timestamp = header.max_timestamp
        offsets = self._offsets
        last_offset = first_offset + header.last_offset_delta
        segment.indexes.note_appended(first_offset, last_offset, max_timestamp, position, size)
        if leader_epoch != offsets.leader_epochs.latest and leader_epoch >= 0:
            offsets.leader_epochs.assign(leader_epoch, first_offset)
        if header.producer_id >= 0:
            self._producers.apply_append(segment, header, first_offset, batch)
        offsets.advance(last_offset + 1)
        fields = (first_offset, last_offset, max_timestamp, append_time, offsets.log_start_offset, size, False)
        return tuple.__new__(AppendInfo, fields)  # a call of the class costs 0.3 us more


def _roll_offset(first: BatchHeader) -> int:
    """The base offset of a new segment that begins with this batch, if that is not before the log's end.

    The first offset of a wrapper (message format 0 or 1) is unknown: only that it is less than 2^31 before the last
    one. Source: UnifiedLog.maybeRoll.
    """
    return first.last_offset - MAX_RELATIVE_OFFSET if first.is_wrapper else first.base_offset
