"""Removes records from a log: truncation, retention, and the replacement of segments by a cleaned one.

Owns: nothing of its own. Never does: choosing what retention removes (log_retention.py does) or what a cleaning keeps.
Invariants: a truncation or replacement that fails in the middle makes the log unusable until it is opened again. If the
process has no descriptor left, a truncation has not begun, or its rest is done by the next operation on the log
(pending_cut.py). Source: Kafka's UnifiedLog.truncateTo, truncateFullyAndStartAt, deleteOldSegments and replaceSegments.
"""

import logging
from collections.abc import Callable
from functools import partial

from odradek.protocol.common.steps import Steps

from ..errors import StorageError
from ..files.disk_errors import lacks_descriptors
from ..segment.segment import Segment
from .log_appender import LogAppender
from .log_files import LogFiles
from .log_flusher import LogFlusher
from .log_health import LogHealth
from .log_offsets import LogOffsets
from .log_producers import LogProducers
from .log_retention import oldest_breached
from .pending_cut import PendingCut

logger = logging.getLogger(__name__)


class LogRemoval:
    """The operations that remove records from one log. Made for each operation, since it would take 100 bytes a
    partition.
    """

    __slots__ = ("_appender", "_files", "_flusher", "_health", "_offsets", "_producers")

    def __init__(
        self,
        offsets: LogOffsets,
        files: LogFiles,
        producers: LogProducers,
        health: LogHealth,
        appender: LogAppender,
        flusher: LogFlusher,
    ) -> None:
        """`appender` finishes the append in progress and rolls segments; `flusher` has the time of the last flush."""
        self._offsets = offsets
        self._files = files
        self._producers = producers
        self._health = health
        self._appender = appender
        self._flusher = flusher

    def truncate_to(self, offset: int) -> bool:
        """Removes everything from `offset` on. Returns False if there is nothing to remove.

        Durable on return. If it raises StorageError, the log is unusable, as after a failed sync, or no descriptor was
        left (`lacks_descriptors`): then the caller may repeat it.
        """
        pending = self.begin_truncation(offset)
        if pending is None:
            return False
        pending.write()
        self.complete_truncation(pending, offset)
        return True

    def begin_truncation(self, offset: int) -> PendingCut | None:
        """The first step of `truncate_to`: the log ends at `offset` from now on. None if there is nothing to remove.

        The result has the steps that are left: the waits for the disk, and the rebuild of the producer state. Raises
        StorageError as `truncate_to`.
        """
        self._health.check_usable()
        self._appender.finish_pending()
        if offset >= self._offsets.log_end_offset:
            self._offsets.leader_epochs.truncate_from_end(offset)
            return None
        offset = max(offset, self._files.segments.first.base_offset)
        try:
            pending = self._files.begin_cut(offset)
        except OSError as error:
            raise self._not_begun(error) from error
        self._offsets.leader_epochs.truncate_from_end(offset)
        pending.rebuild = self._clamp_to(offset)
        self._appender.begin_cut(pending)
        return pending

    def complete_truncation(self, pending: PendingCut, offset: int) -> None:
        """The last step of a truncation to `offset`, after the write. Raises StorageError as `truncate_to`."""
        self._appender.finish_pending()
        if pending.failure is not None:
            raise pending.failure
        if offset < self._files.segments.first.base_offset:
            self.truncate_fully_and_start_at(offset)  # the empty first segment begins after `offset`

    def finish_truncation(self) -> None:
        """Completes a truncation in progress, if any: waits for the disk and rebuilds the producer state."""
        self._appender.finish_cut()

    def truncate_fully_and_start_at(self, offset: int) -> None:
        """Removes everything; the next append gets `offset`. Durable on return. Raises as `truncate_to`."""
        first_offset = self._files.segments.first.base_offset
        pending = self.begin_truncation(first_offset)
        if pending is not None:
            pending.write()
            self.complete_truncation(pending, first_offset)
        try:
            self._files.restart_at(offset, self._flusher.last_flushed_ms)
        except OSError as error:
            raise self._not_begun(error) from error
        self._offsets.leader_epochs.clear()
        self._offsets.log_start_offset = offset
        try:
            self._producers.remove_snapshots()
            for _ in self._clamp_to(offset)():
                pass  # nothing is left to replay
        except OSError as error:
            raise self._failed(error) from error

    def delete_old_segments(self, now_ms: int, most: int | None = None) -> int:
        """Removes the oldest segments that retention or the log start offset no longer keeps, at most `most` of them.

        Returns the number removed. Their files are renamed to `.deleted` and removed after file.delete.delay.ms. If all
        segments are removed, a new one is rolled first.
        """
        self._appender.finish_pending()
        segments, ends, count, reason = oldest_breached(
            self._files.segments,
            self._files.config,
            log_start_offset=self._offsets.log_start_offset,
            high_watermark=self._offsets.high_watermark,
            log_end_offset=self._offsets.log_end_offset,
            now_ms=now_ms,
        )
        if not count:
            return 0
        count = min(count, most or count)
        if count == len(segments):
            self._appender.roll(now_ms, self._offsets.log_end_offset)
        logger.info(
            "%s: %d segments up to offset %d removed: %s", self._files.directory, count, ends[count - 1], reason
        )
        self._offsets.increment_log_start_offset(ends[count - 1])
        self._files.secure_names()
        for segment in segments[:count]:
            snapshot = self._producers.forget_snapshot(segment.base_offset)
            self._files.remove_later(segment, snapshot, now_ms + self._files.config.file_delete_delay_ms)
        return count

    def replace_segments(self, sources: list[Segment], size: int, due_ms: int) -> Segment:
        """Replaces `sources` by a cleaned segment of `size` bytes, whose `.swap` files are complete.

        The files of `sources` are removed at `due_ms`. The caller must then sync the directory and call
        `rename_cleaned`. Raises StorageError for a disk error: the log is unusable until it is opened again.
        """
        try:
            snapshots = [path for source in sources[1:] for path in self._producers.forget_snapshot(source.base_offset)]
            return self._files.replace(sources, size, snapshots, due_ms)
        except OSError as error:
            raise self._failed(error) from error

    def rename_cleaned(self, cleaned: Segment) -> None:
        """Renames the cleaned segment's files to their final names. Raises StorageError as `replace_segments`."""
        try:
            self._files.rename_cleaned(cleaned)
        except OSError as error:
            raise self._failed(error) from error

    def _clamp_to(self, offset: int) -> Callable[[], Steps[None]]:
        """Lowers the offsets after a truncation to `offset`. The result returns the steps that rebuild the
        producers.
        """
        self._offsets.cut_offsets(offset)
        start, now_ms = self._offsets.log_start_offset, self._flusher.last_flushed_ms
        expiration_ms = self._files.config.producer_id_expiration_ms
        return partial(self._producers.rebuild, self._files.segments, start, offset, now_ms, expiration_ms)

    def _not_begun(self, error: OSError) -> StorageError:
        """The error to raise for a step of a truncation that changes nothing if no descriptor is left. Any other error
        makes the log unusable.
        """
        return self._health.storage_error(error) if lacks_descriptors(error) else self._failed(error)

    def _failed(self, error: OSError) -> StorageError:
        """Makes the log unusable. Returns the error to raise."""
        self._health.failure = error
        return self._health.storage_error(error)
