"""Plans what each task reads: parts of segments, small ones packed together.

Needs no Spark. Reads names, sizes and offset indexes, and for timestamps a few batches. A split is defined by its
offsets; its bytes say where they were when the plan was made. Source: Spark's FilePartition for the packing.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from glob import glob, has_magic
from pathlib import Path
from typing import NamedTuple, TypeVar

from ..decode.living_log import END_OF_OFFSETS, Absence
from ..directories.file_access import URL_MARK, is_gone, is_unreadable, path_of
from ..directories.log_directories import (
    LogDirectoryError,
    PartitionDirectory,
    SegmentFile,
    find_partitions,
    indexed_positions,
    open_segment,
    partition_at,
)
from ..directories.restarts import MOST_RESTARTS, attempts
from .isolation import last_stable_offset
from .offset_options import EARLIEST, LATEST, Bound
from .options import ReadOptions
from .positions import is_batch_at, position_before
from .pruning import Pruning
from .timestamps import offset_for_timestamp

PACKED_BYTES = 16 << 20
"""Splits are packed into a task up to so many bytes: ten thousand small partitions are no ten thousand tasks."""
OPEN_COST_BYTES = 64 << 10
"""What opening a file counts for (Spark has 4 MiB in spark.sql.files.openCostInBytes, for remote files)."""
LEAST_SPLIT_BYTES = 64 << 10
"""Where `minPartitions` begins to cut; it goes below only where that is too few."""

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class UnreadPartition:
    """A partition that could not be planned; `text` names its directory and what is wrong."""

    directory: str
    topic: str
    partition: int
    text: str


@dataclass(frozen=True, slots=True)
class LogSplit:
    """Offsets `[first_offset, end_offset)` of a segment, in its bytes `[start, end)` at the time of the plan.

    If another file (by its inode) has the segment's name when it is read, the log was compacted since, and the bytes
    are somewhere else.
    """

    directory: str
    topic: str
    partition: int
    segment: SegmentFile
    start: int
    end: int
    first_offset: int
    end_offset: int
    is_active: bool
    """Whether the file's end may be torn."""


class RecordPlan(NamedTuple):
    """The tasks of a batch read, each with its splits, and the partitions that can't be read."""

    tasks: list[tuple[LogSplit, ...]]
    unread: list[UnreadPartition]


def expand_paths(paths: Iterable[str]) -> list[Path]:
    """The directories that paths and patterns mean, each once. Raises LogDirectoryError where a pattern means none."""
    found: list[Path] = []
    for path in paths:
        if URL_MARK in path or not has_magic(path) or Path(path).is_dir():
            found.append(path_of(path))
            continue
        matching = [Path(name) for name in sorted(glob(path)) if Path(name).is_dir()]
        if not matching:
            raise LogDirectoryError(f"no directory matches {path}")
        found += matching
    return list(dict.fromkeys(found))


def plan_records(options: ReadOptions, pruning: Pruning) -> RecordPlan:
    """Plans a batch read. Raises LogDirectoryError, OSError, ValueError for a start that no record has."""
    partitions: list[tuple[Path, PartitionDirectory, int, int]] = []
    unread: list[UnreadPartition] = []
    for directory in expand_paths(options.paths):
        for found in find_partitions(directory, options.topics.listed):
            if not options.topics.has(found.topic, found.partition):
                continue
            if not pruning.allows_partition(found.topic, found.partition):
                continue
            planned = _with_range(found, options)
            if isinstance(planned, str):
                unread.append(UnreadPartition(str(directory), found.topic, found.partition, planned))
            elif planned is not None:
                partitions.append((directory, *planned))
    return RecordPlan(_packed_splits(partitions, options, pruning), unread)


def _with_range(found: PartitionDirectory, options: ReadOptions) -> tuple[PartitionDirectory, int, int] | str | None:
    """A partition as it is now, with the offsets to read; a sentence if that can't be known; None if it is gone.

    A partition whose files vanish under the look is listed again.
    """
    now: PartitionDirectory | None = found
    for _ in attempts():
        if now is None:
            return None
        if now.fault:
            return now.fault_sentence
        try:
            return now, *offset_range(now, options)
        except OSError as error:
            if not is_gone(error):
                raise
        now = partition_at((found.topic, found.partition), found.path)
    return f"{Absence.CHANGING}: {found.path}: files vanished under each of {MOST_RESTARTS + 1} looks"


def _packed_splits(
    partitions: Sequence[tuple[Path, PartitionDirectory, int, int]], options: ReadOptions, pruning: Pruning
) -> list[tuple[LogSplit, ...]]:
    max_bytes = options.max_partition_bytes
    if options.min_partitions > 1:
        total = sum(segment.size for _, found, _, _ in partitions for segment in found.segments)
        max_bytes = min(max_bytes, max(total // options.min_partitions, LEAST_SPLIT_BYTES))
    before = -1
    while True:
        splits = [
            split
            for directory, found, first, end in partitions
            for split in plan_partition(
                directory, found, max(first, pruning.first_offset), min(end, pruning.end_offset), max_bytes
            )
        ]
        packed = pack(splits, lambda split: split.end - split.start, min(max_bytes, PACKED_BYTES))
        if len(packed) >= options.min_partitions or len(packed) == len(splits) == before:
            return packed  # enough, or cut wherever an index allows it
        before = len(splits)
        max_bytes //= 2


def offset_range(found: PartitionDirectory, options: ReadOptions) -> tuple[int, int]:
    """The offsets `[first, end)` that the options mean in a partition. Raises ValueError, OSError."""
    begins = offset_asked_for(found, options.start)
    ends = offset_asked_for(found, options.end)
    ends = END_OF_OFFSETS if ends == LATEST else ends
    if options.is_committed_only:
        ends = min(ends, last_stable_offset(found))
    return (0 if begins == EARLIEST else begins), ends


def offset_asked_for(found: PartitionDirectory, bound: Bound) -> int:
    """The offset that a bound means in a partition, EARLIEST or LATEST; END_OF_OFFSETS behind the youngest record.

    Raises ValueError for a start that no record is as young as, OSError.
    """
    timestamp = bound.timestamp_for(found.topic, found.partition)
    if timestamp is None:
        return bound.offset_for(found.topic, found.partition)
    offset = offset_for_timestamp(found, timestamp)
    if offset is None and not bound.is_lenient:
        raise ValueError(f"{found.name} has no record with a timestamp from {timestamp} on, where reading should start")
    return END_OF_OFFSETS if offset is None else offset


def plan_partition(
    directory: Path,
    found: PartitionDirectory,
    first: int,
    end: int,
    max_bytes: int,
    positions_of: Callable[[SegmentFile], Sequence[int]] = indexed_positions,
) -> Iterator[LogSplit]:
    """The splits of a partition's offsets `[first, end)`, each of about `max_bytes` at most.

    `positions_of` names where batches of a segment begin, rising.
    """
    for index, segment in enumerate(found.segments):
        is_active = index + 1 == len(found.segments)
        following = END_OF_OFFSETS if is_active else found.segments[index + 1].base_offset
        if segment.base_offset >= end or following <= first or (segment.size == 0 and segment.is_file):
            continue
        whole = LogSplit(
            str(directory),
            found.topic,
            found.partition,
            segment,
            0,
            segment.size,
            max(first, segment.base_offset),
            min(end, following),
            is_active,
        )
        is_all = whole.first_offset == segment.base_offset and whole.end_offset == following
        is_small = is_all and whole.end <= max_bytes
        try:
            yield from _cut(whole, max_bytes, [] if is_small else positions_of(segment))
        except OSError as error:
            if not (is_gone(error) or is_unreadable(error, segment.path)):
                raise
            yield whole  # the task that reads it lists the partition again, or names the file


def _cut(whole: LogSplit, max_bytes: int, positions: Sequence[int]) -> Iterator[LogSplit]:
    """The bytes that hold the offsets, as far as the index says, in parts."""
    segment = whole.segment
    before = position_before(segment, positions, whole.first_offset)
    behind = bisect_right(positions, position_before(segment, positions, whole.end_offset - 1))
    end = positions[behind] if behind < len(positions) else whole.end
    inner = [position for position in positions if before < position < end]
    cuts = [before, *_cut_positions(segment, before, inner, max_bytes)]
    bounds = [whole.first_offset, *(_base_offset_at(segment, cut) for cut in cuts[1:]), whole.end_offset]
    for index, (start, stop) in enumerate(zip(cuts, [*cuts[1:], end], strict=True)):
        first, last = max(bounds[index], whole.first_offset), min(bounds[index + 1], whole.end_offset)
        if first < last:
            is_last = whole.is_active and stop == whole.end
            yield replace(whole, start=start, end=stop, first_offset=first, end_offset=last, is_active=is_last)


def _cut_positions(segment: SegmentFile, start: int, positions: Sequence[int], max_bytes: int) -> list[int]:
    """Where to cut, about every `max_bytes`. A position where no batch begins would break the reading there."""
    cuts = [start]
    if not positions:
        return []
    with open_segment(segment) as file:
        for position in positions:
            if position - cuts[-1] >= max_bytes and is_batch_at(file, position, segment.base_offset):
                cuts.append(position)
    return cuts[1:]


def _base_offset_at(segment: SegmentFile, position: int) -> int:
    with open_segment(segment) as file:
        return int.from_bytes(file.read(position, 8), "big")


def pack(items: Sequence[Item], size_of: Callable[[Item], int], max_bytes: int) -> list[tuple[Item, ...]]:
    """Neighbours together, up to `max_bytes` with what opening each costs; one that is larger is alone."""
    groups: list[tuple[Item, ...]] = []
    group: list[Item] = []
    size = 0
    for item in items:
        cost = size_of(item) + OPEN_COST_BYTES
        if group and size + cost > max_bytes:
            groups.append(tuple(group))
            group, size = [], 0
        group.append(item)
        size += cost
    return [*groups, tuple(group)] if group else groups
