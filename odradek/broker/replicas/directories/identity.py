"""Checks the identity of the log directories: each has its id in meta.properties, and all have the same node and
cluster.

Owns: the checks at start. Source: MetaPropertiesEnsemble.verify, KafkaRaftServer.initializeLogDirs; KIP-858, KIP-1066.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

from odradek.storage.directory.log_directories import LogDirectories
from odradek.storage.directory.log_directory import LogDirectory
from odradek.storage.files.meta_properties import META_PROPERTIES, uuid_text

from ...config.errors import ConfigError
from ...config.server_config import ServerConfig

EVERY_DIRECTORY = "*"


def identify(directories: LogDirectories, random_uuid: Callable[[], bytes]) -> list[bytes]:
    """The ids of the online directories; that of the metadata log comes first (``LogDirectories.all_online``).

    A formatted directory without an id gets one. For a new directory an id is chosen, which :func:`format_new` writes.

    Raises ConfigError for directories of different nodes or clusters, or with one id; StorageError.
    """
    problems = []
    first = directories.metadata.meta
    ids: dict[bytes, LogDirectory] = {}
    for directory in directories.all_online:
        meta = directory.meta
        path = directory.path / META_PROPERTIES
        if meta is None:
            ids[random_uuid()] = directory
            continue
        if first is None:
            problems.append(
                f"{path}: this directory is formatted, but the metadata directory {directories.metadata.path} is not: "
                "put the directory with __cluster_metadata-0 first in log.dirs, or name it in metadata.log.dir"
            )
        elif meta.cluster_id != first.cluster_id:
            problems.append(f"Invalid cluster.id in: {path}. Expected {first.cluster_id}, but read {meta.cluster_id}")
        elif meta.node_id != first.node_id:
            problems.append(f"Stored node id {meta.node_id} doesn't match previous node id {first.node_id} in {path}")
        if not meta.directory_id:
            meta = directory.format(meta.cluster_id, meta.node_id, random_uuid())
        if meta.directory_id in ids:
            problems.append(
                f"{path} and {ids[meta.directory_id].path / META_PROPERTIES} have the same directory.id "
                f"{uuid_text(meta.directory_id)}: one is a copy of the other; give only one in log.dirs"
            )
        ids[meta.directory_id] = directory
    if problems:
        raise ConfigError(problems)
    return list(ids)


def format_new(directories: LogDirectories, ids: Sequence[bytes], cluster_id: str, node_id: int) -> None:
    """Gives each directory that is new the id that :func:`identify` chose for it. Raises StorageError."""
    for directory, directory_id in zip(directories.all_online, ids, strict=True):
        if directory.meta is None:
            directory.format(cluster_id, node_id, directory_id)


def cordoned_paths(config: ServerConfig, paths: Sequence[Path]) -> frozenset[Path]:
    """The directories that take no new partitions (``cordoned.log.dirs``)."""
    entries = config.get_list("cordoned.log.dirs")
    if entries == [EVERY_DIRECTORY]:
        return frozenset(paths)
    return frozenset(Path(entry).absolute() for entry in entries)
