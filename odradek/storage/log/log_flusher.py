"""Makes a log durable: the steps of a flush that belong to the log (log_flush.py has the step that waits).

Owns: when the log was last flushed. Never does: choosing when, waiting on the event loop. Source: Kafka's
UnifiedLog.flush.
"""

from ..errors import StorageError
from ..files.disk_errors import lacks_descriptors
from .log_files import LogFiles
from .log_flush import Flush
from .log_health import LogHealth
from .log_offsets import LogOffsets


class LogFlusher:
    """The flushes of one log. It does not refer to the `Log`, so a deleted log is freed at once, without the GC."""

    __slots__ = ("_files", "_health", "_offsets", "last_flushed_ms")

    def __init__(self, offsets: LogOffsets, files: LogFiles, health: LogHealth, now_ms: int) -> None:
        self._offsets = offsets
        self._files = files
        self._health = health
        self.last_flushed_ms = now_ms

    def prepare_flush(self) -> Flush:
        """The first step of a flush. Raises OSError."""
        offsets = self._offsets
        if not offsets.leader_epochs.is_saved:
            offsets.leader_epochs.save(sync=False)
            self._files.note_unsynced(offsets.leader_epochs.path)
        return self._files.prepare_flush(min(offsets.recovery_point, offsets.log_end_offset), offsets.log_end_offset)

    def prepare_sync(self) -> Flush:
        """The first step of a sync of the batches, without the indexes if possible. Raises OSError."""
        if self._files.needs_flush(self._offsets.recovery_point):
            return self.prepare_flush()
        return self._files.prepare_sync(self._offsets.log_end_offset)

    def complete_flush(self, flush: Flush, now_ms: int) -> None:
        """The last step of a flush after its `sync`. Shows consumers the records that were hidden until then."""
        flush.close()
        offsets = self._offsets
        offsets.note_synced(flush.offset, with_indexes=flush.with_indexes)
        if flush.with_indexes:
            self.last_flushed_ms = now_ms
            if offsets.recovery_point >= self._files.segments.active.base_offset:
                offsets.wants_sync = offsets.flush_policy.asks_for_syncs

    def fail_flush(self, flush: Flush, error: OSError) -> StorageError:
        """The last step of a flush after its `sync` failed. The log is now unusable. Returns the error to answer.

        If only a descriptor was missing, no sync has failed: the log stays usable, and the next flush does all of this
        one's work.
        """
        if lacks_descriptors(error):
            self.take_back(flush)
            return self._health.storage_error(error)
        flush.close()
        self._health.failure = error
        if self._health.on_failure is not None:
            self._health.on_failure(error)  # for any error: the written data may be lost
        return StorageError(f"{self._health.directory}: {error}")

    def take_back(self, flush: Flush) -> None:
        """The last step of a flush whose `sync` was not carried out: the next flush does all of this one's work."""
        flush.close()
        self._files.take_back(flush)

    def flush(self) -> None:
        """Makes everything durable before it returns. Raises StorageError; after a failed sync the log is unusable."""
        self._health.check_usable()
        try:
            flush = self.prepare_flush()
        except OSError as error:
            raise self._health.storage_error(error) from error
        try:
            flush.sync()
        except OSError as error:
            raise self.fail_flush(flush, error) from error
        self.complete_flush(flush, self.last_flushed_ms)

    @property
    def is_dirty(self) -> bool:
        """Whether a flush would find something to write."""
        offsets = self._offsets
        return bool(offsets.unflushed_records) or not offsets.leader_epochs.is_saved or self._files.is_dirty
