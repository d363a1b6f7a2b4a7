"""What lies in a log directory, by the names of its directories: partitions, moves under way, deletions, strays.

Owns: nothing; it looks and says. Never does: opening a log, renaming, removing. Invariant: `__cluster_metadata` is
nobody's partition here. Source: Kafka's LogManager.loadLogs and loadLog.
"""

from dataclasses import dataclass, field
from pathlib import Path

from .checkpoints import TopicPartition
from .file_names import (
    DELETE_DIRECTORY_SUFFIX,
    FUTURE_DIRECTORY_SUFFIX,
    LOG_SUFFIX,
    METADATA_TOPIC,
    STRAY_DIRECTORY_SUFFIX,
    parse_partition_directory,
)
from .files import Files
from .meta_properties import read_partition_metadata


@dataclass(frozen=True, slots=True)
class FoundLog:
    """A partition's directory that was not opened yet. `topic_id` is None where none is written down in it."""

    path: Path
    topic_id: bytes | None


@dataclass(slots=True)
class DirectoryContents:
    """What was found. `deleted` are to be removed; `-stray` directories are left alone and not named."""

    partitions: dict[TopicPartition, FoundLog] = field(default_factory=dict)
    futures: dict[TopicPartition, FoundLog] = field(default_factory=dict)
    deleted: list[Path] = field(default_factory=list)


def look_into(files: Files, directory: Path) -> DirectoryContents:
    """What lies in the directory. Raises OSError, CorruptCheckpointError (partition.metadata)."""
    contents = DirectoryContents()
    for entry in files.list(directory):
        name = entry.name
        key = parse_partition_directory(name)
        if key is None or key[0] == METADATA_TOPIC or not entry.is_dir():
            continue
        path = directory / name
        if name.endswith(DELETE_DIRECTORY_SUFFIX):
            contents.deleted.append(path)
        elif name.endswith(FUTURE_DIRECTORY_SUFFIX):
            contents.futures[key] = FoundLog(path, read_partition_metadata(files, path))
        elif not name.endswith(STRAY_DIRECTORY_SUFFIX):
            contents.partitions[key] = FoundLog(path, read_partition_metadata(files, path))
    return contents


def log_bytes(files: Files, path: Path) -> int:
    """The size of a partition's log files. Raises OSError."""
    return sum(entry.stat().st_size for entry in files.list(path) if entry.name.endswith(LOG_SUFFIX))


def remove_tree(files: Files, path: Path) -> None:
    """Removes a directory with all that is in it. Raises OSError."""
    for entry in files.list(path):
        if entry.is_dir(follow_symlinks=False):
            remove_tree(files, Path(entry.path))
        else:
            files.remove(Path(entry.path))
    files.remove_directory(path)


class RemovedDirectories:
    """Directories that end in `-delete` and go when their time has come."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self._waiting: list[tuple[int, Path]] = []

    def add(self, path: Path, due_ms: int) -> None:
        """Removes the directory once it is `due_ms`."""
        self._waiting.append((due_ms, path))

    def remove_due(self, now_ms: int) -> int:
        """Removes what is due; how many. Raises OSError, and tries again next time."""
        removed = 0
        for entry in list(self._waiting):
            due_ms, path = entry
            if due_ms <= now_ms:
                remove_tree(self._files, path)
                self._waiting.remove(entry)
                removed += 1
        return removed
