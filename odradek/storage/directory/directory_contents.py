"""The contents of a log directory by the names of its directories: partitions, moves in progress, deletions, strays.

Owns: nothing; it only lists. Never does: opening a log, renaming, removing. Invariant: `__cluster_metadata` does not
count as a partition. Source: Kafka's LogManager.loadLogs and loadLog.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from odradek.protocol.names.topics import METADATA_TOPIC, TopicPartition

from ..files.file_names import (
    DELETE_DIRECTORY_SUFFIX,
    FUTURE_DIRECTORY_SUFFIX,
    LOG_SUFFIX,
    STRAY_DIRECTORY_SUFFIX,
    parse_partition_directory,
)
from ..files.files import Files
from ..files.meta_properties import read_partition_metadata


class FoundLog(NamedTuple):
    """The directory `name` in `parent` of a partition that was not opened yet.

    `topic_id` is None if the directory has none. `is_read`: the id was read from the directory; otherwise it is the
    one that the metadata has for the partition.
    """

    parent: Path
    name: str
    topic_id: bytes | None
    is_read: bool = True

    @property
    def path(self) -> Path:
        """The directory. Built on demand, since a start finds thousands."""
        return self.parent / self.name

    def read(self, files: Files) -> "FoundLog":
        """The same, with the topic id from its partition.metadata. Raises OSError, CorruptCheckpointError."""
        return self if self.is_read else _found(files, self.parent, self.name)


def _found(files: Files, parent: Path, name: str) -> FoundLog:
    return FoundLog(parent, name, read_partition_metadata(files, parent / name))


@dataclass(slots=True)
class DirectoryContents:
    """The directories found. `deleted` will be removed; `-stray` directories are not listed."""

    partitions: dict[TopicPartition, FoundLog] = field(default_factory=dict)
    futures: dict[TopicPartition, FoundLog] = field(default_factory=dict)
    deleted: list[Path] = field(default_factory=list)


def nothing_known(topic: str, index: int) -> bytes | None:
    """A `known_id` that knows no topic id."""
    return None


def scan_directory(
    files: Files, directory: Path, known_id: Callable[[str, int], bytes | None] = nothing_known
) -> DirectoryContents:
    """Lists the directory. Raises OSError, CorruptCheckpointError (partition.metadata).

    `known_id`: returns the topic id of a partition if it is known; its partition.metadata is then not read (0.1 s for
    2,000 partitions).
    """
    contents = DirectoryContents()
    for entry in files.list(directory):
        name = entry.name
        key = parse_partition_directory(name)
        if key is None or key[0] == METADATA_TOPIC or not entry.is_dir():
            continue
        if name.endswith(DELETE_DIRECTORY_SUFFIX):
            contents.deleted.append(directory / name)
        elif name.endswith(FUTURE_DIRECTORY_SUFFIX):
            contents.futures[key] = _found(files, directory, name)
        elif not name.endswith(STRAY_DIRECTORY_SUFFIX):
            topic_id = known_id(*key)
            contents.partitions[key] = (
                _found(files, directory, name) if topic_id is None else FoundLog(directory, name, topic_id, False)
            )
    return contents


def log_bytes(files: Files, path: Path) -> int:
    """The size of a partition's log files. Raises OSError."""
    return sum(entry.stat().st_size for entry in files.list(path) if entry.name.endswith(LOG_SUFFIX))
