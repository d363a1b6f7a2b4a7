"""The CPU-heavy steps of a cleaning round, as a replaceable interface. The retention rules live in the callers.

`PlainSteps` (plain_steps.py) works record by record in pure Python; `odradek compact` has compiled steps
(pipeline/compact/compiled_steps.py) with the same output. Both decide about a record with the same function,
`record_stays`. Pure. Source: Kafka's Cleaner.cleanInto and shouldRetainRecord, MemoryRecords.filterTo.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, Protocol

from odradek.protocol.records.batch import Buffer, read_header
from odradek.protocol.records.record import Record

from .batch_chunk import BatchChunk
from .cleaned_indexes import CleanedIndexes, IndexedBatches
from .offset_map import KeyLimit, KeyRange, OffsetMap
from .record_marks import RecordMarks

Latest = OffsetMap | RecordMarks
"""Tells whether a record is the latest of its key: a map of all keys, or marks that maps of key ranges have set."""

LatestAmong = Callable[[Sequence[Record], int, Latest], Sequence[bool]]
"""For each record of a batch, whether it is the latest of its key. The int is the number of the first record in the
segment.
"""


class RetentionInput(NamedTuple):
    """The input for decisions about data records. Records after `latest_offset` stay."""

    latest: Latest
    latest_offset: int
    now_ms: int
    drops_legacy_tombstones: bool = False
    """Whether tombstones of message format 0 and 1 go, which have no delete horizon: the segment was written more than
    delete.retention.ms before the last one that is clean already (Cleaner.cleanSegments).
    """


class RetentionCounts(NamedTuple):
    """Numbers of records: all, those that stay, those without a key."""

    records: int
    kept: int
    without_key: int


EMPTY, WHOLE, REBUILT, WITH_HORIZON = range(4)
"""The outcome for a batch: no record stays, it stays unchanged, it is rebuilt, it is rebuilt with a new delete
horizon.
"""


class Piece(NamedTuple):
    """Batches to write one after the other."""

    data: Buffer
    batches: IndexedBatches


def piece_of(batch: Buffer) -> Piece:
    """One batch to write."""
    header = read_header(batch)
    return Piece(batch, [(header.last_offset, header.max_timestamp, header.size_in_bytes)])


class Rebuilt(Protocol):
    """Batches that were rebuilt, in their order."""

    def pieces(self, first: int, end: int) -> Iterable[Piece]:
        """The batches from `first` to `end` (exclusive)."""
        ...


class RecordFilter(Protocol):
    """The outcomes of a number of batches, in their order."""

    @property
    def total(self) -> RetentionCounts:
        """The counts of all these batches."""
        ...

    @property
    def outcomes(self) -> Sequence[int]:
        """EMPTY, WHOLE, REBUILT or WITH_HORIZON for each batch that was filtered: at least the first one."""
        ...

    def rebuild(self, numbers: Sequence[int], new_horizon_ms: int) -> Rebuilt:
        """Rebuilds the batches with these numbers from the records that stay.

        Those WITH_HORIZON get `new_horizon_ms`; the others keep their delete horizon. Raises InvalidRecordError for
        records that a batch can't hold.
        """
        ...


class RecordSteps(Protocol):
    """The steps that decode the records of data batches. All raise InvalidRecordError with the place of the batch."""

    @property
    def chunk_type(self) -> type[BatchChunk]:
        """The type of chunk that the other steps need."""
        ...

    def offset_map(self, limit: KeyLimit, key_range: KeyRange) -> OffsetMap:
        """An empty map."""
        ...

    def indexes(self, base_offset: int, index_interval_bytes: int) -> CleanedIndexes:
        """The empty indexes of a new segment."""
        ...

    def filter_records(self, chunk: BatchChunk, batches: Sequence[int], order: RetentionInput) -> RecordFilter:
        """Decides for every record whether it stays, batch by batch until the records held reach a limit.

        The number of `outcomes` says how many of the batches were filtered.
        """
        ...

    def mark(self, chunk: BatchChunk, batches: Sequence[int], offset_map: OffsetMap, marks: RecordMarks) -> None:
        """Marks each record whose key is in the map's range, unless the map has a later record of that key."""
        ...


def record_stays(is_behind_map: bool, has_key: bool, is_latest: bool, has_value: bool, drops_tombstones: bool) -> bool:
    """Whether a data record stays: it is the latest of its key, or after the map's last offset (`is_behind_map`).

    A tombstone that is the latest of its key stays until its horizon. A record without a key does not stay.
    """
    if is_behind_map:
        return True
    return has_key and is_latest and (has_value or not drops_tombstones)


def drops_tombstones(has_delete_horizon: bool, base_timestamp: int, now_ms: int) -> bool:
    """Whether a batch's delete horizon has passed, so that its tombstones go. The base timestamp has the horizon."""
    return has_delete_horizon and now_ms >= base_timestamp


def batch_outcome(records: int, kept: int, keeps_tombstone: bool, has_delete_horizon: bool) -> int:
    """The outcome for a batch of `records` records. A batch that keeps a tombstone gets a delete horizon if it has
    none.
    """
    if kept == 0:
        return 0
    if keeps_tombstone and not has_delete_horizon:
        return 3
    return 1 if kept == records else 2


assert (EMPTY, WHOLE, REBUILT, WITH_HORIZON) == (0, 1, 2, 3), "batch_outcome has them as numbers: it is compiled too"
