"""Carries out an adoption: writes the plan into the directories (or into an overlay).

Owns: the order of writing. Never does: deciding, serving. Invariants: every directory is locked while it is read;
existing files are not removed: old cluster metadata is renamed, and an adopted stray directory is renamed to
``<topic>-<partition>``; the metadata log is written last. Source: StorageTool format, KafkaMetadataLog.
"""

import errno
import fcntl
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from odradek.protocol.names.topics import INTERNAL_TOPICS, METADATA_TOPIC
from odradek.storage.directory.directory_lock import LOCK_FILE, DirectoryLock
from odradek.storage.directory.log_directories import LogDirectories
from odradek.storage.errors import DirectoryLockedError
from odradek.storage.files.file_names import STRAY_DIRECTORY_SUFFIX, partition_directory_name, renamed_directory_name
from odradek.storage.files.files import READ_ONLY, Files
from odradek.storage.files.meta_properties import MetaProperties, write_meta_properties, write_partition_metadata

from ...config.server_config import ServerConfig
from ...metadata.controller.broker_lifecycle import seed_metadata
from ...metadata.controller.registration import auto_created
from ...metadata.publisher.service import MetadataService
from .plan import AdoptionPlan
from .records import adoption_records

FilesFor = Callable[[Path], Files]


class Locks:
    """Holds the lock of every log directory, so that no broker can run on them."""

    def __init__(self, paths: Sequence[Path], *, read_only: bool) -> None:
        """``read_only``: takes shared locks, and creates or changes no lock file. Raises DirectoryLockedError, with the
        directory, if another process has the lock; OSError.
        """
        self._files = Files()
        self._held: list[DirectoryLock] = []
        self._shared: list[tuple[Path, int]] = []
        try:
            for path in paths:
                if read_only:
                    self._share(path)
                else:
                    self._held.append(DirectoryLock(path))
        except BaseException:
            self.release()
            raise

    def _share(self, path: Path) -> None:
        """Takes a shared lock, which excludes a broker. Does nothing without a lock file, since no broker runs then."""
        lock_file = path / LOCK_FILE
        if not self._files.exists(lock_file):
            return
        descriptor = self._files.open(lock_file, READ_ONLY)
        self._shared.append((path, descriptor))
        self._lock_shared(path, descriptor)

    def relock(self) -> None:
        """Takes the shared locks again. A process loses a POSIX lock when it closes any descriptor of the file.

        Raises DirectoryLockedError if another process has taken a lock.
        """
        for path, descriptor in self._shared:
            self._lock_shared(path, descriptor)

    def _lock_shared(self, path: Path, descriptor: int) -> None:
        try:
            fcntl.lockf(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in (errno.EACCES, errno.EAGAIN):
                raise DirectoryLockedError(
                    f"{path}: another process has this log directory open (it holds {LOCK_FILE}); stop it first"
                ) from error
            raise

    def release(self) -> None:
        """Releases all locks. A second call does nothing."""
        for lock in self._held:
            lock.close()
        for _, descriptor in self._shared:
            self._files.close(descriptor)
        self._held, self._shared = [], []


def adopt(
    plan: AdoptionPlan,
    paths: Sequence[Path],
    config: ServerConfig,
    files_for: FilesFor,
    *,
    next_producer_id: int,
    now_ms: int,
    random_uuid: Callable[[], bytes],
) -> None:
    """Writes meta.properties, topic ids and the cluster metadata of a plan that was made for the directories ``paths``.

    ``config`` must have the plan's node id and these directories. No other process may have them open. Raises OSError,
    KafkaError, StorageError, ConfigError.
    """
    for path, directory_id in zip(paths, plan.directory_ids, strict=True):
        files = files_for(path)
        _set_metadata_aside(files, path, random_uuid)
        write_meta_properties(files, path, MetaProperties(plan.cluster_id, plan.node_id, directory_id))
    for topic in plan.topics:
        for index, partition in topic.partitions.items():
            directory = paths[partition.directory]
            files, path = files_for(directory), directory / partition_directory_name(topic.name, index)
            if partition.path != str(path):  # a stray
                files.rename(Path(partition.path), path)
                files.sync_directory(directory)
            if partition.lacks_topic_id:
                write_partition_metadata(files, path, topic.topic_id)
    directories = LogDirectories.open(paths, files_for)
    try:
        service = MetadataService.open(
            directories.metadata,
            config,
            directory_id=plan.directory_ids[0],
            now_ms=now_ms,
            random_uuid=random_uuid,
            cluster_id=plan.cluster_id,
        )
        records = partial(adoption_records, plan, internal_configs(config), next_producer_id)
        seed_metadata(service, config, records, now_ms)
    finally:
        directories.abort()


def _set_metadata_aside(files: Files, path: Path, random_uuid: Callable[[], bytes]) -> None:
    metadata = path / f"{METADATA_TOPIC}-0"
    if files.exists(metadata):
        aside = renamed_directory_name(METADATA_TOPIC, 0, random_uuid().hex(), STRAY_DIRECTORY_SUFFIX)
        files.rename(metadata, path / aside)
        files.sync_directory(path)


def internal_configs(config: ServerConfig) -> dict[str, dict[str, str]]:
    """The configs that the broker gives its internal topics when it creates them."""
    return {
        name: {setting.name: setting.value or "" for setting in auto_created(name, config).configs}
        for name in INTERNAL_TOPICS
    }
