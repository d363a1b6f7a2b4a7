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

from ..errors import OffsetOutOfRangeError, StorageError
from ..files.descriptors import DescriptorCache
from ..files.disk_errors import ends_directory, on_disk, text_of
from ..files.files import Files
from ..files.meta_properties import read_partition_metadata, write_partition_metadata
from ..segment.transaction_index import AbortedTransaction
from .append_plan import AppendInfo, AppendOrigin
from .log_appender import LogAppender, PendingAppend
from .log_config import FlushPolicy, LogConfig
from .log_files import LogFiles
from .log_flusher import LogFlusher
from .log_health import LogHealth
from .log_loader import LogLoader, RecoveryReports
from .log_offsets import LogOffsets
from .log_producers import LogProducers
from .log_removal import LogRemoval
from .log_retention import may_be_breached
from .read_result import FileRegion, ReadResult, TimestampAndOffset
from .segment_reader import NOTHING
from .timestamp_search import TimestampSearch

__all__ = ["AbortedTransaction", "AppendInfo", "AppendOrigin", "FileRegion", "Log", "PendingAppend", "ReadResult"]

logger = logging.getLogger(__name__)


class Log:
    """One partition's log; times are ms since 1970. A disk that fails raises StorageError (KAFKA_STORAGE_ERROR).

    `health`: whether it can be used. `appender`: appends and rolls. `removal`: truncates. `flusher`: syncs. `offsets`,
    `segments`, `leader_epochs`, `producer_state`: its state in memory. `log_files`: its files.
    """

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
        self.health = LogHealth(directory)
        self.log_files = LogFiles(directory, config, descriptors, loaded.segments, loader.jitter_seed)
        self._reader = self.log_files.reader
        self.log_files.unsynced_paths += loaded.unsynced_paths
        self._producers = LogProducers(loaded.producer_state, loaded.snapshots)
        self.appender = LogAppender(self.offsets, self.log_files, self._producers, self.health)
        self.flusher = LogFlusher(self.offsets, self.log_files, self.health, now_ms)
        if loaded.was_recovered and self.log_end_offset > self.offsets.recovery_point:
            flush = self.flusher.prepare_flush()
            try:
                flush.sync()
            finally:
                flush.close()
            self.flusher.complete_flush(flush, now_ms)
        self.appender.take_snapshot()

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
            log.health.on_failure = on_failure
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

    @on_disk
    def assign_topic_id(self, topic_id: bytes) -> None:
        """Writes the topic's id into a directory that has none; the next flush syncs it."""
        path = write_partition_metadata(self._files, self.directory, topic_id, sync=False)
        self.topic_id = topic_id
        self.log_files.note_unsynced(path)

    def assign_epoch(self, epoch: int, start_offset: int | None = None) -> None:
        """Starts a leader epoch at the log's end, or at `start_offset`. Raises StorageError as `finish_pending`."""
        self.appender.finish_pending()
        self.leader_epochs.assign(epoch, self.log_end_offset if start_offset is None else start_offset)

    def segment_times(self) -> list[tuple[int, int]]:
        """(base offset, last modified ms) of each segment, oldest first."""
        return [(segment.base_offset, segment.file.modified_ms()) for segment in self.segments]

    # Appending ---------------------------------------------------------------

    @on_disk
    def roll(self, now_ms: int, expected_next_offset: int = 0) -> None:
        """Starts a new segment at the log's end, or at the next batch's offset if that is later.

        Does nothing if the active segment starts there already.
        """
        self.appender.roll(now_ms, expected_next_offset)

    # Reading -----------------------------------------------------------------

    def read(
        self, offset: int, max_bytes: int, *, upper_bound_offset: int | None = None, min_one_batch: bool = True
    ) -> ReadResult:
        """Reads from the batch that holds `offset` (or the next batch, in a gap) up to the upper bound (exclusive).

        Reads at most `max_bytes`, so the last batch may be cut. If the first batch alone is larger, it is returned
        whole with `min_one_batch`; without it, the result is empty. Raises OFFSET_OUT_OF_RANGE, KAFKA_STORAGE_ERROR.
        """
        health, offsets = self.health, self.offsets
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
            raise self.health.storage_error(error) from error

    def search_timestamp(self, timestamp: int | None) -> TimestampSearch:
        """The first record whose own timestamp is `timestamp` or later.

        If `timestamp` is None: the first record that has the log's greatest timestamp (-1 if no record has a
        timestamp). The search returns None if no record matches. Raises StorageError; InvalidRecordError if it must
        read a record of a compressed batch beyond max.decompressed.message.bytes.
        """
        self.health.check_usable()
        start, most_bytes = self.log_start_offset, self.config.max_decompressed_message_bytes
        try:
            return (yield from self._reader.search_timestamp(timestamp, start, self.health.storage_error, most_bytes))
        except OSError as error:
            raise self.health.storage_error(error) from error

    def find_record(self, offset: int) -> Steps[TimestampAndOffset | None]:
        """The first record from `offset` on that is not a control record, in steps of less than a millisecond.

        None if there is none. A batch larger than 1 MiB is not decoded: the result then is the batch's base offset,
        even if that is before `offset`. Raises StorageError.
        """
        self.health.check_usable()
        try:
            return (yield from self._reader.find_record(max(offset, self.log_start_offset), self.health.storage_error))
        except OSError as error:
            raise self.health.storage_error(error) from error

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
        return LogRemoval(self.offsets, self.log_files, self._producers, self.health, self.appender, self.flusher)

    @on_disk
    def may_have_old_segments(self, now_ms: int) -> bool:
        """False if `delete_old_segments` would find nothing."""
        return may_be_breached(self.segments, self.config, now_ms)

    @on_disk
    def delete_old_segments(self, now_ms: int, most: int | None = None) -> int:
        """Removes at most `most` of the oldest segments that retention no longer keeps. Returns the number."""
        return self.removal.delete_old_segments(now_ms, most)

    @on_disk
    def remove_deleted_files(self, now_ms: int) -> int:
        """Removes the `.deleted` files whose delay has passed. Returns the number."""
        return self.log_files.removals.remove_due(now_ms)

    def remove_expired_producers(self, now_ms: int) -> Steps[None]:
        """Forgets producers that have been idle for producer.id.expiration.ms, a bounded number in each step."""
        return self.producer_state.remove_expired(now_ms, self.config.producer_id_expiration_ms)

    # The end of the log's use ---------------------------------------------

    def update_config(self, config: LogConfig) -> None:
        """Applies an altered topic configuration at once."""
        if not config.is_compacted:
            self.log_files.interrupt_cleaning()
        self.config = self.log_files.config = config
        self.offsets.set_flush_policy(FlushPolicy(config))
        is_behind = self.offsets.recovery_point < self.segments.active.base_offset
        self.offsets.wants_sync = self.offsets.flush_policy.asks_for_syncs or is_behind
        for segment in self.segments:
            segment.indexes.interval_bytes = config.index_interval_bytes

    def close(self) -> None:
        """Writes the producer snapshot and the last index entries, flushes, and releases the files."""
        if self.health.is_open:
            self.prepare_close()
            if self.flusher.is_dirty:
                self.flusher.flush()
            self.abort()

    @on_disk
    def prepare_close(self) -> None:
        """The first part of `close`: writes the producer snapshot and the last index entries.

        The caller then flushes the log, if `is_dirty` and perhaps together with others, and calls `abort`.
        """
        self.appender.finish_pending()
        self.appender.take_snapshot()
        self.segments.active.seal()

    def abort(self) -> None:
        """Releases the files and writes nothing: for logs that will be deleted, and for tests of a crash."""
        self.appender.abandon_pending()
        self.log_files.forget_files()
        self.health.is_open = False

    def release_files(self) -> None:
        """Releases the descriptors of an idle log. The next use opens them again."""
        self.log_files.forget_files()

    def use_descriptors(self, descriptors: DescriptorCache) -> None:
        """Opens files through another cache from now on. Call `release_files` first."""
        self.log_files.use_descriptors(descriptors)

    def move_to(self, directory: Path) -> None:
        """Follows a rename of the partition's directory (topic deletion)."""
        self.directory = self.health.directory = directory
        self.leader_epochs.move_to(directory)
        self._producers.snapshots.move_to(directory)
        self.log_files.move_to(directory)
        self.appender.move_to(directory)
