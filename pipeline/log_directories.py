"""What lies in a log directory: partitions and their segments, found by names and sizes alone.

Reads names, sizes and offset indexes; never a log. Directories that end in -delete, -future or -stray are not a
partition's. Source: storage/file_names.py; Kafka's LogManager.loadLogs.
"""

from collections.abc import Iterable
from pathlib import Path
from struct import Struct
from typing import NamedTuple

from ..storage.file_names import (
    LOG_SUFFIX,
    METADATA_TOPIC,
    OFFSET_INDEX_SUFFIX,
    base_offset_of,
    parse_partition_directory,
    segment_path,
)
from .file_access import list_directory

_INDEX_ENTRY = Struct(">ii")


class SegmentFile(NamedTuple):
    """A segment: its first offset, its log file and that file's bytes."""

    base_offset: int
    path: Path
    size: int


class PartitionDirectory(NamedTuple):
    """One replica of a partition; the last segment is the active one."""

    topic: str
    partition: int
    path: Path
    segments: tuple[SegmentFile, ...]

    @property
    def name(self) -> str:
        """``topic-partition``."""
        return f"{self.topic}-{self.partition}"


class LogDirectoryError(Exception):
    """A path that is no log directory; the text says what is missing."""


def find_partitions(directory: Path, topics: Iterable[str] | None = None) -> list[PartitionDirectory]:
    """The partitions in a log directory (or the one that `directory` itself is), by topic and partition.

    Without `topics` all but ``__cluster_metadata``. Object storage works as well (file_access.py). Raises
    LogDirectoryError, OSError.
    """
    if not directory.is_dir():
        raise LogDirectoryError(f"{directory} is no directory")
    entries = list_directory(directory)
    key = parse_partition_directory(directory.name)
    if key is not None and any(entry.name.endswith(LOG_SUFFIX) for entry in entries):
        candidates = [(key, directory)]
    else:
        candidates = [
            (found, directory / entry.name)
            for entry in entries
            if entry.is_directory
            and not entry.name.endswith(("-delete", "-future", "-stray"))
            and (found := parse_partition_directory(entry.name)) is not None
        ]
        if not candidates and all(entry.name != "meta.properties" for entry in entries):
            raise LogDirectoryError(
                f"{directory} is no Kafka log directory: no meta.properties, no <topic>-<partition>"
            )
    wanted = None if topics is None else set(topics)
    return [
        PartitionDirectory(*key, path, tuple(_segments(path)))
        for key, path in sorted(candidates)
        if (key[0] != METADATA_TOPIC if wanted is None else key[0] in wanted)
    ]


def refuse_missing(named: Iterable[str] | None, found: Iterable[str], directories: Iterable[object]) -> None:
    """Raises LogDirectoryError for topics that were named and are not among those found in the directories.

    A name that is wrong by a letter would else give an audit that finds nothing, an export that looks whole.
    """
    missing = set(named or ()).difference(found)
    if missing:
        raise LogDirectoryError(f"no partition of {', '.join(sorted(missing))} in {', '.join(map(str, directories))}")


def _segments(directory: Path) -> list[SegmentFile]:
    return sorted(
        SegmentFile(base_offset, directory / entry.name, entry.size)
        for entry in list_directory(directory)
        if entry.name.endswith(LOG_SUFFIX) and (base_offset := base_offset_of(entry.name)) is not None
    )


def indexed_positions(segment: SegmentFile) -> list[int]:
    """Where batches begin, by the segment's offset index; rising, without what can't be true."""
    path = segment_path(segment.path.parent, segment.base_offset, OFFSET_INDEX_SUFFIX)
    try:
        data = path.read_bytes().rstrip(b"\0")  # the active segment's index is preallocated: 10 MiB of zeros
    except FileNotFoundError:
        return []
    data += bytes(-len(data) % _INDEX_ENTRY.size)
    entries = _INDEX_ENTRY.iter_unpack(data)
    return sorted({position for _, position in entries if 0 < position < segment.size})
