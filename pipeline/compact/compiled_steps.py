"""The heavy steps of a compaction by compiled loops: which keys are latest, which records stay, the rebuilt batches.

Leaves the bytes that PlainSteps leaves (a test compares them over random histories). What decides about a record is
`record_stays` of storage/compaction, compiled; batches that are not as our own builder encodes them go to the plain
steps, one by one. Needs numpy and numba.

Sketch of costs for records of 100 bytes: 40 ns to walk a record, 60 to put its key, 30 to look it up, 40 to copy it.
"""

import os
from collections.abc import Sequence

import numpy

from ...protocol.records.batch import (
    ATTRIBUTES_POSITION,
    BATCH_HEADER_SIZE,
    COMPRESSION_TYPE_MASK,
    CRC_POSITION,
    DELETE_HORIZON_FLAG,
    HEADER,
    LOG_APPEND_TIME_FLAG,
    LOG_OVERHEAD,
    MAGIC,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    TRANSACTIONAL_FLAG,
    UINT32,
    BatchHeader,
    Buffer,
)
from ...protocol.records.builder import assemble_batch
from ...protocol.records.checksum import crc32c
from ...protocol.records.compression import compress
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
from .compiled_map import CompiledOffsetMap, pack
from .key_table import unaligned_words
from .record_copy import copy_records, first_rows, judge, read_marks, set_marks, size_of_copies
from .record_rows import TIMESTAMP, Flags, walk

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
        payload, rows, bounds, _ = self._walked
        headers = [self._chunk.headers[self._batches[number]] for number, _ in orders]
        numbers = numpy.array([number for number, _ in orders], dtype=numpy.int64)
        first_kept = first_rows(bounds, numbers, self._stays)
        bases = numpy.array(
            [
                int(rows[row, TIMESTAMP]) if horizon is None else horizon
                for row, (_, horizon) in zip(first_kept.tolist(), orders, strict=True)
            ],
            dtype=numpy.int64,
        )
        are_deltas_same = numpy.array(
            [
                base == header.base_timestamp and not header.is_log_append_time
                for base, header in zip(bases.tolist(), headers, strict=True)
            ]
        )
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
        view = memoryview(out.data)
        batches: list[Buffer] = []
        for header, (number, horizon), base, (start, end, max_timestamp) in zip(
            headers, orders, bases.tolist(), places.tolist(), strict=True
        ):
            kept = self.facts[number].kept
            batches.append(_batch(view, start, end, header, base, max_timestamp, kept, horizon is not None))
        return batches


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


def _batch(
    out: memoryview,
    start: int,
    end: int,
    header: BatchHeader,
    base_timestamp: int,
    max_timestamp: int,
    records_count: int,
    has_horizon: bool,
) -> Buffer:
    """The batch whose records lie in `out[start:end]`; an uncompressed one is made in place, in front of them."""
    attributes = header.attributes & _KEPT_FLAGS | (DELETE_HORIZON_FLAG if has_horizon else 0)
    if header.is_log_append_time:
        max_timestamp = header.max_timestamp
    if header.is_compressed:
        return assemble_batch(
            compress(header.compression_type, bytes(out[start:end])),
            records_count=records_count,
            attributes=attributes,
            base_offset=header.base_offset,
            last_offset=header.last_offset,
            base_timestamp=base_timestamp,
            max_timestamp=max_timestamp,
            partition_leader_epoch=header.partition_leader_epoch,
            producer_id=header.producer_id,
            producer_epoch=header.producer_epoch,
            base_sequence=header.base_sequence,
        )
    begin = start - BATCH_HEADER_SIZE
    HEADER.pack_into(
        out,
        begin,
        header.base_offset,
        end - begin - LOG_OVERHEAD,
        header.partition_leader_epoch,
        MAGIC,
        0,
        attributes,
        header.last_offset_delta,
        base_timestamp,
        max_timestamp,
        header.producer_id,
        header.producer_epoch,
        header.base_sequence,
        records_count,
    )
    UINT32.pack_into(out, begin + CRC_POSITION, crc32c(out[begin + ATTRIBUTES_POSITION : end]))
    return out[begin:end]
