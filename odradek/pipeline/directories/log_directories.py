"""Finds the partitions in a log directory and their segments, from names and sizes of files.

Reads names and sizes, of a log nothing but the headers of a `.swap` file. Skips directories that end in -delete,
-future or -stray. Source: storage/files/file_names.py; Kafka's LogManager.loadLogs.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from odradek.protocol.names.topics import METADATA_TOPIC
from odradek.storage.files.file_names import (
    LOG_SUFFIX,
    parse_partition_directory,
)
from odradek.storage.files.meta_properties import META_PROPERTIES
from odradek.storage.files.regular_files import fault_text

from .file_access import (
    MOST_RESTARTS,
    FileEntry,
    attempts,
    is_gone,
    is_unreadable,
    list_directory,
    list_steadily,
)
from .segment_files import SegmentFile, is_swapping, segments_in_exchange, segments_of


class PartitionDirectory(NamedTuple):
    """One replica of a partition; the last segment is the active one.

    `fault`: why the directory could not be listed (it is a link, or the system refused). Then there are no segments.
    """

    topic: str
    partition: int
    path: Path
    segments: tuple[SegmentFile, ...]
    fault: str = ""
    is_changing: bool = False
    """The cleaner was renaming files during the last listing, so a segment may be missing."""

    @property
    def name(self) -> str:
        """``topic-partition``."""
        return f"{self.topic}-{self.partition}"

    @property
    def fault_sentence(self) -> str:
        """The text in rows and errors for a partition with a `fault`."""
        return f"file-unreadable: {self.path}: {self.fault}"


class LogDirectoryError(Exception):
    """A path is not a log directory, or has no partition of a requested topic. The text says which."""


def find_partitions(
    directory: Path, topics: Iterable[str] | None = None, restarts: int = MOST_RESTARTS
) -> list[PartitionDirectory]:
    """The partitions in a log directory, ordered by topic and partition. `directory` may also be that of a partition.

    `topics`: None for all except ``__cluster_metadata``. `restarts`: see :func:`partition_at`. Works with object
    storage too (file_access.py). Raises LogDirectoryError, OSError.
    """
    if not directory.is_dir():
        raise LogDirectoryError(f"{directory} is not a directory")
    entries = list_directory(directory)
    own_key = parse_partition_directory(directory.name)
    if own_key is not None and any(entry.name.endswith(LOG_SUFFIX) for entry in entries):
        candidates = [(own_key, directory, "")]
    else:
        candidates = [
            (parsed, directory / entry.name, entry.fault)
            for entry in entries
            if (entry.is_directory or entry.fault)
            and not entry.name.endswith(("-delete", "-future", "-stray"))
            and (parsed := parse_partition_directory(entry.name)) is not None
        ]
    only_topics = None if topics is None else set(topics)
    is_formatted = any(entry.name == META_PROPERTIES for entry in entries)
    partitions = []
    for key, path, fault in sorted(candidates):
        if is_formatted and not (key[0] != METADATA_TOPIC if only_topics is None else key[0] in only_topics):
            continue
        found = partition_at(key, path, fault, restarts)
        if found is not None:
            partitions.append(found)
    if not is_formatted and not any(found.segments for found in partitions):
        raise LogDirectoryError(
            f"{directory} is not a Kafka log directory: it has no meta.properties, and no log of a partition"
        )
    return [
        found
        for found in partitions
        if (found.topic != METADATA_TOPIC if only_topics is None else found.topic in only_topics)
    ]


def partition_at(
    key: tuple[str, int], path: Path, fault: str = "", restarts: int = MOST_RESTARTS
) -> PartitionDirectory | None:
    """Lists a partition's directory; None if it is gone. `fault`: why it can't be listed. Raises OSError.

    If the cleaner is swapping segments, lists again, `restarts` times: it renames the old segments before the new one.
    If they stay so, the cleaner was stopped (:func:`segments_in_exchange`). `restarts`: 0 if the caller completes such
    a swap itself.
    """
    if fault:
        return PartitionDirectory(*key, path, (), fault)
    try:
        for _ in attempts(restarts):
            entries, is_changing = list_entries(path)
            if not is_changing:
                break
        if not (is_changing and restarts):
            return PartitionDirectory(*key, path, tuple(segments_of(path, entries)), is_changing=is_changing)
        segments = tuple(segments_in_exchange(path, entries))
        return PartitionDirectory(*key, path, segments, is_changing=not is_swapping(entries))
    except OSError as error:
        if is_gone(error):
            return None
        if not is_unreadable(error, path):
            raise
        return PartitionDirectory(*key, path, (), fault_text(error))


def refuse_missing(named: Iterable[str] | None, found: Iterable[str], directories: Iterable[object]) -> None:
    """Raises LogDirectoryError if a named topic was not found in the directories.

    Otherwise a misspelt name would give an audit without findings, or an export that seems complete.
    """
    missing = set(named or ()).difference(found)
    if missing:
        raise LogDirectoryError(f"no partition of {', '.join(sorted(missing))} in {', '.join(map(str, directories))}")


def list_entries(directory: Path) -> tuple[list[FileEntry], bool]:
    """The entries of a partition's directory; True if renames are under way: one may be missing. Raises OSError."""
    entries, is_steady = list_steadily(directory)
    return entries, not is_steady or is_swapping(entries)
