"""The facts about a partition's directory that the cleaner needs: its segments, its end, its producers.

Only reads, through the file layer. Reads every batch header once, and of the records only markers. Source: Kafka's
LogSegments, ProducerStateManager.loadFromSnapshot.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from odradek.protocol.common.steps import run_to_end
from odradek.protocol.records.batch import NO_TIMESTAMP
from odradek.protocol.records.errors import CorruptRecordError

from ..errors import CorruptSnapshotError
from ..files.file_names import (
    LOG_SUFFIX,
    OFFSET_INDEX_SUFFIX,
    TIME_INDEX_SUFFIX,
    TRANSACTION_INDEX_SUFFIX,
    base_offset_of,
    segment_path,
)
from ..files.files import READ_ONLY, Files
from ..producers.producer_snapshots import ProducerSnapshots
from ..producers.producer_state import ProducerStateManager, read_marker
from ..segment.batch_scan import scan_headers
from ..segment.transaction_index import AbortedTransaction, TransactionIndex
from .grouping import SegmentInfo
from .retention import LastRecord


@dataclass(slots=True)
class PartitionFacts:
    """Segments in order (the last is the active one), the end offset of each, and the producers at the log's end."""

    segments: list[SegmentInfo]
    next_offsets: dict[int, int]
    """Segment's base offset -> its end offset, which is at least the offset after its last batch, and at most the next
    segment's base offset.
    """
    transaction_indexes: list[tuple[int, TransactionIndex]]
    last_records: dict[int, LastRecord]
    """The last record of each producer that has not expired."""
    first_unstable_offset: int | None
    """The first offset of the oldest undecided transaction."""

    @property
    def log_end_offset(self) -> int:
        """The offset that the next record gets."""
        return self.next_offsets[self.segments[-1].base_offset]

    def aborted_between(self, start_offset: int, end_offset: int) -> list[AbortedTransaction]:
        """The aborted transactions that overlap `[start_offset, end_offset)`."""
        found: list[AbortedTransaction] = []
        for base_offset, index in self.transaction_indexes:
            if self.next_offsets[base_offset] <= start_offset:
                continue
            entries, is_complete = index.collect(start_offset, end_offset)
            found += entries
            if is_complete:
                break
        return found


def read_partition(files: Files, directory: Path, *, now_ms: int, producer_id_expiration_ms: int) -> PartitionFacts:
    """Reads a directory. Producers that are idle for `producer_id_expiration_ms` at `now_ms` are left out.

    Raises CorruptRecordError, CorruptIndexError (transaction index), OSError.
    """
    names = [entry.name for entry in files.list(directory) if entry.is_file()]
    bases = sorted(base for name in names if name.endswith(LOG_SUFFIX) and (base := base_offset_of(name)) is not None)
    producers, replay_from = _newest_snapshot(files, directory, names)
    facts = PartitionFacts([], {}, [], {}, None)
    for base_offset in bases:
        is_active = base_offset == bases[-1]
        facts.segments.append(_read_segment(files, directory, base_offset, facts, producers, replay_from, is_active))
    run_to_end(producers.remove_expired(now_ms, producer_id_expiration_ms))
    facts.transaction_indexes = read_transaction_indexes(files, directory, bases)
    facts.last_records = last_records_of(producers)
    facts.first_unstable_offset = producers.first_undecided_offset
    return facts


def last_records_of(producers: ProducerStateManager) -> dict[int, LastRecord]:
    """The last record of each producer (``UnifiedLog.lastRecordsOfActiveProducers``)."""
    return {
        producer_id: LastRecord(entry.last_offset if entry.last_offset >= 0 else None, entry.producer_epoch)
        for producer_id, entry in producers.producers.items()
    }


def read_transaction_indexes(files: Files, directory: Path, bases: Iterable[int]) -> list[tuple[int, TransactionIndex]]:
    """(base offset, index) of the segments that have one. Raises CorruptIndexError, OSError."""
    found = []
    for base_offset in bases:
        path = segment_path(directory, base_offset, TRANSACTION_INDEX_SUFFIX)
        if files.exists(path):
            found.append((base_offset, TransactionIndex(base_offset, files.read_file(path))))
    return found


def _newest_snapshot(files: Files, directory: Path, names: Iterable[str]) -> tuple[ProducerStateManager, int]:
    """(state, offset) of the newest readable snapshot; an empty state at 0 without one."""
    snapshots = ProducerSnapshots(directory, files, names)
    state = ProducerStateManager()
    for offset in reversed(snapshots.offsets):
        try:
            state.reset(offset, snapshots.read(offset))
        except CorruptSnapshotError:
            continue  # an older one and a longer part of the log give the same state
        return state, offset
    return state, 0


def _read_segment(
    files: Files,
    directory: Path,
    base_offset: int,
    facts: PartitionFacts,
    producers: ProducerStateManager,
    replay_from: int,
    is_active: bool,
) -> SegmentInfo:
    """The facts about one segment. The active one is read up to its first damage, which a killed broker may leave."""
    path = segment_path(directory, base_offset, LOG_SUFFIX)
    largest_timestamp = NO_TIMESTAMP
    next_offset = base_offset
    fd = files.open(path, READ_ONLY)
    try:
        size = files.size(fd)
        for position, header in scan_headers(files, fd, 0, size):
            largest_timestamp = max(largest_timestamp, header.max_timestamp)
            next_offset = header.next_offset
            if not header.has_producer_id or header.base_offset < replay_from:
                continue
            if not header.is_control:
                producers.apply(header, header.base_offset)
            elif (found := read_marker(files.read(fd, header.size_in_bytes, position), header)) is not None:
                producers.apply_marker(header, found[0], header.base_offset, found[1])
    except CorruptRecordError:
        if not is_active:
            raise
    finally:
        files.close(fd)
    facts.next_offsets[base_offset] = next_offset
    return SegmentInfo(
        base_offset,
        size,
        size_of(files, segment_path(directory, base_offset, OFFSET_INDEX_SUFFIX)),
        size_of(files, segment_path(directory, base_offset, TIME_INDEX_SUFFIX)),
        largest_timestamp if largest_timestamp >= 0 else files.modified_ms(path),
    )


def size_of(files: Files, path: Path) -> int:
    """A file's length; 0 if it does not exist."""
    if not files.exists(path):
        return 0
    fd = files.open(path, READ_ONLY)
    try:
        return files.size(fd)
    finally:
        files.close(fd)
