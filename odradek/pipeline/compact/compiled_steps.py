"""Does the CPU-heavy steps of a compaction in compiled loops: finds latest keys, selects records, rebuilds batches.

Writes the same bytes as PlainSteps (a test compares them over random histories). The compiled `record_stays` of
storage/compaction decides about each record. A batch that BatchBuilder would encode differently is passed to the plain
steps. Needs numpy and numba.

Cost for records of 100 bytes: 40 ns to walk a record, 60 ns to put its key, 30 ns to look it up, 40 ns to copy it.
"""

import os
from collections.abc import Iterator, Sequence

import numpy

from odradek.protocol.records.batch import (
    ATTRIBUTES_POSITION,
    BATCH_HEADER_SIZE,
    BATCH_LENGTH_POSITION,
    COMPRESSION_TYPE_MASK,
    CRC_POSITION,
    INT32,
    LOG_OVERHEAD,
    UINT32,
    Buffer,
)
from odradek.protocol.records.checksum import crc32c
from odradek.protocol.records.compression import compress, compression_type_of
from odradek.protocol.records.record import Record
from odradek.storage.compaction.batch_chunk import BatchChunk
from odradek.storage.compaction.batch_records import record_windows
from odradek.storage.compaction.offset_map import KeyLimit, KeyRange, OffsetMap
from odradek.storage.compaction.plain_steps import (
    FILTER_LIMITS,
    FilterLimits,
    PlainRebuilt,
    PlainRecordFilter,
    latest_in_dictionary,
)
from odradek.storage.compaction.record_marks import RecordMarks
from odradek.storage.compaction.record_steps import Latest, Piece, Rebuilt, RetentionCounts, RetentionInput

from ..decode.spans import Bytes, Flags, Int64s
from .compiled_indexes import CompiledIndexes
from .compiled_map import CompiledOffsetMap, pack
from .key_table import unaligned_words
from .record_copy import copy_records, judge, new_bases, read_marks, set_marks, size_of_copies
from .record_rows import WALK_LIMITS, WalkLimits, walk
from .table_chunk import ATTRIBUTES, HAS_VALID_PRODUCER, TableChunk

KEPT_BYTES = 16 << 20
"""The size in bytes of a block that is allocated and freed once. glibc's malloc then keeps freed blocks of up to this
size, and twice as much in all, for the next chunk. Otherwise it would return their pages to the system after each
chunk, which costs a tenth of the time for records of 1 KiB. Source: mallopt(3), M_MMAP_THRESHOLD."""


class CompiledSteps:
    """RecordSteps (storage/compaction/record_steps.py) as compiled loops."""

    chunk_type = TableChunk

    def __init__(
        self,
        seed: int | None = None,
        filter_limits: FilterLimits = FILTER_LIMITS,
        walk_limits: WalkLimits = WALK_LIMITS,
    ) -> None:
        """`seed`: the seed of the key hashes; random by default, fixed in tests. `filter_limits`: for the batches that
        are left to the plain steps."""
        self._filter_limits = filter_limits
        self._walk_limits = walk_limits
        self._seed = int.from_bytes(os.urandom(8), "little") if seed is None else seed
        numpy.empty(KEPT_BYTES, dtype=numpy.uint8)  # freed at once, see KEPT_BYTES

    def offset_map(self, limit: KeyLimit, key_range: KeyRange) -> OffsetMap:
        """An empty map."""
        return CompiledOffsetMap(limit, key_range, self._seed, self._filter_limits, self._walk_limits)

    def indexes(self, base_offset: int, index_interval_bytes: int) -> CompiledIndexes:
        """The empty indexes of a new segment."""
        return CompiledIndexes(base_offset, index_interval_bytes)

    def filter_records(
        self, chunk: BatchChunk, batches: Sequence[int], order: RetentionInput
    ) -> "CompiledRecordFilter | PlainRecordFilter":
        """Decides for each record of the first of these batches whether it stays."""
        if chunk.is_converted:  # messages of format 0 and 1 have rules of their own
            return PlainRecordFilter(chunk, batches, order, self._filter_limits, _latest_among)
        return CompiledRecordFilter(chunk, batches, order, self._filter_limits, self._walk_limits)

    def mark(self, chunk: BatchChunk, batches: Sequence[int], offset_map: OffsetMap, marks: RecordMarks) -> None:
        """Marks each record whose key is in the map's range, unless the map has a later record of that key."""
        assert isinstance(offset_map, CompiledOffsetMap)
        first_records = chunk.first_records()
        while batches:
            walked = walk(chunk, batches, self._walk_limits)
            is_latest, is_held = offset_map.find(walked)
            some, batches = batches[: len(walked.is_walked)], batches[len(walked.is_walked) :]
            numbers = numpy.array([first_records[index] for index in some], dtype=numpy.int64)
            set_marks(numpy.frombuffer(marks.bits, dtype=numpy.uint8), numbers, walked.bounds, is_latest & is_held)
            for number in numpy.flatnonzero(~walked.is_walked).tolist():
                first_record = first_records[some[number]]
                for records in record_windows(chunk, some[number], self._filter_limits.records_held):
                    latest, held = offset_map.find(pack(records))
                    for record in numpy.flatnonzero(latest & held).tolist():
                        marks.set(first_record + record)
                    first_record += len(records)


class CompiledRecordFilter:
    """The record filter of some batches: decides in compiled loops which of their records stay."""

    __slots__ = (
        "_batches",
        "_chunk",
        "_filter_limits",
        "_kept",
        "_order",
        "_outcomes",
        "_stays",
        "_walked",
        "outcomes",
        "total",
    )

    def __init__(
        self,
        chunk: BatchChunk,
        batches: Sequence[int],
        order: RetentionInput,
        filter_limits: FilterLimits,
        walk_limits: WalkLimits,
    ) -> None:
        self._chunk = chunk
        self._filter_limits = filter_limits
        self._order = order
        self._walked = walk(chunk, batches, walk_limits)
        self._batches = batches = batches[: len(self._walked.is_walked)]
        _, rows, bounds, is_walked, table = self._walked
        self._stays: Flags = numpy.empty(len(rows), dtype=numpy.bool_)
        self._kept: Int64s = numpy.empty(len(batches), dtype=numpy.int64)
        self._outcomes: Int64s = numpy.empty(len(batches), dtype=numpy.int64)
        is_latest = self._is_latest(order.latest)
        without_key = judge(
            rows, bounds, table, is_latest, order.latest_offset, order.now_ms, self._stays, self._kept, self._outcomes
        )
        self.total = RetentionCounts(len(rows), int(self._kept.sum()), int(without_key))
        self.outcomes: list[int] = self._outcomes.tolist()
        for number in numpy.flatnonzero(~is_walked).tolist():
            plain = self._plain(number)
            [self.outcomes[number]] = plain.outcomes
            self.total = RetentionCounts(*(count + other for count, other in zip(self.total, plain.total, strict=True)))

    def _is_latest(self, latest: Latest) -> Flags:
        """A flag for each row: whether it is the latest record of its key."""
        if not isinstance(latest, RecordMarks):
            assert isinstance(latest, CompiledOffsetMap)
            return latest.find(self._walked)[0]
        first_records = self._chunk.first_records()
        numbers = numpy.array([first_records[index] for index in self._batches], dtype=numpy.int64)
        is_latest: Flags = numpy.empty(len(self._walked.rows), dtype=numpy.bool_)
        read_marks(numpy.frombuffer(latest.bits, dtype=numpy.uint8), numbers, self._walked.bounds, is_latest)
        return is_latest

    def _plain(self, number: int) -> PlainRecordFilter:
        """Filters one batch that could not be walked, by the plain steps."""
        return PlainRecordFilter(self._chunk, [self._batches[number]], self._order, self._filter_limits, _latest_among)

    def rebuild(self, numbers: Sequence[int], new_horizon_ms: int) -> Rebuilt:
        """Rebuilds the batches with these numbers from the records that stay. Raises InvalidRecordError."""
        chosen = numpy.array(numbers, dtype=numpy.int64)
        is_copied = self._walked.is_walked[chosen] & (self._walked.table[chosen, HAS_VALID_PRODUCER] != 0)
        if is_copied.all():
            return self._copies(chosen, new_horizon_ms)
        copies = iter(self._copies(chosen[is_copied], new_horizon_ms).batches())
        return PlainRebuilt(
            [
                next(copies) if can_copy else self._plain(number).rebuild([0], new_horizon_ms).batches[0]
                for number, can_copy in zip(numbers, is_copied.tolist(), strict=True)
            ]
        )

    def _copies(self, numbers: Int64s, new_horizon_ms: int) -> "_Copies":
        """Rebuilds batches by copying the bytes of the records that stay."""
        payload, rows, bounds, _, table = self._walked
        bases = new_bases(rows, bounds, table, self._outcomes, numbers, self._stays, new_horizon_ms)
        out = numpy.empty(size_of_copies(rows, bounds, numbers, self._stays), dtype=numpy.uint8)
        places = numpy.empty((len(numbers), 4), dtype=numpy.int64)
        copy_records(
            numpy.frombuffer(self._chunk.data, dtype=numpy.uint8),
            table,
            payload,
            unaligned_words(payload),
            rows,
            bounds,
            self._stays,
            self._kept,
            self._outcomes,
            numbers,
            bases,
            out,
            unaligned_words(out),
            places,
        )
        codecs = table[numbers, ATTRIBUTES] & COMPRESSION_TYPE_MASK
        return _Copies(out, places, codecs)


class _Copies:
    """The Rebuilt batches of copied records. Compresses those that have a codec, and computes the CRCs."""

    def __init__(self, out: Bytes, places: Int64s, codecs: Int64s) -> None:
        self._view = view = out.data
        self._begins: list[int] = places[:, 3].tolist()
        self._ends: list[int] = (places[:, 3] + places[:, 2]).tolist()
        self._compressed: list[Buffer] = []
        self._facts = places[:, :3]
        if codecs.any():
            spans = zip(self._begins, self._ends, codecs.tolist(), strict=True)
            self._compressed = [_finished(view[begin:end], codec) for begin, end, codec in spans]
            self._facts[:, 2] = [len(batch) for batch in self._compressed]
        else:
            checksum, put = crc32c, UINT32.pack_into
            for begin, end in zip(self._begins, self._ends, strict=True):
                put(view, begin + CRC_POSITION, checksum(view[begin + ATTRIBUTES_POSITION : end]))

    def pieces(self, first: int, end: int) -> Iterator[Piece]:
        """The batches from `first` to `end` (exclusive)."""
        if self._compressed:
            yield Piece(b"".join(self._compressed[first:end]), self._facts[first:end])
        else:
            yield Piece(self._view[self._begins[first] : self._ends[end - 1]], self._facts[first:end])

    def batches(self) -> list[Buffer]:
        """The bytes of each batch."""
        spans = zip(self._begins, self._ends, strict=True)
        return self._compressed or [self._view[begin:end] for begin, end in spans]


def _latest_among(records: Sequence[Record], first_record: int, latest: Latest) -> Sequence[bool]:
    """For each record of a batch, whether it is the latest of its key. `first_record`: its number in the segment."""
    if not isinstance(latest, CompiledOffsetMap):
        return latest_in_dictionary(records, first_record, latest)
    is_latest: list[bool] = latest.find(pack(records))[0].tolist()
    return is_latest


def _finished(batch: memoryview, codec: int) -> Buffer:
    """Completes a batch: compresses its records if it has a codec, and sets its CRC."""
    if not codec:
        UINT32.pack_into(batch, CRC_POSITION, crc32c(batch[ATTRIBUTES_POSITION:]))
        return batch
    section = compress(compression_type_of(codec), bytes(batch[BATCH_HEADER_SIZE:]))
    header = bytearray(batch[:BATCH_HEADER_SIZE])
    INT32.pack_into(header, BATCH_LENGTH_POSITION, BATCH_HEADER_SIZE - LOG_OVERHEAD + len(section))
    checksum = crc32c(section, crc32c(memoryview(header)[ATTRIBUTES_POSITION:]))
    UINT32.pack_into(header, CRC_POSITION, checksum)
    return b"".join((header, section))
