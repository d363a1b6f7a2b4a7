"""What lies in a log directory: partitions and their segments, found by names and sizes alone.

Reads names, sizes and offset indexes; never a log. Directories that end in -delete, -future or -stray are not a
partition's. Source: storage/file_names.py; Kafka's LogManager.loadLogs.
"""

import os
from collections.abc import Iterable, Sequence
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

    Without `topics` all but ``__cluster_metadata``. Raises LogDirectoryError, OSError.
    """
    if not directory.is_dir():
        raise LogDirectoryError(f"{directory} is no directory")
    key = parse_partition_directory(directory.name)
    if key is not None and any(name.endswith(LOG_SUFFIX) for name in os.listdir(directory)):
        candidates = [(key, directory)]
    else:
        candidates = [
            (found, path)
            for path in directory.iterdir()
            if path.is_dir()
            and not path.name.endswith(("-delete", "-future", "-stray"))
            and (found := parse_partition_directory(path.name)) is not None
        ]
        if not candidates and not (directory / "meta.properties").exists():
            raise LogDirectoryError(
                f"{directory} is no Kafka log directory: no meta.properties, no <topic>-<partition>"
            )
    wanted = None if topics is None else set(topics)
    return [
        PartitionDirectory(*key, path, tuple(_segments(path)))
        for key, path in sorted(candidates)
        if (key[0] != METADATA_TOPIC if wanted is None else key[0] in wanted)
    ]


def _segments(directory: Path) -> list[SegmentFile]:
    return sorted(
        SegmentFile(base_offset, directory / entry.name, entry.stat().st_size)
        for entry in os.scandir(directory)
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


class Split(NamedTuple):
    """A part of a segment that can be read by itself: bytes `[start, end)`, both a batch's start or the end."""

    segment: SegmentFile
    start: int
    end: int


def split_segment(segment: SegmentFile, positions: Sequence[int], max_bytes: int) -> list[Split]:
    """Cuts a segment into parts of about `max_bytes` at positions that its offset index names.

    A position that is none of a batch (a damaged index) would break the reading there, so each is looked at first.
    """
    cuts = [0]
    with segment.path.open("rb") as file:
        for position in positions:
            if position - cuts[-1] >= max_bytes:
                file.seek(position)
                front = file.read(17)
                if len(front) == 17 and front[16] == 2 and int.from_bytes(front[:8], "big") >= segment.base_offset:
                    cuts.append(position)
    return [
        Split(segment, start, end) for start, end in zip(cuts, [*cuts[1:], segment.size], strict=True) if end > start
    ]
