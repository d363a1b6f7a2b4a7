"""One log directory of a broker: its lock, identity, partitions, checkpoints and the marker of a clean stop.

Owns: everything in the directory. Parts of it are in directory_flush.py, directory_removal.py, directory_offsets.py.
Never does: reading a clock or choosing when to flush, retain or checkpoint (the broker's timers call). Invariants:
nothing is changed before the lock is held; a log was synced up to its recovery point in the checkpoint. Source: Kafka's
LogManager.
"""

import logging
import random
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path

from odradek.protocol.common.steps import Steps, run_to_end
from odradek.protocol.errors import KafkaError
from odradek.protocol.names.topics import METADATA_TOPIC, TopicPartition

from ..errors import StorageError
from ..files.descriptors import DEFAULT_MAX_OPEN, DescriptorCache
from ..files.disk_errors import ends_directory, is_passing, text_of
from ..files.file_names import DELETE_DIRECTORY_SUFFIX, STRAY_DIRECTORY_SUFFIX, partition_directory_name
from ..files.files import Files
from ..files.meta_properties import (
    CLEAN_SHUTDOWN_FILE,
    UNKNOWN_BROKER_EPOCH,
    MetaProperties,
    read_clean_shutdown,
    read_meta_properties,
    write_clean_shutdown,
    write_meta_properties,
)
from ..log.due_removals import DueRemovals
from ..log.log import Log
from ..log.log_config import LogConfig
from ..log.log_health import AppendGate
from ..log.log_loader import RecoveryReports
from .directory_contents import FoundLog, nothing_known, scan_directory
from .directory_flush import DirectoryFlusher
from .directory_lock import DirectoryLock
from .directory_offsets import DirectoryOffsets
from .directory_removal import DirectoryRemoval

logger = logging.getLogger(__name__)


class LogDirectory:
    """A log directory, open and locked. Times are ms since 1970. `logs`: the open partitions."""

    def __init__(
        self, path: Path, files: Files, lock: DirectoryLock, max_open_files: int, chance: random.Random
    ) -> None:
        """Reads the identity, the checkpoints and the marker of a locked directory. Callers use `LogDirectory.open`."""
        self.path = path
        self.logs: dict[TopicPartition, Log] = {}
        self.found: dict[TopicPartition, FoundLog] = {}
        """Partitions that were not opened yet. After a clean stop, each is opened on first use."""
        self.unreadable: dict[TopicPartition, KafkaError] = {}
        """Partitions of `found` that could not be opened, with the error that their clients get. Only after a passing
        error (`is_passing`) is one tried again before the next start.
        """
        self.found_futures: dict[TopicPartition, FoundLog] = {}
        """Unfinished moves of replicas to this directory that an earlier run has left."""
        self.futures: dict[TopicPartition, Log] = {}
        """Logs of replicas that are being moved here (future_replicas.py)."""
        self.on_failure: Callable[[LogDirectory], None] | None = None
        """Called once when the directory goes offline, on the thread that met the error."""
        self.meta: MetaProperties | None = read_meta_properties(files, path)
        epoch = read_clean_shutdown(files, path)
        self.was_clean = epoch is not None
        """Whether the last stop was clean. If so, logs are not recovered."""
        self.previous_broker_epoch = UNKNOWN_BROKER_EPOCH if epoch is None else epoch
        """The broker epoch in the marker of the clean stop; -1 without one."""
        self.failure: OSError | StorageError | None = None
        """Why the directory is offline; None while it is online."""
        self.files = self._files = files
        self.gate = AppendGate()
        self._lock = lock
        self._chance = chance
        self.descriptors = DescriptorCache(files, max_open_files)
        self._offsets = DirectoryOffsets(files, path)
        self.high_watermarks = self._offsets.high_watermarks
        self.cleaner_offsets = self._offsets.cleaner
        """The first offset of each compacted partition that is not cleaned yet, for the cleaner."""
        self.removal = DirectoryRemoval(files, path, chance)
        self.flusher = DirectoryFlusher(files, self.fail, self.storage_error, max_open_files)
        self._reports: RecoveryReports | None = None

    @classmethod
    def open(
        cls,
        path: Path,
        files: Files | None = None,
        *,
        max_open_files: int = DEFAULT_MAX_OPEN,
        chance: random.Random | None = None,
    ) -> "LogDirectory":
        """Creates the directory if it is missing, locks it, and reads its identity, checkpoints and marker.

        `chance` is the source of segments' jitter and of unique names of removed directories. Raises
        DirectoryLockedError, CorruptCheckpointError (meta.properties), StorageError.
        """
        files = Files() if files is None else files
        try:
            files.make_directory_durably(path)
            lock = DirectoryLock(path, files)
            try:
                return cls(path, files, lock, max_open_files, chance or random.Random())
            except BaseException:
                lock.close()
                raise
        except OSError as error:
            raise StorageError(f"{path}: {text_of(error)}") from error

    def format(self, cluster_id: str, node_id: int, directory_id: bytes) -> MetaProperties:
        """Writes meta.properties; `cluster_id` has 22 characters, `directory_id` 16 bytes. Raises StorageError."""
        meta = MetaProperties(cluster_id, node_id, directory_id)
        try:
            write_meta_properties(self._files, self.path, meta)
        except OSError as error:
            raise StorageError(f"{self.path}: {text_of(error)}") from error
        self.meta = meta
        return meta

    @property
    def directory_id(self) -> bytes:
        """The 16 bytes that name this directory in the metadata; it must have been formatted."""
        assert self.meta is not None, f"{self.path} was not formatted"
        return self.meta.directory_id

    @property
    def open_files(self) -> int:
        """The number of segments that are open."""
        return len(self.descriptors)

    def fail(self, error: OSError) -> None:
        """Takes the directory offline: its logs fail from now on. Any thread may call; the first error counts."""
        if self.failure is not None:
            return
        self.failure = error
        for log in [*self.logs.values(), *self.futures.values()]:
            log.health.failure = log.health.failure or error
        logger.error("%s: the log directory is offline from now on: %s", self.path, error)
        if self.on_failure is not None:
            self.on_failure(self)

    def storage_error(self, error: OSError) -> StorageError:
        """The error to raise for a disk error. Takes the directory offline if it can't be trusted after the error."""
        if ends_directory(error):
            self.fail(error)
        state = "the log directory is offline: " if self.failure is not None else ""
        return StorageError(f"{self.path}: {state}{text_of(error)}")

    # Logs --------------------------------------------------------------------

    def distrust(self) -> None:
        """Makes recovery check all logs from their first record on. A repair calls it before it opens logs."""
        self.was_clean = False
        self._offsets.recovery_points.clear()

    def find_logs(
        self,
        now_ms: int,
        is_stray: Callable[[str, int, bytes | None], bool] | None = None,
        known_id: Callable[[str, int], bytes | None] = nothing_known,
    ) -> None:
        """Lists the partitions here (`found`), without opening them, and removes the marker of the clean stop.

        `is_stray` gets (topic, partition, topic id): a partition that the metadata does not know is renamed to
        `-stray`. Directories that end in `-delete` are removed later; `-stray` ones are ignored. `known_id` returns the
        topic id of a partition that the metadata places here: after a clean stop it need not be read. Raises
        StorageError, CorruptCheckpointError.
        """
        try:
            contents = scan_directory(self._files, self.path, known_id if self.was_clean else nothing_known)
            for found in (contents.partitions, contents.futures):
                for key, log in list(found.items()):
                    if is_stray is not None and is_stray(*key, log.topic_id):
                        self.removal.rename(log.path, key, STRAY_DIRECTORY_SUFFIX)
                        del found[key]
            self._files.remove(self.path / CLEAN_SHUTDOWN_FILE)
            if self.was_clean:
                # Otherwise a power failure could bring the marker back, and logs that it tore would be trusted.
                self._files.sync_directory(self.path)
        except OSError as error:
            raise self.storage_error(error) from error
        for path in contents.deleted:
            self.removal.add(path, now_ms)
        self.found, self.found_futures = contents.partitions, contents.futures

    def load_logs(
        self,
        config_for: Callable[[str], LogConfig],
        now_ms: int,
        *,
        is_stray: Callable[[str, int, bytes | None], bool] | None = None,
        progress: Callable[[TopicPartition, int, int], None] | None = None,
    ) -> dict[TopicPartition, Log]:
        """`find_logs`, then `open_found`. Raises StorageError, CorruptCheckpointError."""
        self.find_logs(now_ms, is_stray)
        self.open_found(config_for, now_ms, progress=progress)
        return self.logs

    def open_found(
        self,
        config_for: Callable[[str], LogConfig],
        now_ms: int,
        *,
        threads: int = 1,
        progress: Callable[[TopicPartition, int, int], None] | None = None,
        reports: RecoveryReports | None = None,
    ) -> None:
        """Opens every partition that was found, on `threads` threads. After a kill, each is recovered.

        `config_for` returns the configuration of a topic. `progress` is called with (partition, partitions done,
        total), and `reports` while a segment is checked, both on any thread. A partition that can't be opened is logged
        and left in `unreadable`. Raises StorageError if the directory fails, CorruptCheckpointError.
        """
        keys = list(self.found)
        done = count(1)

        def open_one(key: TopicPartition) -> None:
            # It is not in use yet, so its files are released: thousands of partitions need no descriptor each.
            try:
                self.open_log(*key, config_for(key[0]), now_ms).release_files()
            except KafkaError:
                self.check_online()
            if progress is not None:
                progress(key, next(done), len(keys))

        self._reports = reports
        with self.descriptors.divided(threads), ThreadPoolExecutor(threads, "recovery") as pool:
            for _ in pool.map(open_one, keys):
                pass
        self._reports = None

    def unopened(self) -> Iterator[tuple[TopicPartition, FoundLog]]:
        """The partitions that were found, and neither opened nor tried."""
        return ((key, found) for key, found in self.found.items() if key not in self.unreadable)

    def holds(self, topic: str, partition: int) -> bool:
        """Whether the directory has a partition, open or not."""
        return (topic, partition) in self.logs or (topic, partition) in self.found

    @property
    def partition_count(self) -> int:
        """The number of partitions here, with those that are being moved here."""
        here = len(self.logs) - ((METADATA_TOPIC, 0) in self.logs)
        return here + len(self.found) + len(self.futures) + len(self.found_futures)

    def topic_id_of(self, topic: str, partition: int) -> bytes | None:
        """The topic id in the partition.metadata of a partition here."""
        log = self.logs.get((topic, partition))
        return self.found[topic, partition].topic_id if log is None else log.topic_id

    def open_log(
        self, topic: str, partition: int, config: LogConfig, now_ms: int, topic_id: bytes | None = None
    ) -> Log:
        """Opens one partition. Creates its directory if it is missing, with `topic_id`.

        Raises StorageError, CorruptCheckpointError; UnsupportedBatchError and CorruptRecordError for a log that can't
        be read, again at each call.
        """
        key = topic, partition
        log = self.logs.get(key)
        if log is None:
            known = self.unreadable.get(key)
            if known is not None and not is_passing(known):
                raise known.with_traceback(None)
            path = self.path / partition_directory_name(topic, partition)
            try:
                log = self.logs[key] = self.open_at(path, key, config, now_ms, topic_id)
            except KafkaError as error:
                if key in self.found and self.failure is None:
                    self.refuse(key, error)
                raise
            self.found.pop(key, None)
            self.unreadable.pop(key, None)
        elif topic_id is not None and log.topic_id is None:
            log.assign_topic_id(topic_id)
        return log

    def refuse(self, key: TopicPartition, error: KafkaError) -> None:
        """Notes and logs that a partition that was found can't be opened."""
        if key not in self.unreadable:
            logger.error("%s-%d is not served: %s", *key, error.message)
        self.unreadable[key] = error

    def make_stray(self, key: TopicPartition) -> None:
        """Renames the directory of a partition that was found to `-stray`. Raises OSError."""
        self.removal.rename(self.found.pop(key).path, key, STRAY_DIRECTORY_SUFFIX)
        self.unreadable.pop(key, None)
        self._offsets.forget(key)

    def open_at(
        self,
        path: Path,
        key: TopicPartition,
        config: LogConfig,
        now_ms: int,
        topic_id: bytes | None,
        descriptors: DescriptorCache | None = None,
    ) -> Log:
        """Opens the log of a partition in `path`, or creates it. Without `descriptors`, in the directory's cache.

        Raises StorageError, CorruptCheckpointError.
        """
        self.check_online()
        try:
            is_new = not self._files.exists(path)
            if is_new:
                if self._offsets.may_be_written(key):
                    # The files may have offsets of a deleted topic of this name. After a crash, the new log would
                    # start with them.
                    self._offsets.forget(key)
                    self.write_checkpoints()
                self._files.make_directory(path)
        except OSError as error:
            raise self.storage_error(error) from error
        log = Log.open(
            path,
            config,
            now_ms=now_ms,
            descriptors=self.descriptors if descriptors is None else descriptors,
            recovery_point=0 if is_new else self._offsets.recovery_points.get(key, 0),
            log_start_offset=0 if is_new else self._offsets.log_start_offsets.get(key, 0),
            clean_shutdown=self.was_clean or is_new,
            topic_id=topic_id,
            jitter_seed=self._chance.getrandbits(32),
            on_failure=self.fail,
            reports=self._reports,
        )
        log.health.gate = self.gate
        log.log_files.removals.notices = self.removal.notices
        return log

    def check_online(self) -> None:
        """Raises StorageError if the directory has failed."""
        if self.failure is not None:
            raise StorageError(f"Log directory {self.path} is offline: {self.failure}")

    def truncate_log(self, topic: str, partition: int, offset: int) -> None:
        """Removes everything of a partition from `offset` on. Lowers the recovery point on disk first.

        Otherwise, after a crash, that point could be after the new end, and later appends below it would not be
        recovered. Raises StorageError. Source: Kafka's LogManager.truncateTo.
        """
        log = self.logs[topic, partition]
        if offset < log.offsets.recovery_point:
            log.offsets.recovery_point = offset
            self.write_checkpoints()
        log.removal.truncate_to(offset)

    def delete_log(
        self, topic: str, partition: int, now_ms: int, delay_ms: int | None = None, sync: bool = True
    ) -> None:
        """Removes a partition: renames its directory to `-delete`, which is removed after file.delete.delay.ms.

        `delay_ms` is needed if the log may not be open. Without `sync`, the caller must call
        `LogDirectories.sync_names`. If it raises StorageError, nothing has changed.
        """
        key = topic, partition
        log = self.logs.get(key)
        path = self.found[key].path if log is None else log.directory
        if log is not None:
            log.release_files()  # not every system renames open files
        try:
            target = self.removal.rename(path, key, DELETE_DIRECTORY_SUFFIX, sync=sync)
        except OSError as error:
            raise self.storage_error(error) from error
        if log is not None:
            log.move_to(target)
            log.abort()
            del self.logs[key]
            delay_ms = log.config.file_delete_delay_ms
        self.found.pop(key, None)
        self.unreadable.pop(key, None)
        self._offsets.forget(key)
        self.removal.add(target, now_ms + (delay_ms or 0))

    def remove_copy(self, key: TopicPartition, path: Path, now_ms: int) -> None:
        """Removes a copy of a partition that was never served. Raises StorageError."""
        self._offsets.forget(key)
        try:
            self.removal.add(self.removal.rename(path, key, DELETE_DIRECTORY_SUFFIX), now_ms)
        except OSError as error:
            raise self.storage_error(error) from error

    def collect_deleted(self, now_ms: int) -> Steps[DueRemovals]:
        """Steps that collect the `-delete` directories and `.deleted` files to remove (`DirectoryRemoval.collect`)."""
        return self.removal.collect(list(self.logs.values()), now_ms)

    def remove_deleted(self, now_ms: int) -> int:
        """Removes the files that `collect_deleted` finds. Returns the number. Raises StorageError."""
        try:
            return run_to_end(self.collect_deleted(now_ms)).remove()
        except OSError as error:
            raise self.storage_error(error) from error

    def write_checkpoints(self) -> None:
        """Writes recovery points, log start offsets and high watermarks. Raises StorageError."""
        list(self.checkpoints())

    def checkpoints(self) -> Iterator[None]:
        """The steps of `write_checkpoints`; the last one writes. Raises StorageError."""
        self.check_online()
        keys = [*self.futures, *self.logs, *self.found_futures, *self.found]
        try:
            for _ in self._offsets.write(lambda key: self.logs.get(key) or self.futures.get(key), keys):
                yield
                self.check_online()
        except OSError as error:
            raise self.storage_error(error) from error

    def close(self, broker_epoch: int = UNKNOWN_BROKER_EPOCH) -> None:
        """Flushes and closes all logs, writes the checkpoints and the marker of a clean stop, unlocks.

        Without the marker if a log could not be opened: the next start must recover it first. Raises StorageError; the
        next start then finds no marker and recovers. The lock is released in any case.
        """
        try:
            logs = [*self.logs.values(), *self.futures.values()]
            for log in logs:
                log.prepare_close()
            self.flusher.flush([log for log in logs if log.flusher.is_dirty])
            self.write_checkpoints()
            if not self.unreadable:
                write_clean_shutdown(self._files, self.path, broker_epoch)
        except OSError as error:
            raise StorageError(f"{self.path}: {text_of(error)}") from error
        finally:
            self.abort()

    def abort(self) -> None:
        """Releases everything as a crash would: writes nothing, no marker; unlocks."""
        for log in [*self.logs.values(), *self.futures.values()]:
            log.abort()
        self.logs, self.futures, self.found, self.unreadable = {}, {}, {}, {}
        self._lock.close()
