"""The log directories of a broker (`log.dirs`): which are online, which has each partition, which gets a new one.

Owns: the list of online directories, and the reasons why others are offline. Never does: deciding what a failure means
for topics (the broker does). Invariant: a failed directory is not written to again until the next start. Source:
Kafka's LogManager (createAndValidateLogDirs, nextLogDirs, handleLogDirFailure); KIP-112, KIP-858, KIP-1066.
"""

import logging
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from odradek.protocol.names.topics import TopicPartition

from ..errors import CorruptCheckpointError, StorageError
from ..files.descriptors import DEFAULT_MAX_OPEN
from ..files.files import Files
from ..files.meta_properties import UNKNOWN_BROKER_EPOCH
from .future_replicas import discard_future, promote_future
from .log_directory import LogDirectory

logger = logging.getLogger(__name__)


class LogDirectories:
    """All log directories of a broker. The metadata log lies in one of them or in a directory of its own."""

    def __init__(self, paths: Sequence[Path], metadata_path: Path) -> None:
        """Opens nothing. Callers use `LogDirectories.open`."""
        self.metadata_path = metadata_path
        """The directory of `__cluster_metadata-0`: one of `paths`, or another one."""
        self.own_metadata: LogDirectory | None = None
        """The directory of the metadata log if it is not one of `paths`. It holds no other partition."""
        self.paths = paths
        """Every directory of the configuration, absolute, in its order."""
        self.online: list[LogDirectory] = []
        """The directories that serve. A failed directory leaves this list."""
        self.offline: dict[Path, str] = {}
        """The directories that do not serve, with the reason."""
        self.cordoned: frozenset[Path] = frozenset()
        """Directories that get no new partitions (:meth:`cordon`)."""

    @classmethod
    def open(
        cls,
        paths: Iterable[Path],
        files_for: Callable[[Path], Files],
        metadata_path: Path | None = None,
        max_open_files: int = DEFAULT_MAX_OPEN,
    ) -> "LogDirectories":
        """Opens and locks the directories. `files_for` returns the file layer of a directory.

        `metadata_path`: the directory of the metadata log (`metadata.log.dir`); None means the first of `paths`.
        `max_open_files`: the maximum number of open segments of all directories together. A directory with a disk error
        or a damaged meta.properties is left out, and the reason is logged. Raises StorageError or
        CorruptCheckpointError if that is the directory of the metadata, StorageError if two paths are the same
        directory, DirectoryLockedError.
        """
        absolute = [path.absolute() for path in paths]
        directories = cls(absolute, absolute[0] if metadata_path is None else metadata_path.absolute())
        _refuse_twice(directories.paths)
        share = max(1, max_open_files // len({*directories.paths, directories.metadata_path}))
        try:
            if directories.metadata_path not in directories.paths:
                path = directories.metadata_path
                directories.own_metadata = LogDirectory.open(path, files_for(path), max_open_files=share)
            for path in directories.paths:
                try:
                    opened = LogDirectory.open(path, files_for(path), max_open_files=share)
                    directories.online.append(opened)
                except (StorageError, CorruptCheckpointError) as error:
                    if path == directories.metadata_path:
                        raise
                    logger.error("Failed to create or validate data directory %s: %s", path, error)
                    directories.offline[path] = str(error)
        except BaseException:
            directories.abort()
            raise
        return directories

    @property
    def metadata(self) -> LogDirectory:
        """The directory of `__cluster_metadata-0`."""
        if self.own_metadata is not None:
            return self.own_metadata
        return next(directory for directory in self.online if directory.path == self.metadata_path)

    @property
    def all_online(self) -> list[LogDirectory]:
        """The online directories with that of the metadata log, which comes first."""
        return sorted(
            self.online if self.own_metadata is None else [self.own_metadata, *self.online],
            key=lambda directory: directory.path != self.metadata_path,
        )

    @property
    def previous_broker_epoch(self) -> int:
        """The broker epoch in the markers of the clean stop; -1 if the directories differ.

        Source: LogManager.readBrokerEpochFromCleanShutdownFiles.
        """
        epochs = {directory.previous_broker_epoch for directory in self.online}
        return epochs.pop() if len(epochs) == 1 and not self.offline else UNKNOWN_BROKER_EPOCH

    def find_logs(
        self,
        now_ms: int,
        is_stray: Callable[[str, int, bytes | None], bool],
        known_id: Callable[[LogDirectory, str, int], bytes | None] = lambda directory, topic, index: None,
    ) -> None:
        """Lists each directory (`LogDirectory.find_logs`). A directory that can't be read goes offline.

        `known_id`: the topic id of a partition if the metadata places it in that directory, else None. Raises
        StorageError if a partition is in two directories: Kafka refuses to start, too.
        """
        for directory in list(self.online):
            try:
                directory.find_logs(now_ms, is_stray, partial(known_id, directory))
            except (StorageError, CorruptCheckpointError) as error:
                self._mark_offline_at_start(directory, error)
        seen: dict[TopicPartition, Path] = {}
        for directory in self.online:
            for key, found in directory.found.items():
                if key in seen:
                    raise StorageError(
                        f"Duplicate log directories for {key[0]}-{key[1]} are found in both {found.path} and "
                        f"{seen[key]}. It is likely because log directory failure happened while broker was replacing "
                        "current replica with future replica. Recover broker from this failure by manually deleting "
                        "one of the two directories for this partition. It is recommended to delete the partition in "
                        "the log directory that is known to have failed recently."
                    )
                seen[key] = found.path

    def promote_futures(
        self, assigned: Callable[[str, int], bytes | None], now_ms: int, *, keeps_source: bool = False
    ) -> None:
        """Completes moves that a crash interrupted after the metadata named their target.

        Call it before logs are opened. `assigned` returns the directory id of a partition in the metadata. With
        `keeps_source` a copy whose source is still there waits for :meth:`ReplicaMove.begin`: it may lack the last
        records, because controllers learn of the target before the last step. Raises StorageError. Source:
        LogManager.recoverAbandonedFutureLogs.
        """
        for directory in self.online:
            for key in list(directory.found_futures):
                holder = self.holder(*key)
                if holder is directory:
                    discard_future(directory, key, now_ms)
                elif assigned(*key) == directory.directory_id and (holder is None or not keeps_source):
                    logger.info("Promoting future replica %s-%d in %s", *key, directory.path)
                    if holder is not None:
                        holder.delete_log(*key, now_ms)
                    else:
                        # The old replica's rename may be in memory only: a power failure would undo it.
                        self.sync_names()
                    promote_future(directory, key)

    def sync_names(self) -> None:
        """Makes the names of all partitions durable. Raises StorageError."""
        for directory in self.online:
            try:
                directory.files.sync_directory(directory.path)
            except OSError as error:
                raise directory.storage_error(error) from error

    def in_parallel(self, directories: Sequence[LogDirectory], work: Callable[[LogDirectory], None]) -> None:
        """Runs `work` for several directories at once.

        A directory with a disk error goes offline. Raises StorageError if that is the directory of the metadata.
        """
        failures: dict[LogDirectory, StorageError | CorruptCheckpointError] = {}

        def attempt(directory: LogDirectory) -> None:
            try:
                work(directory)
            except (StorageError, CorruptCheckpointError) as error:
                failures[directory] = error

        if len(directories) == 1:
            attempt(directories[0])
        else:
            with ThreadPoolExecutor(len(directories), "log-dir") as pool:
                for _ in pool.map(attempt, directories):
                    pass
        for directory, error in failures.items():
            self._mark_offline_at_start(directory, error)

    def _mark_offline_at_start(self, directory: LogDirectory, error: StorageError | CorruptCheckpointError) -> None:
        if directory is self.metadata:
            raise StorageError(str(error)) from error
        self.take_offline(directory, str(error))

    def take_offline(self, directory: LogDirectory, reason: str) -> None:
        """Stops serving a directory and releases its lock and its files. Does nothing if it is offline already."""
        if directory in self.online:
            self.online.remove(directory)
            self.offline[directory.path] = reason
            logger.error("Stopping serving logs in dir %s: %s", directory.path, reason)
            directory.futures.clear()  # a thread may be writing to one; the move releases it
            try:
                directory.abort()
            except OSError as error:
                logger.warning("%s: some files could not be closed: %s", directory.path, error)

    def replicas(self, topic_id_of: Callable[[str], bytes | None]) -> dict[tuple[bytes, int], bytes]:
        """The directory id of every partition, by topic id and index. `topic_id_of` returns the id for a topic's
        name.
        """
        lies_in = {}
        for directory in self.online:
            for topic, index in [*directory.logs, *directory.found]:
                topic_id = topic_id_of(topic)
                if topic_id is not None:
                    lies_in[topic_id, index] = directory.directory_id
        return lies_in

    def holder(self, topic: str, partition: int) -> LogDirectory | None:
        """The online directory that has a partition, or None."""
        for directory in self.online:
            if directory.holds(topic, partition):
                return directory
        return None

    def by_id(self, directory_id: bytes) -> LogDirectory | None:
        """The online directory with this id."""
        for directory in self.online:
            if directory.directory_id == directory_id:
                return directory
        return None

    def by_path(self, path: Path) -> LogDirectory | None:
        """The online directory of this path."""
        for directory in self.online:
            if directory.path == path:
                return directory
        return None

    def cordon(self, paths: frozenset[Path]) -> None:
        """Lets these directories, and no others, get no new partitions (``cordoned.log.dirs``)."""
        self.cordoned = paths

    @property
    def cordoned_ids(self) -> list[bytes]:
        """The ids of the online directories that take no new partitions."""
        return sorted(directory.directory_id for directory in self.online if directory.path in self.cordoned)

    def next_directory(self) -> LogDirectory:
        """The directory for a new partition: the one with the least `AppendGate.shortage`, then the fewest partitions.

        A cordoned directory is chosen only if all online ones are cordoned.
        """
        candidates = [directory for directory in self.online if directory.path not in self.cordoned]
        return min(
            candidates or self.online, key=lambda directory: (directory.gate.shortage, directory.partition_count)
        )

    def shortage_in(self, directory_id: bytes) -> int:
        """How short of space a directory is (`AppendGate.shortage`); 0 for an unknown directory."""
        directory = self.by_id(directory_id)
        return 0 if directory is None else directory.gate.shortage

    def abort(self) -> None:
        """Releases everything as a crash would."""
        for directory in self.online:
            directory.abort()
        self.online.clear()
        self.release_metadata()

    def release_metadata(self) -> None:
        """Unlocks the metadata log's own directory.

        Its appends are durable already. No marker of a clean stop is written. Kafka neither reads nor removes a marker
        there, so if Kafka ran on this directory and was killed, we would take its stop for a clean one.
        """
        if self.own_metadata is not None:
            self.own_metadata.abort()
            self.own_metadata = None


def _refuse_twice(paths: Sequence[Path]) -> None:
    seen: dict[Path, Path] = {}
    for path in paths:
        real = path.resolve()
        if real in seen:
            raise StorageError(f"Duplicate log directory found: {', '.join(map(str, paths))}")
        seen[real] = path
