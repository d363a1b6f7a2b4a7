"""The heavy steps of a compaction by compiled loops: which keys are latest, which records stay, the rebuilt batches.

Leaves the bytes that PlainSteps leaves (a test compares them over random histories). What decides about a record is
`record_stays` of storage/compaction, compiled; batches that are not as our own builder encodes them go to the plain
steps, one by one. Needs numpy and numba.

Sketch of costs for records of 100 bytes: 40 ns to walk a record, 60 to put its key, 30 to look it up, 40 to copy it.
"""

import os
from collections.abc import Sequence

import numpy
from numpy.typing import NDArray

from ...protocol.records.batch import (
    ATTRIBUTES_POSITION,
    BATCH_HEADER_SIZE,
    BATCH_LENGTH_POSITION,
    COMPRESSION_TYPE_MASK,
    CRC_POSITION,
    DELETE_HORIZON_FLAG,
    INT32,
    LOG_APPEND_TIME_FLAG,
    LOG_OVERHEAD,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    TRANSACTIONAL_FLAG,
    UINT32,
    BatchHeader,
    Buffer,
)
from ...protocol.records.checksum import crc32c
from ...protocol.records.compression import CompressionType, compress, compression_type_of
from ...protocol.records.record import Record
from ...storage.compaction.batch_chunk import BatchChunk
from ...storage.compaction.offset_map import KeyLimit, KeyRange, OffsetMap
from ...storage.compaction.record_marks import RecordMarks
from ...storage.compaction.record_steps import (
    Latest,
    PlainSifting,
    Sifted,
    SiftOrder,
    decode,
    drops_tombstones,
    latest_in_dictionary,
)
from ..decode.spans import Bytes, Flags, Int64s
from .compiled_map import CompiledOffsetMap, pack
from .key_table import unaligned_words
from .record_copy import copy_records, first_rows, judge, read_marks, set_marks, size_of_copies
from .record_rows import TIMESTAMP, walk

_KEPT_FLAGS = COMPRESSION_TYPE_MASK | LOG_APPEND_TIME_FLAG | TRANSACTIONAL_FLAG


class CompiledSteps:
    """See RecordSteps."""

    def __init__(self, seed: int | None = None) -> None:
        """`seed`: of the hashes, for tests."""
        self._seed = int.from_bytes(os.urandom(8), "little") if seed is None else seed

    def offset_map(self, limit: KeyLimit, key_range: KeyRange) -> OffsetMap:
        """See RecordSteps."""
        return CompiledOffsetMap(limit, key_range, self._seed)

    def sift(self, chunk: BatchChunk, batches: Sequence[int], order: SiftOrder) -> "CompiledSifting":
        """See RecordSteps."""
        return CompiledSifting(chunk, batches, order)

    def mark(self, chunk: BatchChunk, batches: Sequence[int], offset_map: OffsetMap, marks: RecordMarks) -> None:
        """See RecordSteps."""
        assert isinstance(offset_map, CompiledOffsetMap)
        walked = walk(chunk, batches)
        first_records = chunk.first_records()
        is_latest, is_held = offset_map.find(walked)
        numbers = numpy.array([first_records[index] for index in batches], dtype=numpy.int64)
        set_marks(numpy.frombuffer(marks.bits, dtype=numpy.uint8), numbers, walked.bounds, is_latest & is_held)
        for number in numpy.flatnonzero(~walked.is_walked).tolist():
            index = batches[number]
            latest, held = offset_map.find(pack(decode(chunk, index)))
            for record in numpy.flatnonzero(latest & held).tolist():
                marks.set(first_records[index] + record)


class CompiledSifting:
    """See Sifting."""

    __slots__ = ("_batches", "_chunk", "_order", "_stays", "_walked", "facts")

    def __init__(self, chunk: BatchChunk, batches: Sequence[int], order: SiftOrder) -> None:
        self._chunk = chunk
        self._batches = batches
        self._order = order
        self._walked = walk(chunk, batches)
        rows, bounds = self._walked.rows, self._walked.bounds
        self._stays: Flags = numpy.empty(len(rows), dtype=numpy.bool_)
        drops = numpy.array([drops_tombstones(chunk.headers[index], order.now_ms) for index in batches])
        facts = numpy.empty((len(batches), 4), dtype=numpy.int64)
        judge(rows, bounds, self._is_latest(order.latest), order.latest_offset, drops, self._stays, facts)
        self.facts = [
            Sifted(records, kept, without_key, tombstones > 0)
            for records, kept, without_key, tombstones in facts.tolist()
        ]
        for number in numpy.flatnonzero(~self._walked.is_walked).tolist():
            [self.facts[number]] = self._plain(number).facts

    def _is_latest(self, latest: Latest) -> Flags:
        """For each row whether it is the latest of its key."""
        if not isinstance(latest, RecordMarks):
            assert isinstance(latest, CompiledOffsetMap)
            return latest.find(self._walked)[0]
        first_records = self._chunk.first_records()
        numbers = numpy.array([first_records[index] for index in self._batches], dtype=numpy.int64)
        is_latest: Flags = numpy.empty(len(self._walked.rows), dtype=numpy.bool_)
        read_marks(numpy.frombuffer(latest.bits, dtype=numpy.uint8), numbers, self._walked.bounds, is_latest)
        return is_latest

    def _plain(self, number: int) -> PlainSifting:
        """A batch that could not be walked, by the plain steps."""
        return PlainSifting(self._chunk, [self._batches[number]], self._order, _latest_among)

    def rebuild(self, orders: Sequence[tuple[int, int | None]]) -> list[Buffer]:
        """See Sifting."""
        rebuilt: list[Buffer] = [b""] * len(orders)
        walked = []
        for place, (number, horizon) in enumerate(orders):
            header = self._chunk.headers[self._batches[number]]
            if self._walked.is_walked[number] and _has_valid_producer(header):
                walked.append(place)
            else:
                [rebuilt[place]] = self._plain(number).rebuild([(0, horizon)])
        if walked:
            for place, batch in zip(walked, self._copies([orders[place] for place in walked]), strict=True):
                rebuilt[place] = batch
        return rebuilt

    def _copies(self, orders: Sequence[tuple[int, int | None]]) -> list[Buffer]:
        """Batches of copied records."""
        payload, rows, bounds, _, all_headers = self._walked
        numbers = numpy.array([number for number, _ in orders], dtype=numpy.int64)
        has_horizon = numpy.array([horizon is not None for _, horizon in orders])
        horizons = numpy.array([horizon or 0 for _, horizon in orders], dtype=numpy.int64)
        bases = numpy.where(has_horizon, horizons, rows[first_rows(bounds, numbers, self._stays), TIMESTAMP])
        headers = all_headers[numbers]
        is_append_time = (headers["attributes"] & LOG_APPEND_TIME_FLAG) != 0
        are_deltas_same = (headers["base_timestamp"] == bases) & ~is_append_time
        out = numpy.empty(size_of_copies(rows, bounds, numbers, self._stays), dtype=numpy.uint8)
        places = numpy.empty((len(orders), 3), dtype=numpy.int64)
        copy_records(
            payload,
            unaligned_words(payload),
            rows,
            bounds,
            self._stays,
            numbers,
            bases,
            are_deltas_same,
            out,
            unaligned_words(out),
            places,
        )
        starts, ends, max_timestamps = places.T
        headers["batch_length"] = ends - starts + BATCH_HEADER_SIZE - LOG_OVERHEAD
        headers["crc"] = 0
        headers["attributes"] = headers["attributes"] & _KEPT_FLAGS | has_horizon * DELETE_HORIZON_FLAG
        headers["base_timestamp"] = bases
        headers["max_timestamp"] = numpy.where(is_append_time, headers["max_timestamp"], max_timestamps)
        headers["records_count"] = [self.facts[number].kept for number, _ in orders]
        return _batches(out, starts, ends, headers)


def _latest_among(records: Sequence[Record], first_record: int, latest: Latest) -> Sequence[bool]:
    """See LatestAmong."""
    if not isinstance(latest, CompiledOffsetMap):
        return latest_in_dictionary(records, first_record, latest)
    is_latest: list[bool] = latest.find(pack(records))[0].tolist()
    return is_latest


def _has_valid_producer(header: BatchHeader) -> bool:
    """What BatchBuilder would not refuse (MemoryRecordsBuilder.validateProducerState)."""
    if header.producer_id == NO_PRODUCER_ID:
        return not header.is_transactional
    return header.producer_epoch != NO_PRODUCER_EPOCH and header.base_sequence >= 0


def _batches(out: Bytes, starts: Int64s, ends: Int64s, headers: NDArray[numpy.void]) -> list[Buffer]:
    """The batches whose records lie in `out`; headers, without CRC, are put in front of them, and compressed is what is
    to be compressed."""
    begins = starts - BATCH_HEADER_SIZE
    out[begins[:, None] + numpy.arange(BATCH_HEADER_SIZE)] = headers.view(numpy.uint8).reshape(-1, BATCH_HEADER_SIZE)
    view = memoryview(out.data)
    checksums = []
    batches: list[Buffer] = []
    compressions = (headers["attributes"] & COMPRESSION_TYPE_MASK).tolist()
    for begin, end, compression in zip(begins.tolist(), ends.tolist(), compressions, strict=True):
        if compression:
            batches.append(_compressed(view[begin:end], compression_type_of(compression)))
            checksums.append(0)
        else:
            batches.append(view[begin:end])
            checksums.append(crc32c(view[begin + ATTRIBUTES_POSITION : end]))
    crcs = numpy.array(checksums, dtype=">u4").view(numpy.uint8).reshape(-1, 4)
    out[begins[:, None] + numpy.arange(CRC_POSITION, CRC_POSITION + 4)] = crcs
    return batches


def _compressed(batch: memoryview, compression: CompressionType) -> bytes:
    """A batch with its records compressed."""
    section = compress(compression, bytes(batch[BATCH_HEADER_SIZE:]))
    header = bytearray(batch[:BATCH_HEADER_SIZE])
    INT32.pack_into(header, BATCH_LENGTH_POSITION, BATCH_HEADER_SIZE - LOG_OVERHEAD + len(section))
    checksum = crc32c(section, crc32c(memoryview(header)[ATTRIBUTES_POSITION:]))
    UINT32.pack_into(header, CRC_POSITION, checksum)
    return bytes(header) + section
