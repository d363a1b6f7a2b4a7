"""One partition's log: its segments, leader epochs, producers and offsets.

Owns: the partition's directory. Never does: reading a clock, waiting, interpreting requests. Invariants: those of
`LogOffsets`; an operation that raises has no effect, unless it says otherwise. Source: Kafka's UnifiedLog and LocalLog.

Costs: appending a small batch of a client takes about 8 us (header 1, CRC 0.3, checks 2, pwritev 3), plus 3 us if the
producer is idempotent. A small read at the end of the log takes about 3 us.
"""

import logging
from collections.abc import Callable
from pathlib import Path

from odradek.protocol.common.steps import Steps
from odradek.protocol.records.batch import BatchHeader

from ..errors import OffsetOutOfRangeError, StorageError
from ..files.descriptors import DescriptorCache
from ..files.disk_errors import ends_directory, on_disk, text_of
from ..files.files import Buffer, Files
from ..files.meta_properties import read_partition_metadata, write_partition_metadata
from ..segment.transaction_index import AbortedTransaction
from .append_gate import AppendGate
from .append_plan import AppendInfo, AppendOrigin
from .flush_policy import FlushPolicy
from .log_appender import LogAppender, PendingAppend
from .log_config import LogConfig
from .log_files import LogFiles
from .log_flusher import LogFlusher
from .log_health import LogHealth
from .log_loader import LogLoader, RecoveryReports
from .log_offsets import LogOffsets
from .log_producers import LogProducers
from .log_removal import LogRemoval
from .pending_cut import PendingCut
from .read_result import FileRegion, ReadResult, TimestampAndOffset
from .record_inspection import InspectedBatch
from .segment_reader import NOTHING
from .timestamp_search import TimestampSearch

__all__ = ["AbortedTransaction", "AppendInfo", "AppendOrigin", "FileRegion", "Log", "PendingAppend", "ReadResult"]

logger = logging.getLogger(__name__)


class Log:
    """One partition's log; times are ms since 1970. A disk that fails raises StorageError (KAFKA_STORAGE_ERROR)."""

    def __init__(
        self, directory: Path, config: LogConfig, descriptors: DescriptorCache, loader: LogLoader, now_ms: int
    ) -> None:
        """Loads the log with `loader`. Callers use `Log.open` instead."""
        loaded = loader.load()
        self.directory = directory
        self.config = config
        self.topic_id: bytes | None = read_partition_metadata(descriptors.files, directory)
        self.segments = loaded.segments
        self.leader_epochs = loaded.leader_epochs
        self.producer_state = loaded.producer_state
        self.offsets = LogOffsets(
            loaded.leader_epochs,
            loaded.producer_state,
            FlushPolicy(config),
            log_start_offset=loaded.log_start_offset,
            log_end_offset=loaded.log_end_offset,
            recovery_point=loaded.recovery_point,
        )
        self._files = descriptors.files
        self._health = LogHealth(directory)
        self._log_files = LogFiles(directory, config, descriptors, loaded.segments, loader.jitter_seed)
        self._reader = self._log_files.reader
        self._log_files.unsynced_paths += loaded.unsynced_paths
        self._producers = LogProducers(loaded.producer_state, loaded.snapshots)
        self._appender = LogAppender(self.offsets, self._log_files, self._producers, self._health)
        self.flusher = LogFlusher(self.offsets, self._log_files, self._health, now_ms)
        if loaded.was_recovered and self.log_end_offset > self.offsets.recovery_point:
            flush = self.flusher.prepare_flush()
            try:
                flush.sync()
            finally:
                flush.close()
            self.flusher.complete_flush(flush, now_ms)
        self._appender.take_snapshot()

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
        reports: RecoveryReports | None = None,
    ) -> "Log":
        """Opens the log in `directory`, or creates it. Recovers it if the last stop was not clean.

        Recovered batches are synced before this returns. `topic_id` is written if the directory has none. `jitter_seed`
        makes segment.jitter.ms differ between logs. `before_cut` gets the file and the position of damage before
        recovery cuts there; if it raises, nothing is cut. `on_failure` is called with a disk error that takes the
        directory offline, on the thread that met it; `reports` gets the progress of recovery.
        Raises StorageError, CorruptCheckpointError.
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
            reports=reports,
        )
        try:
            log = cls(directory, config, descriptors, loader, now_ms)
            log._health.on_failure = on_failure
        except OSError as error:
            if on_failure is not None and ends_directory(error):
                on_failure(error)
            raise StorageError(f"{directory}: {text_of(error)}") from error
        if topic_id is not None and log.topic_id is None:
            log.assign_topic_id(topic_id)
        return log

    def __repr__(self) -> str:
        return f"Log({self.directory}, {self.log_start_offset} to {self.log_end_offset})"

    # Offsets: those that requests need; the others are in `offsets` --------------------------------------------

    @property
    def log_start_offset(self) -> int:
        """The first offset that can be read."""
        return self.offsets.log_start_offset

    @property
    def log_end_offset(self) -> int:
        """The offset of the next record."""
        return self.offsets.log_end_offset

    @property
    def high_watermark(self) -> int:
        """Consumers read below this offset."""
        return self.offsets.high_watermark

    @property
    def last_stable_offset(self) -> int:
        """read_committed consumers read below this offset."""
        return self.offsets.last_stable_offset

    # State -------------------------------------------------------------------

    def check_usable(self) -> None:
        """Raises StorageError after a failure, and after the log was closed."""
        self._health.check_usable()

    @property
    def is_open(self) -> bool:
        """Whether the log was neither closed nor deleted."""
        return self._health.is_open

    @property
    def failure(self) -> OSError | None:
        """Why the log is unusable, None while it works."""
        return self._health.failure

    def fail(self, error: OSError) -> None:
        """Makes the log unusable until it is opened again."""
        self._health.failure = error

    def use_gate(self, gate: AppendGate) -> None:
        """Sets the append gate, which decides whether clients may append. All logs of a directory share one."""
        self._health.gate = gate

    @property
    def refuses_clients(self) -> bool:
        """Whether the append gate is closed: the disk is too full for clients' records."""
        return self._health.gate.refusal is not None

    def storage_error(self, error: OSError) -> StorageError:
        """The StorageError to raise for a disk error. Calls `on_failure` if the error takes the directory offline."""
        return self._health.storage_error(error)

    @on_disk
    def assign_topic_id(self, topic_id: bytes) -> None:
        """Writes the topic's id into a directory that has none; the next flush syncs it."""
        path = write_partition_metadata(self._files, self.directory, topic_id, sync=False)
        self.topic_id = topic_id
        self._log_files.note_unsynced(path)

    def assign_epoch(self, epoch: int, start_offset: int | None = None) -> None:
        """Starts a leader epoch at the log's end, or at `start_offset`. Raises StorageError as `finish_pending`."""
        self.finish_pending()
        self.leader_epochs.assign(epoch, self.log_end_offset if start_offset is None else start_offset)

    def segment_times(self) -> list[tuple[int, int]]:
        """(base offset, last modified ms) of each segment, oldest first."""
        return [(segment.base_offset, segment.file.modified_ms()) for segment in self.segments]

    @property
    def size_in_bytes(self) -> int:
        """The size of all log files."""
        return self.segments.size_in_bytes

    @property
    def log_files(self) -> LogFiles:
        """The files of this log, for the cleaner, which replaces segments."""
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
        transaction_version: int = 0,
    ) -> AppendInfo:
        """Validates the one batch in `buffer`, assigns the next offsets to it and appends it.

        The buffer is neither changed nor kept. A duplicate from an idempotent producer is not appended: its earlier
        offsets are returned. `header`: the header of the batch if the caller has read it; the buffer must then hold
        nothing else. `inspected`: the result of `inspect_client_batch`. `transaction_version`: for a transaction
        marker, see `ProducerStateManager.check_marker`. Raises KafkaError with the code for the producer (see
        `plan_append`, `ProducerStateManager.check`) or KAFKA_STORAGE_ERROR; raises InspectionNeededError.
        """
        return self._appender.append_as_leader(
            buffer, leader_epoch, now_ms, origin, header, inspected, transaction_version
        )

    def append_as_follower(self, buffer: Buffer, now_ms: int) -> AppendInfo:
        """Appends batches that carry their final offsets and leader epochs: all of them, or none.

        Used for replicas and for the metadata log. Gaps in the offsets are kept, and sequence numbers are not checked.
        Raises KafkaError: as `check_assigned`, RECORD_LIST_TOO_LARGE or KAFKA_STORAGE_ERROR.
        """
        return self._appender.append_as_follower(buffer, now_ms)

    def begin_append(
        self, buffer: Buffer, leader_epoch: int, now_ms: int, inspected: InspectedBatch | None = None
    ) -> PendingAppend | AppendInfo:
        """Begins a client's append whose bytes another thread may write (log_appender.py).

        `buffer` must not change until the append is completed.

        Returns AppendInfo for a duplicate batch. Raises as `append_as_leader`.
        """
        return self._appender.begin(buffer, leader_epoch, now_ms, inspected)

    def complete_append(self, pending: PendingAppend) -> AppendInfo:
        """Completes an append after its write. Raises StorageError if the write failed; the log is unchanged then."""
        return self._appender.complete(pending)

    def finish_pending(self) -> None:
        """Finishes the append or the truncation in progress, if any, by waiting for its write.

        Raises StorageError if a truncation can't be finished for lack of a descriptor; the next call tries again.
        """
        self._appender.finish_pending()

    @on_disk
    def roll(self, now_ms: int, expected_next_offset: int = 0) -> None:
        """Starts a new segment at the log's end, or at the next batch's offset if that is later.

        Does nothing if the active segment starts there already.
        """
        self._appender.roll(now_ms, expected_next_offset)

    # Reading -----------------------------------------------------------------

    def read(
        self, offset: int, max_bytes: int, *, upper_bound_offset: int | None = None, min_one_batch: bool = True
    ) -> ReadResult:
        """Reads from the batch that holds `offset` (or the next batch, in a gap) up to the upper bound (exclusive).

        Reads at most `max_bytes`, so the last batch may be cut. If the first batch alone is larger, it is returned
        whole with `min_one_batch`; without it, the result is empty. Raises OFFSET_OUT_OF_RANGE, KAFKA_STORAGE_ERROR.
        """
        health, offsets = self._health, self.offsets
        if health.failure is not None or not health.is_open:
            health.check_usable()
        end_offset = offsets.log_end_offset
        if not offsets.log_start_offset <= offset <= end_offset:
            raise OffsetOutOfRangeError(
                f"Received request for offset {offset}, but we only have log segments from offset "
                f"{self.log_start_offset} to {end_offset}."
            )
        bound = None if upper_bound_offset is None or upper_bound_offset >= end_offset else upper_bound_offset
        if offset >= (end_offset if bound is None else bound):
            return NOTHING
        try:
            return self._reader.read(offset, max_bytes, bound, min_one_batch=min_one_batch)
        except OSError as error:
            raise self.storage_error(error) from error

    def search_timestamp(self, timestamp: int | None) -> TimestampSearch:
        """The first record whose own timestamp is `timestamp` or later.

        If `timestamp` is None: the first record that has the log's greatest timestamp (-1 if no record has a
        timestamp). The search returns None if no record matches. Raises StorageError.
        """
        self.check_usable()
        try:
            return (yield from self._reader.search_timestamp(timestamp, self.log_start_offset, self.storage_error))
        except OSError as error:
            raise self.storage_error(error) from error

    def find_record(self, offset: int) -> Steps[TimestampAndOffset | None]:
        """The first record from `offset` on that is not a control record, in steps of less than a millisecond.

        None if there is none. A batch larger than 1 MiB is not decoded: the result then is the batch's base offset,
        even if that is before `offset`. Raises StorageError.
        """
        self.check_usable()
        try:
            return (yield from self._reader.find_record(max(offset, self.log_start_offset), self.storage_error))
        except OSError as error:
            raise self.storage_error(error) from error

    @on_disk
    def aborted_transactions(self, fetch_offset: int, upper_bound_offset: int) -> list[AbortedTransaction]:
        """The aborted transactions that overlap the range, in the order of their markers."""
        return self._reader.aborted_transactions(fetch_offset, upper_bound_offset)

    @on_disk
    def aborted_in_read(self, fetch_offset: int, size: int) -> list[AbortedTransaction]:
        """The aborted transactions that a consumer needs for `size` bytes that were read from `fetch_offset`.

        Like Kafka, may return some that begin after those bytes, because the index is sparse.
        """
        found = self._reader.aborted_transactions(fetch_offset, self.log_end_offset)
        bound = self._reader.offset_after(fetch_offset, size) if found else None
        return found if bound is None else [entry for entry in found if entry.first_offset < bound]

    # Removing ----------------------------------------------------------------

    @property
    def removal(self) -> LogRemoval:
        """The operations that remove records."""
        return LogRemoval(self.offsets, self._log_files, self._producers, self._health, self._appender, self.flusher)

    def truncate_to(self, offset: int) -> bool:
        """Removes everything from `offset` on, durably. Returns False if there is nothing. Raises StorageError."""
        return self.removal.truncate_to(offset)

    def begin_truncation(self, offset: int) -> PendingCut | None:
        """Cuts the log in memory, and returns the steps that wait for the disk. None if there is nothing to remove."""
        return self.removal.begin_truncation(offset)

    def complete_truncation(self, pending: PendingCut, offset: int) -> None:
        """Ends a truncation after the steps of `begin_truncation`. Raises StorageError if the disk failed."""
        self.removal.complete_truncation(pending, offset)

    def truncate_fully_and_start_at(self, offset: int) -> None:
        """Removes everything; the next append gets `offset`. Durable on return. Raises StorageError."""
        self.removal.truncate_fully_and_start_at(offset)

    @on_disk
    def delete_old_segments(self, now_ms: int, most: int | None = None) -> int:
        """Removes at most `most` of the oldest segments that retention no longer keeps. Returns the number."""
        return self.removal.delete_old_segments(now_ms, most)

    @on_disk
    def remove_deleted_files(self, now_ms: int) -> int:
        """Removes the `.deleted` files whose delay has passed. Returns the number."""
        return self._log_files.removals.remove_due(now_ms)

    def remove_expired_producers(self, now_ms: int) -> Steps[None]:
        """Forgets producers that have been idle for producer.id.expiration.ms, a bounded number in each step."""
        return self.producer_state.remove_expired(now_ms, self.config.producer_id_expiration_ms)

    # Durability: `flusher` has the steps of a flush (log_flush.py) -----------

    def flush(self) -> None:
        """Makes everything durable before it returns. Raises StorageError; after a failed sync the log is unusable."""
        self.flusher.flush()

    def update_config(self, config: LogConfig) -> None:
        """Applies an altered topic configuration at once."""
        if not config.is_compacted:
            self._log_files.interrupt_cleaning()
        self.config = self._log_files.config = config
        self.offsets.set_flush_policy(FlushPolicy(config))
        is_behind = self.offsets.recovery_point < self.segments.active.base_offset
        self.offsets.wants_sync = self.offsets.flush_policy.asks_for_syncs or is_behind
        for segment in self.segments:
            segment.indexes.interval_bytes = config.index_interval_bytes

    def close(self) -> None:
        """Writes the producer snapshot and the last index entries, flushes, and releases the files."""
        if self._health.is_open:
            self.prepare_close()
            if self.is_dirty:
                self.flush()
            self.abort()

    @on_disk
    def prepare_close(self) -> None:
        """The first part of `close`: writes the producer snapshot and the last index entries.

        The caller then flushes the log, if `is_dirty` and perhaps together with others, and calls `abort`.
        """
        self.finish_pending()
        self._appender.take_snapshot()
        self.segments.active.seal()

    @property
    def is_dirty(self) -> bool:
        """Whether a flush has anything to write."""
        return self.flusher.is_dirty

    def abort(self) -> None:
        """Releases the files and writes nothing: for logs that will be deleted, and for tests of a crash."""
        self._appender.abandon_pending()
        self._log_files.forget_files()
        self._health.is_open = False

    def release_files(self) -> None:
        """Releases the descriptors of an idle log. The next use opens them again."""
        self._log_files.forget_files()

    def use_descriptors(self, descriptors: DescriptorCache) -> None:
        """Opens files through another cache from now on. Call `release_files` first."""
        self._log_files.use_descriptors(descriptors)

    def move_to(self, directory: Path) -> None:
        """Follows a rename of the partition's directory (topic deletion)."""
        self.directory = self._health.directory = directory
        self.leader_epochs.move_to(directory)
        self._producers.snapshots.move_to(directory)
        self._log_files.move_to(directory)
        self._appender.move_to(directory)
