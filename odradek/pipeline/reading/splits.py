"""Plans the tasks of a read: cuts segments into splits, and packs small splits into one task.

Needs no Spark. Reads names, sizes and offset indexes, and for timestamps a few batches. A split is defined by its
offsets; its positions in the file are those at the time of the plan. Source: Spark's FilePartition for the packing.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from glob import glob, has_magic
from pathlib import Path
from typing import NamedTuple, TypeVar

from odradek.storage.segment.transaction_index import AbortedTransaction

from ..decode.living_log import END_OF_OFFSETS, AbsenceReason
from ..directories.file_access import MOST_RESTARTS, URL_MARK, attempts, is_gone, is_unreadable, path_of
from ..directories.log_directories import LogDirectoryError, PartitionDirectory, find_partitions, partition_at
from ..directories.segment_files import SegmentFile, indexed_positions
from .isolation import transaction_tail
from .log_start import NO_LOG_STARTS, LogStarts, read_log_starts, start_beyond_end
from .offset_options import LATEST, ReadBound
from .options import Pruning, ReadOptions
from .positions import first_offset_at, position_before
from .timestamps import offset_for_timestamp

PACKED_BYTES = 16 << 20
"""The maximum bytes of the splits packed into a task, so that 10,000 small partitions do not need 10,000 tasks."""
OPEN_COST_BYTES = 64 << 10
"""The cost of opening a file, in bytes (Spark's spark.sql.files.openCostInBytes is 4 MiB, for remote files)."""
LEAST_SPLIT_BYTES = 64 << 10
"""The smallest split that `minPartitions` causes at first. Splits become smaller only if there are too few tasks."""

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class UnreadPartition:
    """A partition whose read could not be planned. `text`: its directory and the error.

    Without a topic: a file of the log directory that can't be read.
    """

    directory: str
    topic: str | None
    partition: int | None
    text: str


@dataclass(frozen=True, slots=True)
class LogSplit:
    """Offsets `[first_offset, end_offset)` of a segment, in its bytes `[start, end)` at the time of the plan.

    If the file has another inode when it is read, the cleaner has replaced it, and the positions no longer apply.
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
    """Whether the file may end inside a batch: it is the active segment, and the split reaches its end."""
    aborted: tuple[AbortedTransaction, ...] = ()
    """For a read of committed records: aborted transactions with offsets of the split that an index may lack."""


class RecordPlan(NamedTuple):
    """The tasks of a batch read, each with its splits, and the partitions that can't be read."""

    tasks: list[tuple[LogSplit, ...]]
    unread: list[UnreadPartition]


def expand_paths(paths: Iterable[str]) -> list[Path]:
    """The directories of paths and glob patterns, each once. Raises LogDirectoryError for a pattern without matches."""
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


class PartitionRange(NamedTuple):
    """The offsets `[first, end)` of a partition in a log directory, which a read selects."""

    directory: Path
    partition: PartitionDirectory
    first: int
    end: int
    aborted: tuple[AbortedTransaction, ...] = ()


def plan_records(options: ReadOptions, pruning: Pruning) -> RecordPlan:
    """Plans a batch read. Raises LogDirectoryError, OSError, ValueError for a start timestamp after all records."""
    partitions: list[PartitionRange] = []
    unread: list[UnreadPartition] = []
    for directory in expand_paths(options.paths):
        # Read before the directory is listed: the start of a running broker's log can then not be after its end.
        starts = NO_LOG_STARTS if options.includes_deleted else read_log_starts(directory)
        if starts.fault:
            unread.append(UnreadPartition(str(directory), None, None, starts.fault))
        for found in find_partitions(directory, options.topics.listed):
            if not options.topics.has(found.topic, found.partition):
                continue
            if not pruning.allows_partition(found.topic, found.partition):
                continue
            planned = _with_range(found, options, starts)
            if isinstance(planned, str):
                unread.append(UnreadPartition(str(directory), found.topic, found.partition, planned))
            elif planned is not None:
                partitions.append(PartitionRange(directory, *planned))
    return RecordPlan(_packed_splits(partitions, options, pruning), unread)


def _with_range(
    found: PartitionDirectory, options: ReadOptions, starts: LogStarts
) -> tuple[PartitionDirectory, int, int, tuple[AbortedTransaction, ...]] | str | None:
    """Returns (partition as it is now, first offset, end offset, aborted transactions of the end of its log); a text if
    it can't be read; None if it is gone.

    If a file vanishes meanwhile, lists the partition again.
    """
    now: PartitionDirectory | None = found
    for _ in attempts():
        if now is None:
            return None
        if now.fault:
            return now.fault_sentence
        try:
            log_start = starts.of(now)
            return start_beyond_end(now, log_start) or (now, *offset_range(now, options, log_start))
        except OSError as error:
            if not is_gone(error):
                raise
        now = partition_at((found.topic, found.partition), found.path)
    return (
        f"{AbsenceReason.CHANGING}: {found.path}: files disappeared during each of {MOST_RESTARTS + 1} attempts to read"
    )


def _packed_splits(
    partitions: Sequence[PartitionRange], options: ReadOptions, pruning: Pruning
) -> list[tuple[LogSplit, ...]]:
    max_bytes = options.max_partition_bytes
    if options.min_partitions > 1:
        total = sum(segment.size for selected in partitions for segment in selected.partition.segments)
        max_bytes = min(max_bytes, max(total // options.min_partitions, LEAST_SPLIT_BYTES))
    before = -1
    while True:
        splits = [
            split
            for directory, partition, first, end, aborted in partitions
            for split in plan_partition(
                directory,
                partition,
                max(first, pruning.first_offset),
                min(end, pruning.end_offset),
                max_bytes,
                aborted=aborted,
            )
        ]
        packed = pack(splits, lambda split: split.end - split.start, min(max_bytes, PACKED_BYTES))
        if len(packed) >= options.min_partitions or len(packed) == len(splits) == before:
            return packed  # enough tasks, or the indexes have no positions for more splits
        before = len(splits)
        max_bytes //= 2


def offset_range(
    found: PartitionDirectory, options: ReadOptions, log_start: int
) -> tuple[int, int, tuple[AbortedTransaction, ...]]:
    """The offsets `[first, end)` of a partition from `log_start` on that the options select, and the aborted
    transactions of the end of its log.

    Raises ValueError, OSError.
    """
    begins = offset_asked_for(found, options.start, log_start)
    ends = offset_asked_for(found, options.end, log_start)
    ends = END_OF_OFFSETS if ends == LATEST else ends
    if not options.is_committed_only:
        return max(begins, log_start), ends, ()
    tail = transaction_tail(found)
    return max(begins, log_start), min(ends, tail.last_stable_offset), tail.aborted


def offset_asked_for(found: PartitionDirectory, bound: ReadBound, log_start: int) -> int:
    """The offset of a bound in a partition, EARLIEST or LATEST; END_OF_OFFSETS for a timestamp after all records.

    A timestamp means the first record from `log_start` on that is not older.

    Raises ValueError for a start timestamp after all records if the bound is not lenient, OSError.
    """
    timestamp = bound.timestamp_for(found.topic, found.partition)
    if timestamp is None:
        return bound.offset_for(found.topic, found.partition)
    offset = offset_for_timestamp(found, timestamp, log_start)
    if offset is None and not bound.is_lenient:
        raise ValueError(
            f"{found.name} has no record with timestamp {timestamp} or later, at which the read should start"
        )
    return END_OF_OFFSETS if offset is None else offset


def plan_partition(
    directory: Path,
    found: PartitionDirectory,
    first: int,
    end: int,
    max_bytes: int,
    positions_of: Callable[[SegmentFile], Sequence[int]] = indexed_positions,
    aborted: Sequence[AbortedTransaction] = (),
) -> Iterator[LogSplit]:
    """Yields splits of a partition's offsets `[first, end)`, each of about `max_bytes` at most.

    `positions_of` returns rising positions of batches in a segment. `aborted`: see :class:`LogSplit`.
    """
    for split in _plan_partition(directory, found, first, end, max_bytes, positions_of):
        touching = (one for one in aborted if one.last_offset >= split.first_offset)
        inside = tuple(one for one in touching if one.first_offset < split.end_offset)
        yield replace(split, aborted=inside) if inside else split


def _plan_partition(
    directory: Path,
    found: PartitionDirectory,
    first: int,
    end: int,
    max_bytes: int,
    positions_of: Callable[[SegmentFile], Sequence[int]],
) -> Iterator[LogSplit]:
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
            yield whole  # the task that reads it lists the partition again, or reports the error


def _cut(whole: LogSplit, max_bytes: int, positions: Sequence[int]) -> Iterator[LogSplit]:
    """Cuts a split at positions in the index, and leaves out bytes outside of its offsets."""
    segment = whole.segment
    before = position_before(segment, positions, whole.first_offset)
    behind = bisect_right(positions, position_before(segment, positions, whole.end_offset - 1))
    end = positions[behind] if behind < len(positions) else whole.end
    inner = [position for position in positions if before < position < end]
    inner_cuts = _cut_positions(segment, before, inner, max_bytes)
    cuts = [before, *inner_cuts]
    bounds = [whole.first_offset, *inner_cuts.values(), whole.end_offset]
    for index, (start, stop) in enumerate(zip(cuts, [*cuts[1:], end], strict=True)):
        first, last = max(bounds[index], whole.first_offset), min(bounds[index + 1], whole.end_offset)
        if first < last:
            is_last = whole.is_active and stop == whole.end
            yield replace(whole, start=start, end=stop, first_offset=first, end_offset=last, is_active=is_last)


def _cut_positions(segment: SegmentFile, start: int, positions: Sequence[int], max_bytes: int) -> dict[int, int]:
    """The positions at which to cut, about every `max_bytes`, and the first offset there. Skips positions where no
    batch begins.
    """
    cuts: dict[int, int] = {}
    for position in positions:
        if position - start >= max_bytes:
            offset = first_offset_at(segment, position)
            if offset is not None:
                cuts[position] = offset
                start = position
    return cuts


def pack(items: Sequence[Item], size_of: Callable[[Item], int], max_bytes: int) -> list[tuple[Item, ...]]:
    """Groups consecutive items up to `max_bytes`, counting OPEN_COST_BYTES for each. A larger item is alone."""
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
