"""The steps of a cleaning round (record_steps.py) record by record, in pure Python. Pure."""

from collections.abc import Iterator, Sequence
from itertools import compress
from typing import NamedTuple

from odradek.protocol.errors import KafkaError
from odradek.protocol.records.batch import Buffer
from odradek.protocol.records.errors import RecordTooLargeError
from odradek.protocol.records.record import Record
from odradek.protocol.records.up_conversion import converted_batch

from .batch_chunk import BatchChunk
from .batch_records import (
    decode,
    outlines_in,
    parts_in,
    rebuilt_batch,
    rebuilt_large_batch,
    record_windows,
    records_in,
)
from .cleaned_indexes import CleanedIndexes
from .offset_map import DictionaryOffsetMap, KeyLimit, KeyRange, OffsetMap
from .record_marks import RecordMarks
from .record_steps import (
    WITH_HORIZON,
    Latest,
    LatestAmong,
    Piece,
    RetentionCounts,
    RetentionInput,
    batch_outcome,
    drops_tombstones,
    piece_of,
    record_stays,
)


class FilterLimits(NamedTuple):
    """How many records of batches the steps hold at once."""

    records_held: int = 1 << 14
    """The most decoded records of one batch in memory at once, about 4 MB. A batch with more is decoded twice."""
    records_filtered: int = 1 << 17
    """`filter_records` ends after the batch with which it holds this many records."""
    bytes_filtered: int = 16 << 20
    """`filter_records` ends after the batch with which it holds this many bytes of decompressed values.

    If one batch alone has more bytes, its records are not held: it is decoded again when it is rebuilt.
    """


FILTER_LIMITS = FilterLimits()


class PlainSteps:
    """The steps in pure Python."""

    chunk_type = BatchChunk

    def __init__(self, limits: FilterLimits = FILTER_LIMITS) -> None:
        self._limits = limits

    def offset_map(self, limit: KeyLimit, key_range: KeyRange) -> OffsetMap:
        """An empty map."""
        return DictionaryOffsetMap(limit, key_range)

    def indexes(self, base_offset: int, index_interval_bytes: int) -> CleanedIndexes:
        """The empty indexes of a new segment."""
        return CleanedIndexes(base_offset, index_interval_bytes)

    def filter_records(self, chunk: BatchChunk, batches: Sequence[int], order: RetentionInput) -> "PlainRecordFilter":
        """Decides for every record whether it stays, batch by batch until the records held reach a limit."""
        return PlainRecordFilter(chunk, batches, order, self._limits)

    def mark(self, chunk: BatchChunk, batches: Sequence[int], offset_map: OffsetMap, marks: RecordMarks) -> None:
        """Marks each record whose key is in the map's range, unless the map has a later record of that key."""
        assert isinstance(offset_map, DictionaryOffsetMap)
        first_records = chunk.first_records()
        for index in batches:
            for number, record in enumerate(outlines_in(chunk, index), first_records[index]):
                key = record.key
                if key is not None and offset_map.holds(key) and record.offset >= offset_map.get(key):
                    marks.set(number)


class PlainRecordFilter:
    """The outcomes of batches (`RecordFilter`), and the records that stay; for a large batch, one byte a record."""

    __slots__ = ("_batches", "_chunk", "_kept", "outcomes", "total")

    def __init__(
        self,
        chunk: BatchChunk,
        batches: Sequence[int],
        order: RetentionInput,
        limits: FilterLimits,
        latest_among: LatestAmong | None = None,
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
            filter_batch = (
                _filter_windows if chunk.headers[index].records_count > limits.records_held else _filter_whole
            )
            filtered = filter_batch(
                chunk, index, order, limits, latest_among or latest_in_dictionary, first_records[index]
            )
            header = chunk.headers[index]
            counts = filtered.counts
            all_records += counts.records
            all_kept += counts.kept
            all_without_key += counts.without_key
            self.outcomes.append(
                batch_outcome(counts.records, counts.kept, filtered.keeps_tombstone, header.has_delete_horizon)
            )
            self._kept.append(filtered.kept)
            if isinstance(filtered.kept, list):
                held += counts.kept
                size += _bytes_of(filtered.kept) if header.is_compressed else 0  # uncompressed: no more than the chunk
            if held >= limits.records_filtered or size >= limits.bytes_filtered:
                break
        self.total = RetentionCounts(all_records, all_kept, all_without_key)

    def rebuild(self, numbers: Sequence[int], new_horizon_ms: int) -> "PlainRebuilt":
        """Rebuilds the batches with these numbers from the records that stay, as `RecordFilter.rebuild`."""
        rebuilt = []
        for number in numbers:
            index, kept = self._batches[number], self._kept[number]
            header = self._chunk.headers[index]
            horizon = new_horizon_ms if self.outcomes[number] == WITH_HORIZON else header.delete_horizon_ms
            try:
                if self._chunk.is_converted:
                    stay = kept if isinstance(kept, list) else compress(records_in(self._chunk, index), kept)
                    rebuilt.append(converted_batch(header, stay, horizon))
                elif isinstance(kept, list):
                    rebuilt.append(rebuilt_batch(header, kept, horizon))
                else:
                    rebuilt.append(rebuilt_large_batch(header, compress(parts_in(self._chunk, index), kept), horizon))
            except KafkaError as error:
                raise self._chunk.refusal(index, error) from error
        return PlainRebuilt(rebuilt)


class _FilteredBatch(NamedTuple):
    """What was decided about one batch. `kept`: the records that stay, or a byte for each record, 1 if it stays."""

    counts: RetentionCounts
    keeps_tombstone: bool
    kept: list[Record] | bytearray


def _filter_whole(
    chunk: BatchChunk,
    index: int,
    order: RetentionInput,
    limits: FilterLimits,
    latest_among: LatestAmong,
    first_record: int,
) -> _FilteredBatch:
    """Filters a batch whose records may all be in memory, if they have `bytes_filtered` at most."""
    try:
        records = decode(chunk, index, limits.bytes_filtered)
    except RecordTooLargeError:
        return _filter_windows(chunk, index, order, limits, latest_among, first_record)
    stays, without_key = _stays(chunk, index, records, order, latest_among(records, first_record, order.latest))
    kept = list(compress(records, stays))
    keeps_tombstone = any(record.value is None for record in kept)
    return _FilteredBatch(RetentionCounts(len(records), len(kept), without_key), keeps_tombstone, kept)


def _filter_windows(
    chunk: BatchChunk,
    index: int,
    order: RetentionInput,
    limits: FilterLimits,
    latest_among: LatestAmong,
    first_record: int,
) -> _FilteredBatch:
    """Filters a large batch, `records_held` of its records at a time."""
    all_stays = bytearray()
    all_without_key = 0
    keeps_tombstone = False
    for records in record_windows(chunk, index, limits.records_held):
        is_latest = latest_among(records, first_record + len(all_stays), order.latest)
        stays, without_key = _stays(chunk, index, records, order, is_latest)
        all_stays += bytes(stays)
        all_without_key += without_key
        keeps_tombstone = keeps_tombstone or any(record.value is None for record in compress(records, stays))
    return _FilteredBatch(RetentionCounts(len(all_stays), sum(all_stays), all_without_key), keeps_tombstone, all_stays)


def _stays(
    chunk: BatchChunk, index: int, records: Sequence[Record], order: RetentionInput, is_latest: Sequence[bool]
) -> tuple[list[bool], int]:
    """(for each record of a batch whether it stays, the number of records without a key)."""
    header = chunk.headers[index]
    drops = drops_tombstones(header.has_delete_horizon, header.base_timestamp, order.now_ms)
    if chunk.is_converted:
        drops = order.drops_legacy_tombstones
    end = order.latest_offset
    stays = [
        record_stays(record.offset > end, record.key is not None, latest, record.value is not None, drops)
        for record, latest in zip(records, is_latest, strict=True)
    ]
    return stays, sum(1 for record in records if record.key is None and record.offset <= end)


def _bytes_of(records: Sequence[Record]) -> int:
    return sum(len(record.value or b"") for record in records)


class PlainRebuilt:
    """Batches that were rebuilt, in their order."""

    def __init__(self, batches: Sequence[Buffer]) -> None:
        self.batches = batches

    def pieces(self, first: int, end: int) -> Iterator[Piece]:
        """The batches from `first` to `end` (exclusive)."""
        return map(piece_of, self.batches[first:end])


def latest_in_dictionary(records: Sequence[Record], first_record: int, latest: Latest) -> list[bool]:
    """For each record, whether it is the latest of its key, by marks or by a DictionaryOffsetMap."""
    if isinstance(latest, RecordMarks):
        return [latest.is_set(first_record + number) for number in range(len(records))]
    assert isinstance(latest, DictionaryOffsetMap)
    return [record.key is not None and record.offset >= latest.get(record.key) for record in records]
