"""One log directory of a broker: its lock, identity, partitions, checkpoints and the marker of a clean stop.

Owns: everything in the directory. Never does: reading a clock or choosing when to flush, retain or checkpoint (the
broker's timers call). Invariants: nothing is touched before the lock is held; a recovery point in the checkpoint was
synced before. Source: Kafka's LogManager.
"""

import logging
import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from .checkpoints import (
    CLEANER_OFFSET_CHECKPOINT,
    LOG_START_OFFSET_CHECKPOINT,
    RECOVERY_POINT_CHECKPOINT,
    REPLICATION_OFFSET_CHECKPOINT,
    TopicPartition,
    read_offset_checkpoint,
    write_offset_checkpoint,
)
from .descriptors import DEFAULT_MAX_OPEN, DescriptorCache
from .directory_lock import DirectoryLock
from .errors import CorruptCheckpointError, StorageError
from .file_names import (
    DELETE_DIRECTORY_SUFFIX,
    FUTURE_DIRECTORY_SUFFIX,
    METADATA_TOPIC,
    STRAY_DIRECTORY_SUFFIX,
    parse_partition_directory,
    partition_directory_name,
    renamed_directory_name,
)
from .files import Files
from .log import Log
from .log_config import LogConfig
from .log_flush import FEW, PARALLEL_SYNCS, Flush, sync_all
from .meta_properties import (
    CLEAN_SHUTDOWN_FILE,
    UNKNOWN_BROKER_EPOCH,
    MetaProperties,
    read_clean_shutdown,
    read_meta_properties,
    read_partition_metadata,
    write_clean_shutdown,
    write_meta_properties,
    write_partition_metadata,
)
from .produce_gate import ProduceGate

logger = logging.getLogger(__name__)

UNIQUE_BYTES = 16


class LogDirectory:
    """A log directory, open and locked. Times are ms since 1970; `logs` are the partitions that are open."""

    def __init__(
        self, path: Path, files: Files, lock: DirectoryLock, max_open_files: int, chance: random.Random
    ) -> None:
        """Use `LogDirectory.open`."""
        self.path = path
        self.logs: dict[TopicPartition, Log] = {}
        self.meta: MetaProperties | None = read_meta_properties(files, path)
        epoch = read_clean_shutdown(files, path)
        self.was_clean = epoch is not None
        """Whether the last stop was clean: then logs are trusted, not recovered."""
        self.previous_broker_epoch = UNKNOWN_BROKER_EPOCH if epoch is None else epoch
        """The broker epoch in the marker of the clean stop, -1 without."""
        self.failure: OSError | StorageError | None = None
        """Why the directory is offline."""
        self.files = files
        """The directory's file layer."""
        self.files = files
        """The directory's file layer."""
        self.gate = ProduceGate()
        """Of all logs here."""
        self._files = files
        self._lock = lock
        self._sync_pool: ThreadPoolExecutor | None = None
        self._chance = chance
        self._descriptors = DescriptorCache(files, max_open_files)
        self._recovery_points = self._read_checkpoint(RECOVERY_POINT_CHECKPOINT)
        self._log_start_offsets = self._read_checkpoint(LOG_START_OFFSET_CHECKPOINT)
        self.cleaner_offsets = self._read_checkpoint(CLEANER_OFFSET_CHECKPOINT)
        """Up to where each compacted partition has been cleaned; kept for the cleaner."""
        self._removals: list[tuple[int, Path]] = []

    @classmethod
    def open(
        cls,
        path: Path,
        files: Files | None = None,
        *,
        max_open_files: int = DEFAULT_MAX_OPEN,
        chance: random.Random | None = None,
    ) -> "LogDirectory":
        """Creates the directory where it is missing, locks it, reads its identity, checkpoints and marker.

        `chance` gives segments their jitter and removed directories their unique names. Raises DirectoryLockedError,
        CorruptCheckpointError (meta.properties), StorageError.
        """
        files = Files() if files is None else files
        try:
            files.make_directory(path)
            lock = DirectoryLock(path, files)
            try:
                return cls(path, files, lock, max_open_files, chance or random.Random())
            except BaseException:
                lock.release()
                raise
        except OSError as error:
            raise StorageError(f"{path}: {error}") from error

    def format(self, cluster_id: str, node_id: int, directory_id: bytes) -> MetaProperties:
        """Writes meta.properties; `cluster_id` has 22 characters, `directory_id` 16 bytes. Raises StorageError."""
        meta = MetaProperties(cluster_id, node_id, directory_id)
        try:
            write_meta_properties(self._files, self.path, meta)
        except OSError as error:
            raise StorageError(f"{self.path}: {error}") from error
        self.meta = meta
        return meta

    def _read_checkpoint(self, name: str) -> dict[TopicPartition, int]:
        try:
            return read_offset_checkpoint(self._files, self.path / name)
        except CorruptCheckpointError as damage:
            # As Kafka: the offsets are taken as 0, so that more is recovered, never less.
            logger.warning("%s; it is taken as empty", damage)
            return {}

    # Logs --------------------------------------------------------------------

    def load_logs(
        self,
        config_for: Callable[[str], LogConfig],
        now_ms: int,
        *,
        is_stray: Callable[[str, int, bytes | None], bool] | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> dict[TopicPartition, Log]:
        """Opens every partition but `__cluster_metadata`, then removes the marker of the clean stop.

        `config_for` gets the topic. `is_stray` gets (topic, partition, topic id): what the metadata does not know is
        renamed to `-stray` and not opened. `progress` gets (partitions done, partitions in all). Directories that end
        in `-delete` are removed later; `-future` and `-stray` ones are left alone. Raises StorageError.
        """
        try:
            found = self._partition_directories(now_ms)
            for done, (key, path) in enumerate(found):
                topic_id = read_partition_metadata(self._files, path)
                if is_stray is not None and is_stray(*key, topic_id):
                    self._rename(path, *key, STRAY_DIRECTORY_SUFFIX)
                else:
                    self.open_log(*key, config_for(key[0]), now_ms)
                if progress is not None:
                    progress(done + 1, len(found))
            self._files.remove(self.path / CLEAN_SHUTDOWN_FILE)
        except OSError as error:
            raise self._offline(error) from error
        return self.logs

    def _partition_directories(self, now_ms: int) -> list[tuple[TopicPartition, Path]]:
        """The directories to open; those that are to be deleted are queued."""
        found = []
        for entry in self._files.list(self.path):
            key = parse_partition_directory(entry.name)
            if key is None or not entry.is_dir() or key[0] == METADATA_TOPIC:
                continue
            path = self.path / entry.name
            if entry.name.endswith(DELETE_DIRECTORY_SUFFIX):
                self._removals.append((now_ms, path))
            elif not entry.name.endswith((FUTURE_DIRECTORY_SUFFIX, STRAY_DIRECTORY_SUFFIX)):
                found.append((key, path))
        return found

    def open_log(
        self, topic: str, partition: int, config: LogConfig, now_ms: int, topic_id: bytes | None = None
    ) -> Log:
        """Opens one partition, creating its directory where it is missing (`topic_id` is written down then).

        Raises StorageError, CorruptCheckpointError.
        """
        key = topic, partition
        if key in self.logs:
            return self.logs[key]
        path = self.path / partition_directory_name(topic, partition)
        is_new = not self._files.exists(path)
        try:
            if is_new:
                self._files.make_directory(path)
                if topic_id is not None:
                    write_partition_metadata(self._files, path, topic_id, sync=False)
        except OSError as error:
            raise StorageError(f"{path}: {error}") from error
        log = Log.open(
            path,
            config,
            now_ms=now_ms,
            descriptors=self._descriptors,
            recovery_point=0 if is_new else self._recovery_points.get(key, 0),
            log_start_offset=0 if is_new else self._log_start_offsets.get(key, 0),
            clean_shutdown=self.was_clean or is_new,
            topic_id=topic_id,
            jitter_seed=self._chance.getrandbits(32),
            on_failure=self.fail,
            recovered=recovered,
        )
        log.gate = self.gate
        self.logs[key] = log
        return log

    def delete_log(self, topic: str, partition: int, now_ms: int) -> None:
        """Takes a partition away: its directory is renamed to `-delete` and goes after file.delete.delay.ms.

        Raises StorageError with nothing changed.
        """
        log = self.logs[topic, partition]
        try:
            target = self._rename(log.directory, topic, partition, DELETE_DIRECTORY_SUFFIX)
        except OSError as error:
            raise StorageError(f"{log.directory}: {error}") from error
        log.move_to(target)
        log.abandon()
        del self.logs[topic, partition]
        for offsets in (self._recovery_points, self._log_start_offsets, self.cleaner_offsets):
            offsets.pop((topic, partition), None)
        self._removals.append((now_ms + log.config.file_delete_delay_ms, target))

    def _rename(self, path: Path, topic: str, partition: int, suffix: str) -> Path:
        unique = self._chance.randbytes(UNIQUE_BYTES).hex()
        target = self.path / renamed_directory_name(topic, partition, unique, suffix)
        self._files.rename(path, target)
        self._files.sync_directory(self.path)
        logger.info("%s: renamed to %s", path, target.name)
        return target

    def remove_deleted(self, now_ms: int) -> int:
        """Removes `-delete` directories and `.deleted` files whose time has come; how many. Raises StorageError."""
        removed = 0
        try:
            for entry in list(self._removals):
                due_ms, path = entry
                if due_ms <= now_ms:
                    self._remove_tree(path)
                    self._removals.remove(entry)
                    removed += 1
        except OSError as error:
            raise StorageError(f"{self.path}: {error}") from error
        return removed + sum(log.remove_deleted_files(now_ms) for log in self.logs.values())

    def _remove_tree(self, path: Path) -> None:
        for entry in self._files.list(path):
            if entry.is_dir(follow_symlinks=False):
                self._remove_tree(Path(entry.path))
            else:
                self._files.remove(Path(entry.path))
        self._files.remove_directory(path)

    # What timers call --------------------------------------------------------

    def enforce_retention(self, now_ms: int) -> int:
        """Removes old segments of all logs that are not compacted (log.retention.check.interval.ms); how many.

        Those of compacted logs are the cleaner's matter, so that none goes that is being cleaned. Raises StorageError.
        """
        return sum(
            log.delete_old_segments(now_ms)
            for log in list(self.logs.values())
            if log.failure is None and not log.config.is_compacted and log.log_files.cleaning is None
        )

    def remove_expired_producers(self, now_ms: int) -> None:
        """Forgets idle producers of all logs (producer.id.expiration.check.interval.ms)."""
        for log in self.logs.values():
            log.remove_expired_producers(now_ms)

    def logs_to_flush(self, now_ms: int) -> list[Log]:
        """The logs with something to flush that have rolled since, or were last flushed flush.ms ago."""
        return [
            log
            for log in self.logs.values()
            if log.unflushed_records
            and log.failure is None
            and (
                now_ms - log.last_flushed_ms >= log.config.flush_ms
                or log.recovery_point < log.segments.active.base_offset
            )
        ]

    def flush(self, logs: "list[Log] | None" = None, now_ms: int | None = None) -> None:
        """Makes the given logs (None: all) durable before it returns. Raises StorageError."""
        flushes = self.prepare_flushes(list(self.logs.values()) if logs is None else logs)
        try:
            self.sync_flushes(flushes)
        except OSError as error:
            raise self.fail_flushes(flushes, error) from error
        self.complete_flushes(flushes, now_ms)

    def prepare_flushes(self, logs: list[Log], *, with_indexes: bool = True) -> "list[tuple[Log, Flush]]":
        """The first step of flushing many logs (log_flush.py). Raises StorageError."""
        flushes: list[tuple[Log, Flush]] = []
        for log in logs:
            log.check_usable()
            try:
                flushes.append((log, log.prepare_flush() if with_indexes else log.prepare_sync()))
            except OSError as error:
                raise log.storage_error(error) from error
        return flushes

    def sync_flushes(self, flushes: "list[tuple[Log, Flush]]") -> None:
        """The slow step, on any thread, but on one at a time. Raises OSError."""
        if len(flushes) > FEW and self._sync_pool is None:
            self._sync_pool = ThreadPoolExecutor(max_workers=PARALLEL_SYNCS, thread_name_prefix="sync")
        sync_all(self._files, [flush for _, flush in flushes], self._sync_pool)

    def complete_flushes(self, flushes: "list[tuple[Log, Flush]]", now_ms: int | None) -> None:
        """The last step: the recovery points move."""
        for log, flush in flushes:
            log.complete_flush(flush, log.last_flushed_ms if now_ms is None else now_ms)

    def fail_flushes(self, flushes: "list[tuple[Log, Flush]]", error: OSError) -> StorageError:
        """The last step where the sync failed: nobody knows what is on the disk. The error to raise."""
        for log, flush in flushes:
            log.fail_flush(flush, error)
        return self._offline(error)

    def _offline(self, error: OSError) -> StorageError:
        """A failed sync or an unreadable directory: nothing here can be trusted any more."""
        self.failure = error
        return StorageError(f"{self.path}: the log directory is offline: {error}")

    def write_checkpoints(self) -> None:
        """Writes down recovery points, log start offsets and high watermarks. Raises StorageError."""
        logs = {key: log for key, log in self.logs.items() if key[0] != METADATA_TOPIC}
        self._recovery_points.update({key: log.recovery_point for key, log in self.logs.items()})
        starts = {
            key: log.log_start_offset
            for key, log in logs.items()
            if log.log_start_offset > log.segments.first.base_offset
        }
        try:
            for name, offsets in (
                (RECOVERY_POINT_CHECKPOINT, {key: log.recovery_point for key, log in logs.items()}),
                (LOG_START_OFFSET_CHECKPOINT, starts),
                (REPLICATION_OFFSET_CHECKPOINT, {key: log.high_watermark for key, log in logs.items()}),
            ):
                write_offset_checkpoint(self._files, self.path / name, offsets)
        except OSError as error:
            raise StorageError(f"{self.path}: {error}") from error

    # Stopping ----------------------------------------------------------------

    def close(self, broker_epoch: int = UNKNOWN_BROKER_EPOCH) -> None:
        """Flushes and closes all logs, writes the checkpoints and the marker of a clean stop, unlocks.

        Raises StorageError; without the marker the next start recovers. The lock is given back in any case.
        """
        try:
            for log in self.logs.values():
                log.prepare_close()
            self.flush([log for log in self.logs.values() if log.is_dirty])
            self.write_checkpoints()
            write_clean_shutdown(self._files, self.path, broker_epoch)
        except OSError as error:
            raise StorageError(f"{self.path}: {error}") from error
        finally:
            self.abandon()

    def abandon(self) -> None:
        """Lets everything go as a crash would: no marker, nothing written; unlocked."""
        for log in self.logs.values():
            log.abandon()
        self.logs = {}
        if self._sync_pool is not None:
            self._sync_pool.shutdown(wait=False)
        self._lock.release()
