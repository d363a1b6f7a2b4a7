"""The order for a round over an open log, and its outcome: the data exchanged with the cleaning process.

Never does: changing the log itself. Only its sealed segments are read, and `.cleaned` files are written beside them.
Invariant: an order can be pickled, and stays true while the round runs; otherwise the round is discarded. Source:
Kafka's Cleaner.clean and LogToClean.
"""

from dataclasses import dataclass
from pathlib import Path

from ..files.file_names import CLEANED_SUFFIX, OFFSET_INDEX_SUFFIX, SEGMENT_SUFFIXES, TIME_INDEX_SUFFIX, segment_path
from ..files.files import Files
from ..log.log_config import LogConfig
from ..segment.transaction_index import TransactionIndex
from .cleaning import CleanedGroup, PartitionCleaner, RoundResult
from .grouping import CleanableRange, SegmentInfo
from .offset_map import KeyLimit
from .pace import Pace
from .partition_facts import PartitionFacts, read_transaction_indexes, size_of
from .retention import LastRecord

LEAST_BUFFER_BYTES = 4096
END = 1 << 63
"""Greater than every offset."""


@dataclass(frozen=True, slots=True)
class RoundLimits:
    """The limits of a round (log.cleaner.*): keys in memory, bytes read or written at a time, bytes a second."""

    max_map_entries: int
    buffer_bytes: int
    bytes_per_second: float


@dataclass(frozen=True, slots=True)
class CleaningOrder:
    """One round over one partition as of `now_ms`. `segments`: (base offset, size) of all sealed segments."""

    directory: Path
    config: LogConfig
    now_ms: int
    offsets: CleanableRange
    segments: tuple[tuple[int, int], ...]
    active_base_offset: int
    active_transactions: bytes
    """The active segment's transaction index, which may abort transactions of sealed segments."""
    last_records: dict[int, LastRecord]
    limits: RoundLimits


@dataclass(slots=True)
class CleaningOutcome:
    """The outcome of a round: the totals, and the groups whose `.cleaned` files can be swapped in."""

    result: RoundResult
    groups: list[CleanedGroup]
    bytes_read: int
    bytes_written: int


def carry_out(order: CleaningOrder, files: Files, pace: Pace) -> CleaningOutcome:
    """Writes the `.cleaned` files of the groups that change. Removes them after an error.

    Raises KafkaError for damage (naming file and position), CorruptIndexError, OSError, CleaningStoppedError.
    """
    cleaner = PartitionCleaner(
        files,
        order.directory,
        order.config,
        order.now_ms,
        pace=pace,
        buffer_bytes=max(order.limits.buffer_bytes, LEAST_BUFFER_BYTES),
    )
    is_done = False
    try:
        limit = KeyLimit(entries=order.limits.max_map_entries)
        result, groups = cleaner.write_cleaned(_facts(order, files), order.offsets, limit)
        changed = [group for group in groups if group.is_changed]
        for group in groups:
            if not group.is_changed:
                _discard(files, order.directory, group.base_offset)
        is_done = True
    finally:
        if not is_done:
            discard_cleaned(files, order.directory)
    return CleaningOutcome(result, changed, pace.bytes_read, pace.bytes_written)


def discard_cleaned(files: Files, directory: Path) -> None:
    """Removes all `.cleaned` files of a partition. Raises OSError."""
    if files.exists(directory):
        for entry in files.list(directory):
            if entry.name.endswith(CLEANED_SUFFIX):
                files.remove(directory / entry.name)


def _discard(files: Files, directory: Path, base_offset: int) -> None:
    for suffix in SEGMENT_SUFFIXES:
        files.remove(segment_path(directory, base_offset, suffix + CLEANED_SUFFIX))


def _facts(order: CleaningOrder, files: Files) -> PartitionFacts:
    """The facts about the partition for the cleaner, without reading any batch."""
    bases = [base_offset for base_offset, _ in order.segments]
    segments = [
        SegmentInfo(
            base_offset,
            size,
            size_of(files, segment_path(order.directory, base_offset, OFFSET_INDEX_SUFFIX)),
            size_of(files, segment_path(order.directory, base_offset, TIME_INDEX_SUFFIX)),
            0,
        )
        for base_offset, size in order.segments
        if base_offset < order.offsets.first_uncleanable_offset
    ]
    active = order.active_base_offset
    next_offsets = dict(zip([*bases, active], [*bases, active, END][1:], strict=True))
    indexes = read_transaction_indexes(files, order.directory, bases)
    indexes.append((active, TransactionIndex(active, order.active_transactions)))
    return PartitionFacts(segments, next_offsets, indexes, order.last_records, None)
