"""Appends to one log: validate, number, write, take in.

Owns: the append that is under way, if any. Never does: waiting for the disk, choosing a thread. Invariants: an append
that raises has left the log as it was; while the bytes of one are written on another thread nothing else changes the
log's end: whoever must change it calls `finish_pending` first. Source: Kafka's UnifiedLog.append.

A small append is one call. A large one is three, so that the write, by far its dearest part, is not the caller's
(1 MiB: plan and CRC 0.1 ms, write 0.4 to 1.2 ms):

    pending = log.begin_append(...)     validates, numbers, rolls; or a repeated batch's AppendInfo
    pending.write()                     on any thread
    log.complete_append(pending)        the log is longer, or StorageError and it is as it was
"""

from threading import Lock
from typing import TYPE_CHECKING

from ...protocol.records.batch import NO_TIMESTAMP, BatchHeader
from ..errors import RecordListTooLargeError, StorageError
from ..files.descriptors import Descriptor
from ..files.files import Buffer, Files
from ..segment.segment import Segment
from .append_plan import AppendInfo, AppendOrigin, AppendPlan, check_assigned, plan_append
from .log_producers import LogProducers
from .record_inspection import InspectedBatch

if TYPE_CHECKING:
    from .log import Log


class PendingAppend:
    """A batch on its way to the end of a segment. `result`: what became of it, once the log knows."""

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
        """Makes the segment's end ready. Raises OSError."""
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
        """Writes the bytes, once, however often it is called: who calls while another thread writes waits for it."""
        with self._lock:
            if not self._is_written:
                try:
                    self._files.write_all(self.descriptor.fd, self.plan.parts, self.position)
                except OSError as error:
                    self.error = error
                self._is_written = True


class LogAppender:
    """What `Log` does with an append.

    Each call gets the log: so log and appender form no cycle, and a deleted log is freed without the collector.
    """

    __slots__ = ("_files", "_pending", "_producers")

    def __init__(self, producers: LogProducers, files: Files) -> None:
        self._producers = producers
        self._files = files
        self._pending: PendingAppend | None = None

    def append(
        self,
        log: "Log",
        buffer: Buffer,
        leader_epoch: int,
        now_ms: int,
        origin: AppendOrigin,
        header: BatchHeader | None,
        inspected: InspectedBatch | None,
    ) -> AppendInfo:
        """See `Log.append_as_leader`."""
        if self._pending is not None:
            self.finish_pending(log)
        log.check_appendable(origin)
        first_offset = log.log_end_offset
        plan = plan_append(buffer, first_offset, leader_epoch, now_ms, log.config, origin, header, inspected)
        header = plan.header
        if header.producer_id >= 0 or header.is_control:
            repeated = self._repeated(log, plan, first_offset, origin)
            if repeated is not None:
                return repeated
        try:
            last_offset = first_offset + header.last_offset_delta
            segment = log.segment_for(plan.size, header.max_timestamp, first_offset, last_offset, now_ms)
            position = segment.write(plan.parts, plan.size)
        except OSError as error:
            raise log.storage_error(error) from error
        return self._apply_append(log, plan, first_offset, leader_epoch, segment, position)

    def begin(
        self, log: "Log", buffer: Buffer, leader_epoch: int, now_ms: int, inspected: InspectedBatch | None
    ) -> PendingAppend | AppendInfo:
        """See `Log.begin_append`."""
        self.finish_pending(log)
        log.check_appendable(AppendOrigin.CLIENT)
        first_offset = log.log_end_offset
        plan = plan_append(buffer, first_offset, leader_epoch, now_ms, log.config, AppendOrigin.CLIENT, None, inspected)
        header = plan.header
        if header.producer_id >= 0 or header.is_control:
            repeated = self._repeated(log, plan, first_offset, AppendOrigin.CLIENT)
            if repeated is not None:
                return repeated
        try:
            last_offset = first_offset + header.last_offset_delta
            segment = log.segment_for(plan.size, header.max_timestamp, first_offset, last_offset, now_ms)
            self._pending = PendingAppend(self._files, plan, first_offset, leader_epoch, segment)
        except OSError as error:
            raise log.storage_error(error) from error
        return self._pending

    def complete(self, log: "Log", pending: PendingAppend) -> AppendInfo:
        """See `Log.complete_append`."""
        if pending is self._pending:
            self.finish_pending(log)
        result = pending.result
        assert result is not None, "an append of another log"
        if isinstance(result, StorageError):
            raise result
        return result

    def finish_pending(self, log: "Log") -> None:
        """Ends an append that is under way, if any: waits for its write, which is one to the page cache."""
        pending = self._pending
        if pending is None:
            return
        pending.write()
        self._pending = None
        pending.descriptor.release()
        if pending.error is not None:
            pending.segment.fail_write()
            pending.result = log.storage_error(pending.error)
        elif log.failure is not None:
            pending.result = log.storage_error(log.failure)
        else:
            pending.segment.end_write(pending.plan.size)
            pending.result = self._apply_append(
                log, pending.plan, pending.first_offset, pending.leader_epoch, pending.segment, pending.position
            )

    def _repeated(self, log: "Log", plan: AppendPlan, first_offset: int, origin: AppendOrigin) -> AppendInfo | None:
        """What became of the batch that this one repeats, None for a new one. Raises `ProducerState.check`'s."""
        duplicate = self._producers.check(plan, first_offset, origin)
        if duplicate is None:
            return None
        first, last, time = duplicate.first_offset, duplicate.last_offset, duplicate.timestamp
        return AppendInfo(first, last, time, time, log.log_start_offset, plan.size, True)

    def _apply_append(
        self, log: "Log", plan: AppendPlan, first_offset: int, leader_epoch: int, segment: Segment, position: int
    ) -> AppendInfo:
        """The batch is in the segment's file: nothing can fail any more."""
        header = plan.header
        last_offset = first_offset + header.last_offset_delta
        segment.note_appended(header, first_offset, position, plan.size)
        if leader_epoch != log.leader_epochs.latest and leader_epoch >= 0:
            log.leader_epochs.assign(leader_epoch, first_offset)
        if header.producer_id >= 0:
            self._producers.apply_append(segment, header, first_offset, plan.batch)
        log.advance(last_offset + 1)
        start, time = log.log_start_offset, header.max_timestamp
        return AppendInfo(first_offset, last_offset, time, plan.log_append_time, start, plan.size, False)

    def append_as_follower(self, log: "Log", buffer: Buffer, now_ms: int) -> AppendInfo:
        """See `Log.append_as_follower`."""
        self.finish_pending(log)
        log.check_usable()
        batches = check_assigned(buffer, log.log_end_offset)
        first, last = batches[0][1], batches[-1][1]
        size = batches[-1][0] + last.size_in_bytes
        if size > log.config.segment_bytes:
            raise RecordListTooLargeError(f"{size} bytes in append, more than a segment's {log.config.segment_bytes}")
        max_timestamp = max(header.max_timestamp for _, header in batches)
        view = memoryview(buffer)
        try:
            segment = log.segment_for(size, max_timestamp, first.base_offset, last.last_offset, now_ms)
            start = segment.write([view[:size]], size)
        except OSError as error:
            raise log.storage_error(error) from error
        for position, header in batches:
            segment.note_appended(header, header.base_offset, start + position, header.size_in_bytes)
            if header.partition_leader_epoch > log.leader_epochs.latest:
                log.leader_epochs.assign(header.partition_leader_epoch, header.base_offset)
            if header.has_producer_id:
                batch = view[position : position + header.size_in_bytes]
                self._producers.apply_append(segment, header, header.base_offset, batch)
        log.advance(last.next_offset)
        start_offset = log.log_start_offset
        return AppendInfo(first.base_offset, last.last_offset, max_timestamp, NO_TIMESTAMP, start_offset, size, False)
