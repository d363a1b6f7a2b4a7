"""The CPU-heavy steps of a cleaning round, as a replaceable interface. The retention rules live in the callers.

`RecordSteps` is the interface. `PlainSteps` works record by record in pure Python; `odradek compact` has compiled steps
(pipeline/compact/compiled_steps.py) with the same output. Both decide about a record with the same function,
`record_stays`. Pure. Source: Kafka's Cleaner.cleanInto and shouldRetainRecord,
MemoryRecords.filterTo.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import compress, islice
from typing import NamedTuple, Protocol

from ...protocol.errors import KafkaError
from ...protocol.records.batch import BatchHeader, Buffer, read_header
from ...protocol.records.builder import BatchBuilder
from ...protocol.records.errors import InvalidRecordError, RecordTooLargeError
from ...protocol.records.large_batch import LargeBatchBuilder
from ...protocol.records.record import Record, decode_records, iterate_in_parts, iterate_outlines, iterate_records
from .batch_chunk import BatchChunk
from .cleaned_indexes import CleanedIndexes, IndexedBatches
from .offset_map import DictionaryOffsetMap, KeyLimit, KeyRange, OffsetMap
from .record_marks import RecordMarks

MOST_RECORDS_HELD = 1 << 14
"""The most decoded records of one batch in memory at once, about 4 MB. A batch with more is decoded twice."""
MOST_RECORDS_SIFTED = 1 << 17
MOST_BYTES_SIFTED = 16 << 20
"""`sift` ends after the batch with which it holds this many records, or this many bytes of decompressed values.

If one batch alone has more bytes, its records are not held: it is decoded again when it is rebuilt.
"""

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


class Rebuilt(Protocol):
    """Batches that were rebuilt, in their order."""

    def pieces(self, first: int, end: int) -> Iterable[Piece]:
        """The batches from `first` to `end` (exclusive)."""
        ...


class Sifting(Protocol):
    """The outcomes of a number of batches, in their order."""

    @property
    def total(self) -> RetentionCounts:
        """The counts of all these batches."""
        ...

    @property
    def outcomes(self) -> Sequence[int]:
        """EMPTY, WHOLE, REBUILT or WITH_HORIZON for each batch that was sifted: at least the first one."""
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

    def sift(self, chunk: BatchChunk, batches: Sequence[int], order: RetentionInput) -> Sifting:
        """Decides for every record whether it stays, batch by batch until the records held reach a limit.

        The number of `outcomes` says how many of the batches were sifted.
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


class PlainSteps:
    """The steps in pure Python."""

    chunk_type = BatchChunk

    def offset_map(self, limit: KeyLimit, key_range: KeyRange) -> OffsetMap:
        """See RecordSteps."""
        return DictionaryOffsetMap(limit, key_range)

    def indexes(self, base_offset: int, index_interval_bytes: int) -> CleanedIndexes:
        """See RecordSteps."""
        return CleanedIndexes(base_offset, index_interval_bytes)

    def sift(self, chunk: BatchChunk, batches: Sequence[int], order: RetentionInput) -> "PlainSifting":
        """See RecordSteps."""
        return PlainSifting(chunk, batches, order)

    def mark(self, chunk: BatchChunk, batches: Sequence[int], offset_map: OffsetMap, marks: RecordMarks) -> None:
        """See RecordSteps."""
        assert isinstance(offset_map, DictionaryOffsetMap)
        first_records = chunk.first_records()
        for index in batches:
            for number, record in enumerate(outlines_in(chunk, index), first_records[index]):
                key = record.key
                if key is not None and offset_map.holds(key) and record.offset >= offset_map.get(key):
                    marks.set(number)


class PlainSifting:
    """See Sifting. Holds the records that stay; for a large batch, one byte for each record instead."""

    __slots__ = ("_batches", "_chunk", "_kept", "outcomes", "total")

    def __init__(
        self, chunk: BatchChunk, batches: Sequence[int], order: RetentionInput, latest_among: LatestAmong | None = None
    ) -> None:
        """`latest_among` finds the latest among the records of a batch. The default is for a DictionaryOffsetMap and
        for marks.
        """
        self._chunk = chunk
        self._batches = batches
        self._kept: list[list[Record] | bytearray] = []
        self.outcomes: list[int] = []
        all_records = all_kept = all_without_key = held = size = 0
        first_records = chunk.first_records() if isinstance(order.latest, RecordMarks) else [0] * len(chunk.headers)
        for index in batches:
            sift = _sift_windows if chunk.headers[index].records_count > MOST_RECORDS_HELD else _sift_whole
            sifted = sift(chunk, index, order, latest_among or latest_in_dictionary, first_records[index])
            header = chunk.headers[index]
            counts = sifted.counts
            all_records += counts.records
            all_kept += counts.kept
            all_without_key += counts.without_key
            self.outcomes.append(
                batch_outcome(counts.records, counts.kept, sifted.keeps_tombstone, header.has_delete_horizon)
            )
            self._kept.append(sifted.kept)
            if isinstance(sifted.kept, list):
                held += counts.kept
                size += _bytes_of(sifted.kept) if header.is_compressed else 0  # uncompressed: no more than the chunk
            if held >= MOST_RECORDS_SIFTED or size >= MOST_BYTES_SIFTED:
                break
        self.total = RetentionCounts(all_records, all_kept, all_without_key)

    def rebuild(self, numbers: Sequence[int], new_horizon_ms: int) -> "PlainRebuilt":
        """See Sifting."""
        rebuilt = []
        for number in numbers:
            index, kept = self._batches[number], self._kept[number]
            header = self._chunk.headers[index]
            horizon = new_horizon_ms if self.outcomes[number] == WITH_HORIZON else header.delete_horizon_ms
            try:
                if isinstance(kept, list):
                    rebuilt.append(rebuilt_batch(header, kept, horizon))
                else:
                    rebuilt.append(rebuilt_large_batch(header, compress(parts_in(self._chunk, index), kept), horizon))
            except KafkaError as error:
                raise self._chunk.refusal(index, error) from error
        return PlainRebuilt(rebuilt)


class _Sifted(NamedTuple):
    """What was decided about one batch. `kept`: the records that stay, or a byte for each record, 1 if it stays."""

    counts: RetentionCounts
    keeps_tombstone: bool
    kept: list[Record] | bytearray


def _sift_whole(
    chunk: BatchChunk, index: int, order: RetentionInput, latest_among: LatestAmong, first_record: int
) -> _Sifted:
    """Sifts a batch whose records may all be in memory, if they have MOST_BYTES_SIFTED at most."""
    try:
        records = decode(chunk, index, MOST_BYTES_SIFTED)
    except RecordTooLargeError:
        return _sift_windows(chunk, index, order, latest_among, first_record)
    stays, without_key = _stays(chunk.headers[index], records, order, latest_among(records, first_record, order.latest))
    kept = list(compress(records, stays))
    keeps_tombstone = any(record.value is None for record in kept)
    return _Sifted(RetentionCounts(len(records), len(kept), without_key), keeps_tombstone, kept)


def _sift_windows(
    chunk: BatchChunk, index: int, order: RetentionInput, latest_among: LatestAmong, first_record: int
) -> _Sifted:
    """Sifts a large batch, MOST_RECORDS_HELD of its records at a time."""
    all_stays = bytearray()
    all_without_key = 0
    keeps_tombstone = False
    for records in record_windows(chunk, index):
        is_latest = latest_among(records, first_record + len(all_stays), order.latest)
        stays, without_key = _stays(chunk.headers[index], records, order, is_latest)
        all_stays += bytes(stays)
        all_without_key += without_key
        keeps_tombstone = keeps_tombstone or any(record.value is None for record in compress(records, stays))
    return _Sifted(RetentionCounts(len(all_stays), sum(all_stays), all_without_key), keeps_tombstone, all_stays)


def _stays(
    header: BatchHeader, records: Sequence[Record], order: RetentionInput, is_latest: Sequence[bool]
) -> tuple[list[bool], int]:
    """(for each record whether it stays, the number of records without a key)."""
    drops = drops_tombstones(header.has_delete_horizon, header.base_timestamp, order.now_ms)
    end = order.latest_offset
    stays = [
        record_stays(record.offset > end, record.key is not None, latest, record.value is not None, drops)
        for record, latest in zip(records, is_latest, strict=True)
    ]
    return stays, sum(1 for record in records if record.key is None and record.offset <= end)


def _bytes_of(records: Sequence[Record]) -> int:
    return sum(len(record.value or b"") for record in records)


class PlainRebuilt:
    """See Rebuilt."""

    def __init__(self, batches: Sequence[Buffer]) -> None:
        self.batches = batches

    def pieces(self, first: int, end: int) -> Iterator[Piece]:
        """See Rebuilt."""
        return map(piece_of, self.batches[first:end])


def piece_of(batch: Buffer) -> Piece:
    """One batch to write."""
    header = read_header(batch)
    return Piece(batch, [(header.last_offset, header.max_timestamp, header.size_in_bytes)])


def decode(chunk: BatchChunk, index: int, most_bytes: int) -> list[Record]:
    """The records of a batch. Raises InvalidRecordError with the batch's place; RecordTooLargeError if they have more
    than `most_bytes` when decompressed.
    """
    try:
        return decode_records(chunk.batch(index), chunk.headers[index], max_decompressed_size=most_bytes)
    except RecordTooLargeError:
        raise
    except KafkaError as error:
        raise chunk.refusal(index, error) from error


def records_in(chunk: BatchChunk, index: int) -> Iterator[Record]:
    """The records of a batch, one at a time. Raises InvalidRecordError with its place."""
    try:
        yield from iterate_records(chunk.batch(index), chunk.headers[index])
    except KafkaError as error:
        raise chunk.refusal(index, error) from error


def parts_in(chunk: BatchChunk, index: int) -> Iterator[tuple[Record, list[bytes] | None]]:
    """The records of a batch, one at a time, with large values in parts. Raises InvalidRecordError with its place."""
    try:
        yield from iterate_in_parts(chunk.batch(index), chunk.headers[index])
    except KafkaError as error:
        raise chunk.refusal(index, error) from error


def outlines_in(chunk: BatchChunk, index: int) -> Iterator[Record]:
    """As `records_in`, with b"" in place of each value."""
    try:
        yield from iterate_outlines(chunk.batch(index), chunk.headers[index])
    except KafkaError as error:
        raise chunk.refusal(index, error) from error


def record_windows(chunk: BatchChunk, index: int) -> Iterator[list[Record]]:
    """As `outlines_in`, MOST_RECORDS_HELD at a time."""
    records = outlines_in(chunk, index)
    while window := list(islice(records, MOST_RECORDS_HELD)):
        yield window


def latest_in_dictionary(records: Sequence[Record], first_record: int, latest: Latest) -> list[bool]:
    """See LatestAmong."""
    if isinstance(latest, RecordMarks):
        return [latest.is_set(first_record + number) for number in range(len(records))]
    assert isinstance(latest, DictionaryOffsetMap)
    return [record.key is not None and record.offset >= latest.get(record.key) for record in records]


def rebuilt_batch(header: BatchHeader, kept: Iterable[Record], delete_horizon_ms: int | None) -> bytes:
    """A batch with the records that stay. Everything else except its base timestamp is unchanged.

    Raises InvalidRecordError if the records do not make a valid batch.
    """
    builder = _builder(header, delete_horizon_ms)
    try:
        for offset, timestamp, key, value, headers in kept:
            builder.append(timestamp, key, value, headers, offset)
        return builder.build(header.last_offset)
    except ValueError as error:
        raise InvalidRecordError(f"the batch can't be rebuilt: {error}") from error


def rebuilt_large_batch(
    header: BatchHeader, kept: Iterable[tuple[Record, list[bytes] | None]], delete_horizon_ms: int | None
) -> bytes:
    """As `rebuilt_batch`, for records as `parts_in` yields them: one is in memory at a time."""
    builder = LargeBatchBuilder(_builder(header, delete_horizon_ms))
    try:
        for record, parts in kept:
            builder.append(record, parts)
        return builder.build(header.last_offset)
    except ValueError as error:
        raise InvalidRecordError(f"the batch can't be rebuilt: {error}") from error


def _builder(header: BatchHeader, delete_horizon_ms: int | None) -> BatchBuilder:
    return BatchBuilder(
        compression=header.compression_type,
        base_offset=header.base_offset,
        partition_leader_epoch=header.partition_leader_epoch,
        producer_id=header.producer_id,
        producer_epoch=header.producer_epoch,
        base_sequence=header.base_sequence,
        is_transactional=header.is_transactional,
        is_control=header.is_control,
        log_append_time_ms=header.max_timestamp if header.is_log_append_time else None,
        delete_horizon_ms=delete_horizon_ms,
    )
