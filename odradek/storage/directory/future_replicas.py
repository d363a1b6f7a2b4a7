"""Replicas that are being moved to a log directory: the `-future` copies that a move opens, discards or promotes.

Owns: the order of the renames. Never does: copying records (`ReplicaMove` does), writing metadata. Invariant: at no
time do two directories have the partition's name. Source: Kafka's LogManager (getOrCreateLog with isFuture,
replaceCurrentWithFutureLog); KIP-113.
"""

from odradek.protocol.names.topics import TopicPartition

from ..files.descriptors import DescriptorCache
from ..files.file_names import FUTURE_DIRECTORY_SUFFIX, partition_directory_name
from ..log.log import Log
from ..log.log_config import LogConfig
from .directory_contents import FoundLog
from .log_directory import LogDirectory

FUTURE_MAX_OPEN = 4
"""Segments of a copy that are open at once: the one that is appended to, and earlier ones that a sync holds."""


def open_future(
    directory: LogDirectory, key: TopicPartition, config: LogConfig, now_ms: int, topic_id: bytes | None
) -> Log:
    """Opens the log of a replica that is being moved to `directory`, new or as found at the start.

    The copy has a descriptor cache of its own, since another thread appends to it: with a shared cache, each thread
    could close a file that the other is about to use. No file is open when this returns. Raises StorageError,
    CorruptCheckpointError.
    """
    found = directory.found_futures.get(key)
    path = directory.removal.unique_path(key, FUTURE_DIRECTORY_SUFFIX) if found is None else found.path
    own = DescriptorCache(directory.files, FUTURE_MAX_OPEN)
    log = directory.futures[key] = directory.open_at(path, key, config, now_ms, topic_id, own)
    log.release_files()
    directory.found_futures.pop(key, None)
    return log


def discard_future(directory: LogDirectory, key: TopicPartition, now_ms: int) -> None:
    """Cancels a move to `directory` and removes the copy. Raises StorageError."""
    log = directory.futures.pop(key, None)
    found = directory.found_futures.pop(key, None)
    path = log.directory if log is not None else None if found is None else found.path
    if log is not None:
        log.abort()
    if path is not None and directory.failure is None:
        directory.remove_copy(key, path, now_ms)


def promote_future(directory: LogDirectory, key: TopicPartition) -> Log | None:
    """Makes the moved replica the partition. Returns its log, if it is open. Raises StorageError.

    The old replica must have been removed before: at no time may both have the partition's name.
    """
    log, found = directory.futures.get(key), directory.found_futures.get(key)
    path = directory.path / partition_directory_name(*key)
    assert not directory.holds(*key), f"{path} exists"
    try:
        if log is not None:
            log.release_files()  # not every system renames open files
            log.use_descriptors(directory.descriptors)
            directory.files.rename(log.directory, path)
            log.move_to(path)
            directory.logs[key] = directory.futures.pop(key)
            directory.removal.notices.may_wait = True  # files of the copy may wait, which were not looked at so far
        elif found is not None:
            directory.files.rename(found.path, path)
            topic_id = directory.found_futures.pop(key).topic_id
            directory.found[key] = FoundLog(directory.path, path.name, topic_id)
        directory.files.sync_directory(directory.path)
    except OSError as error:
        raise directory.storage_error(error) from error
    return log
