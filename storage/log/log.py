"""One partition's log: segments, leader epochs, producers, and the offsets between which it is read.

Owns: the partition's directory. Never does: reading a clock, waiting, deciding what a request means. Invariants:
log start offset <= last stable offset <= high watermark <= log end offset; what a failed operation was asked to do has
not happened. Source: Kafka's UnifiedLog and LocalLog.

Sketch of costs: one small batch from a client about 8 us (header 1, CRC 0.3, checks 2, pwritev 3), 3 more when the
producer is idempotent; a small read at the tail about 3 us.
"""

import logging
from collections.abc import Callable
from pathlib import Path

from ...protocol.records.batch import BatchHeader
from ..errors import OffsetOutOfRangeError, StorageError
from ..files.descriptors import DescriptorCache
from ..files.disk_errors import ends_directory, on_disk
from ..files.files import Buffer, Files
from ..files.meta_properties import read_partition_metadata, write_partition_metadata
from ..segment.segment import Segment
from ..segment.transaction_index import AbortedTransaction
from .append_gate import AppendGate
from .append_plan import AppendInfo, AppendOrigin
from .flush_policy import FlushPolicy
from .log_appender import LogAppender, PendingAppend
from .log_config import MAX_INT64, LogConfig
from .log_files import NOTHING, LogFiles
from .log_flush import Flush
from .log_loader import LogLoader, RecoveredBytes
from .log_offsets import LogOffsets
from .log_producers import LogProducers
from .log_retention import oldest_breached
from .read_result import FileRegion, ReadResult
from .record_inspection import InspectedBatch
from .timestamp_search import TimestampSearch

__all__ = ["AbortedTransaction", "AppendInfo", "AppendOrigin", "FileRegion", "Log", "PendingAppend", "ReadResult"]

logger = logging.getLogger(__name__)


class Log(LogOffsets):
    """One partition's log; times are ms since 1970. A disk that fails raises StorageError (KAFKA_STORAGE_ERROR)."""

    def __init__(
        self, directory: Path, config: LogConfig, descriptors: DescriptorCache, loader: LogLoader, now_ms: int
    ) -> None:
        """Use `Log.open`."""
        loaded = loader.load()
        super().__init__(
            loaded.leader_epochs,
            loaded.producer_state,
            FlushPolicy(config),
            log_start_offset=loaded.log_start_offset,
            log_end_offset=loaded.log_end_offset,
            recovery_point=loaded.recovery_point,
        )
        self.directory = directory
        self._files = descriptors.files
        self.config = config
        self.topic_id: bytes | None = read_partition_metadata(descriptors.files, directory)
        self.segments = loaded.segments
        self.wants_sync = self.flush_policy.asks_for_syncs
        """Whether `GroupCommit` is to hear of appends: the configuration promises something, or a segment rolled."""
        self.last_flushed_ms = now_ms
        self.gate = AppendGate()
        """Shut while the disk is too full for clients' records; the log directory puts its own here."""
        self.on_failure: Callable[[OSError], None] | None = None
        """Told of errors that end the log directory, on the thread that met them."""
        self.failure: OSError | None = None
        """Why nothing can be done here any more: a sync failed, and nobody knows what is on the disk."""
        self._log_files = LogFiles(directory, config, descriptors, loaded.segments, loader.jitter_seed)
        self._log_files.unsynced_paths += loaded.unsynced_paths
        self._producers = LogProducers(loaded.producer_state, loaded.snapshots)
        self._appender = LogAppender(self._producers, descriptors.files)
        self._is_open = True
        if loaded.was_recovered and self.log_end_offset > self.recovery_point:
            flush = self.prepare_flush()
            flush.sync()
            self.complete_flush(flush, now_ms)
        self._take_snapshot()

    @classmethod
    def open(
        cls,
        directory: Path,
        config: LogConfig,
        *,
        now_ms: int,
        files: Files | None = None,
        descriptors: DescriptorCache | None = None,
        recovery_point: int = 0,
        log_start_offset: int = 0,
        clean_shutdown: bool = False,
        topic_id: bytes | None = None,
        jitter_seed: int = 0,
        before_cut: Callable[[Path, int], None] | None = None,
        on_failure: Callable[[OSError], None] | None = None,
        recovered: RecoveredBytes | None = None,
    ) -> "Log":
        """Opens the log in `directory`, or creates it; recovers it when the last stop was not clean.

        What recovery accepts is on the disk before this returns. `topic_id` is written into a directory without one.
        `jitter_seed` is the log's own chance for segment.jitter.ms. `before_cut` gets the file and the
        position of damage before recovery cuts there; what it raises ends the opening with nothing cut.
        `on_failure` is told of errors that end the log directory, on the thread that met them; `recovered` of bytes
        that recovery has checked. Raises StorageError, CorruptCheckpointError.
        """
        if descriptors is None:
            descriptors = DescriptorCache(Files() if files is None else files)
        loader = LogLoader(
            directory,
            config,
            descriptors,
            now_ms=now_ms,
            recovery_point=recovery_point,
            log_start_offset=log_start_offset,
            clean_shutdown=clean_shutdown,
            jitter_seed=jitter_seed,
            before_cut=before_cut,
            recovered=recovered,
        )
        try:
            log = cls(directory, config, descriptors, loader, now_ms)
            log.on_failure = on_failure
        except OSError as error:
            if on_failure is not None and ends_directory(error):
                on_failure(error)
            raise StorageError(f"{directory}: {error}") from error
        if topic_id is not None and log.topic_id is None:
            log.assign_topic_id(topic_id)
        return log

    def __repr__(self) -> str:
        return f"Log({self.directory}, {self.log_start_offset} to {self.log_end_offset})"

    def check_usable(self) -> None:
        """Raises StorageError once a sync has failed or the log was closed."""
        if self.failure is not None or not self._is_open:
            raise StorageError(f"{self.directory}: {self.failure or 'the log is closed'}")

    @property
    def is_open(self) -> bool:
        """Whether it was not closed yet, nor deleted."""
        return self._is_open

    def storage_error(self, error: OSError) -> StorageError:
        """The error to raise for one of the disk's; the log directory hears of what ends it."""
        if self.on_failure is not None and ends_directory(error):
            self.on_failure(error)
        return StorageError(f"{self.directory}: {error}")

    @on_disk
    def assign_topic_id(self, topic_id: bytes) -> None:
        """Writes the topic's id into a directory that has none; the next flush syncs it."""
        path = write_partition_metadata(self._files, self.directory, topic_id, sync=False)
        self.topic_id = topic_id
        self._log_files.unsynced_paths.append(path)
        self._log_files.unsynced_directories.add(self.directory)

    def assign_epoch(self, epoch: int, start_offset: int | None = None) -> None:
        """A leader takes over: what is appended from now on (or from `start_offset` on) is of this epoch."""
        self.finish_pending()
        self.leader_epochs.assign(epoch, self.log_end_offset if start_offset is None else start_offset)

    def segment_times(self) -> list[tuple[int, int]]:
        """(base offset, last modified ms) of each segment, oldest first."""
        return [(segment.base_offset, segment.modified_ms()) for segment in self.segments]

    @property
    def size_in_bytes(self) -> int:
        """The size of all log files."""
        return self.segments.size_in_bytes

    @property
    def log_files(self) -> LogFiles:
        """The files, for the cleaner that works on them."""
        return self._log_files

    # Appending ---------------------------------------------------------------

    def append_as_leader(
        self,
        buffer: Buffer,
        leader_epoch: int,
        now_ms: int,
        *,
        origin: AppendOrigin = AppendOrigin.CLIENT,
        header: BatchHeader | None = None,
        inspected: InspectedBatch | None = None,
    ) -> AppendInfo:
        """Validates the one batch in `buffer`, gives it the next offsets and appends it.

        The buffer is not changed, and no longer needed afterwards. A batch that an idempotent producer sent before is
        not appended again: its old offsets are returned. `header`: the batch's, where it was read already; then the
        buffer holds that batch and no more. `inspected`: what `inspect_client_batch` made of it. Raises KafkaError with
        the code for the producer: `plan_append`'s, `ProducerState.check`'s, KAFKA_STORAGE_ERROR; InspectionNeededError.
        """
        if origin is AppendOrigin.RAFT_LEADER or origin is AppendOrigin.REPLICATION:
            return self._appender.append_as_follower(self, buffer, now_ms)
        return self._appender.append(self, buffer, leader_epoch, now_ms, origin, header, inspected)

    def append_as_follower(self, buffer: Buffer, now_ms: int) -> AppendInfo:
        """Appends batches whose offsets and leader epochs stand in them already: all of them, or none.

        For replicas, and for the metadata log. Gaps in the offsets are kept. Raises KafkaError: `check_assigned`'s,
        RECORD_LIST_TOO_LARGE, KAFKA_STORAGE_ERROR.
        """
        return self._appender.append_as_follower(self, buffer, now_ms)

    def begin_append(
        self, buffer: Buffer, leader_epoch: int, now_ms: int, inspected: InspectedBatch | None = None
    ) -> PendingAppend | AppendInfo:
        """The first step of a client's append that another thread writes (log_appender.py); the buffer stays in use.

        AppendInfo for a batch that was appended before. Raises as `append_as_leader`.
        """
        return self._appender.begin(self, buffer, leader_epoch, now_ms, inspected)

    def complete_append(self, pending: PendingAppend) -> AppendInfo:
        """The last step of an append whose write has ended. Raises StorageError, with the log as it was."""
        return self._appender.complete(self, pending)

    def finish_pending(self) -> None:
        """Ends an append that is under way, by waiting for its write: then the log's end does not move by itself."""
        self._appender.finish_pending(self)

    def check_appendable(self, origin: AppendOrigin) -> None:
        """Raises StorageError where nothing, or nothing of a client's, may be appended."""
        if self.failure is not None or not self._is_open:
            self.check_usable()
        if self.gate.refusal is not None and origin is AppendOrigin.CLIENT:
            raise StorageError(self.gate.refusal)

    def segment_for(self, size: int, max_timestamp: int, first_offset: int, last_offset: int, now_ms: int) -> Segment:
        """The segment to append to, a new one when the active one is full or old. Raises OSError."""
        if self._log_files.needs_roll(size, max_timestamp, last_offset, now_ms):
            return self._roll(now_ms, first_offset)
        return self.segments.active

    @on_disk
    def roll(self, now_ms: int) -> None:
        """Begins a new segment at the log's end; an empty active segment is left as it is."""
        self._roll(now_ms, self.log_end_offset)

    def _roll(self, now_ms: int, base_offset: int) -> Segment:
        self.finish_pending()
        active = self.segments.active
        base_offset = max(base_offset, self.log_end_offset)
        if base_offset == active.base_offset:
            return active
        self.producer_state.map_end_offset = base_offset
        self._take_snapshot()
        self.wants_sync = True  # of what has rolled, as Kafka's roll schedules it
        return self._log_files.roll(base_offset, now_ms)

    def _take_snapshot(self) -> None:
        path = self._producers.take_snapshot()
        if path is not None:
            self._log_files.unsynced_paths.append(path)
            self._log_files.unsynced_directories.add(self.directory)

    # Reading -----------------------------------------------------------------

    def read(
        self, offset: int, max_bytes: int, *, upper_bound_offset: int | None = None, min_one_batch: bool = True
    ) -> ReadResult:
        """Reads from the batch that holds `offset` (or the next one there is) up to the upper bound (exclusive).

        At most `max_bytes`, so the last batch may be cut; with `min_one_batch` the first is always whole, without it
        nothing is returned when the first does not fit. Raises OFFSET_OUT_OF_RANGE, KAFKA_STORAGE_ERROR.
        """
        if self.failure is not None or not self._is_open:
            self.check_usable()
        end_offset = self.log_end_offset
        if not self.log_start_offset <= offset <= end_offset:
            raise OffsetOutOfRangeError(
                f"Received request for offset {offset}, but we only have log segments from offset "
                f"{self.log_start_offset} to {end_offset}."
            )
        bound = None if upper_bound_offset is None or upper_bound_offset >= end_offset else upper_bound_offset
        if offset >= (end_offset if bound is None else bound):
            return NOTHING
        try:
            return self._log_files.read(offset, max_bytes, bound, min_one_batch=min_one_batch)
        except OSError as error:
            raise self.storage_error(error) from error

    def search_timestamp(self, timestamp: int | None) -> TimestampSearch:
        """The first record whose own timestamp is `timestamp` or later; None: that has the greatest (-1 if none has).

        The search ends with None if there is no such record. Raises StorageError.
        """
        self.check_usable()
        files, start = self._log_files, self.log_start_offset
        try:
            return (yield from files.search_timestamp(timestamp, start, self.storage_error))
        except OSError as error:
            raise self.storage_error(error) from error

    @on_disk
    def aborted_transactions(self, fetch_offset: int, upper_bound_offset: int) -> list[AbortedTransaction]:
        """The aborted transactions that a read of the range meets, in the order of their markers."""
        return self._log_files.aborted_transactions(fetch_offset, upper_bound_offset)

    # Removing ----------------------------------------------------------------

    def truncate_to(self, offset: int) -> bool:
        """Removes everything from `offset` on, from segments, indexes, epochs and producers; False for nothing.

        Durable on return. Raises StorageError; the log is unusable then, as after a failed sync.
        """
        self.check_usable()
        self.finish_pending()
        if offset >= self.log_end_offset:
            self.leader_epochs.truncate_from_end(offset)
            return False
        if offset < self.segments.first.base_offset:
            self.truncate_fully_and_start_at(offset)
            return True
        try:
            self._log_files.truncate_to(offset)
            self.leader_epochs.truncate_from_end(offset)
            self._clamp_to(offset)
        except OSError as error:
            self.failure = error
            raise self.storage_error(error) from error
        return True

    def truncate_fully_and_start_at(self, offset: int) -> None:
        """Removes everything; the next append gets `offset`. As `truncate_to`."""
        self.check_usable()
        self.finish_pending()
        try:
            self._log_files.start_anew_at(offset, self.last_flushed_ms)
            self.leader_epochs.clear()
            self.log_start_offset = offset
            self._producers.remove_snapshots()
            self._clamp_to(offset)
        except OSError as error:
            self.failure = error
            raise self.storage_error(error) from error

    def _clamp_to(self, offset: int) -> None:
        """The log ends at `offset` now."""
        self.cut_offsets(offset)
        expiration_ms = self.config.producer_id_expiration_ms
        self._producers.rebuild(self.segments, self.log_start_offset, offset, self.last_flushed_ms, expiration_ms)

    @on_disk
    def delete_old_segments(self, now_ms: int, most: int = MAX_INT64) -> int:
        """Removes the segments that retention, or the log's start, has passed, `most` of the oldest; how many.

        Their files are renamed to `.deleted` and go after file.delete.delay.ms. If all go, a new one is rolled first.
        """
        self.finish_pending()
        segments, ends, count, reason = oldest_breached(
            self.segments,
            self.config,
            log_start_offset=self.log_start_offset,
            high_watermark=self.high_watermark,
            log_end_offset=self.log_end_offset,
            now_ms=now_ms,
        )
        if not count:
            return 0
        count = min(count, most)
        if count == len(segments):
            self._roll(now_ms, self.log_end_offset)
        logger.info("%s: %d segments up to offset %d removed: %s", self.directory, count, ends[count - 1], reason)
        self.increment_log_start_offset(ends[count - 1])
        self._log_files.secure_names()
        for segment in segments[:count]:
            snapshot = self._producers.forget_snapshot(segment.base_offset)
            self._log_files.remove_later(segment, snapshot, now_ms + self.config.file_delete_delay_ms)
        return count

    def replace_segments(self, sources: list[Segment], size: int, due_ms: int) -> Segment:
        """A cleaned segment of `size` bytes, complete as `.swap`, takes the place of `sources`, which go when `due_ms`.

        `finish_replacing` must follow a sync of the directory. Raises StorageError when the disk refuses: the log is
        unusable until it is opened again.
        """
        try:
            snapshots = [path for source in sources[1:] for path in self._producers.forget_snapshot(source.base_offset)]
            return self._log_files.replace(sources, size, snapshots, due_ms)
        except OSError as error:
            self.failure = error
            raise self.storage_error(error) from error

    def finish_replacing(self, cleaned: Segment) -> None:
        """Gives the cleaned segment's files their final names. Raises StorageError as `replace_segments`."""
        try:
            self._log_files.finish_replacing(cleaned)
        except OSError as error:
            self.failure = error
            raise self.storage_error(error) from error

    @on_disk
    def remove_deleted_files(self, now_ms: int) -> int:
        """Removes the `.deleted` files whose time has come; how many."""
        return self._log_files.removals.remove_due(now_ms)

    def remove_expired_producers(self, now_ms: int) -> None:
        """Forgets producers that have been idle for producer.id.expiration.ms."""
        self.producer_state.remove_expired(now_ms, self.config.producer_id_expiration_ms)

    # Durability --------------------------------------------------------------

    def prepare_flush(self) -> Flush:
        """The first step of a flush (log_flush.py). Raises OSError."""
        if not self.leader_epochs.is_saved:
            self.leader_epochs.save(sync=False)
            self._log_files.unsynced_paths.append(self.leader_epochs.path)
            self._log_files.unsynced_directories.add(self.directory)
        return self._log_files.prepare_flush(min(self.recovery_point, self.log_end_offset), self.log_end_offset)

    def prepare_sync(self) -> Flush:
        """The first step of a sync of the batches, which leaves out indexes where it can. Raises OSError."""
        if self._log_files.needs_flush(self.recovery_point):
            return self.prepare_flush()
        return self._log_files.prepare_sync(self.log_end_offset)

    def complete_flush(self, flush: Flush, now_ms: int) -> None:
        """The last step of a flush whose `sync` has returned; consumers see what they were to see only then."""
        flush.close()
        self.note_synced(flush.offset, with_indexes=flush.with_indexes)
        if flush.with_indexes:
            self.last_flushed_ms = now_ms
            if self.recovery_point >= self.segments.active.base_offset:
                self.wants_sync = self.flush_policy.asks_for_syncs

    def fail_flush(self, flush: Flush, error: OSError) -> StorageError:
        """The last step of a flush whose `sync` has failed: the log is unusable from now on; the error to answer."""
        flush.close()
        self.failure = error
        if self.on_failure is not None:
            self.on_failure(error)  # whatever the error: what was written may be gone
        return StorageError(f"{self.directory}: {error}")

    def flush(self) -> None:
        """Makes everything durable before it returns. Raises StorageError; after a failed sync the log is unusable."""
        self.check_usable()
        try:
            flush = self.prepare_flush()
        except OSError as error:
            raise self.storage_error(error) from error
        try:
            flush.sync()
        except OSError as error:
            raise self.fail_flush(flush, error) from error
        self.complete_flush(flush, self.last_flushed_ms)

    def update_config(self, config: LogConfig) -> None:
        """A topic's configuration was altered: it holds at once."""
        if not config.is_compacted:
            self._log_files.interrupt_cleaning()
        self.config = self._log_files.config = config
        self.set_flush_policy(FlushPolicy(config))
        self.wants_sync = self.flush_policy.asks_for_syncs or self.recovery_point < self.segments.active.base_offset
        for segment in self.segments:
            segment.index_interval_bytes = config.index_interval_bytes

    def close(self) -> None:
        """Writes the producer snapshot and the last index entries, flushes, and lets the files go."""
        if self._is_open:
            self.prepare_close()
            if self.is_dirty:
                self.flush()
            self.abort()

    @on_disk
    def prepare_close(self) -> None:
        """Writes what `close` writes; flush (if `is_dirty`) and `abort` are left to the caller, who may have many."""
        self.finish_pending()
        self._take_snapshot()
        self.segments.active.seal()

    @property
    def is_dirty(self) -> bool:
        """Whether a flush would find something to write."""
        return bool(self.unflushed_records) or not self.leader_epochs.is_saved or self._log_files.is_dirty

    def abort(self) -> None:
        """Lets the files go and writes nothing: for logs to be deleted, and for tests of a crash."""
        self.finish_pending()
        self._log_files.forget_files()
        self._is_open = False

    def release_files(self) -> None:
        """Lets the descriptors go until they are needed again: an idle log needs none."""
        self._log_files.forget_files()

    def move_to(self, directory: Path) -> None:
        """The partition's directory was renamed (topic deletion)."""
        self.directory = directory
        self.leader_epochs.move_to(directory)
        self._producers.snapshots.move_to(directory)
        self._log_files.move_to(directory)
