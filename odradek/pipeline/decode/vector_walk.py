"""Finds the fields of records like record_walk.py, but with numpy only. Returns the same spans and faults.

Pure. A short Python loop follows the lengths from record to record. The other numbers are read field by field for all
records of all batches at once, so that the speed does not depend on the number of records in a batch. The fault of a
batch is that of its first faulty record.

Cost: 120 ns a record for the loop, and about as much for the fields. The loops of record_walk.py take 15 times as long
if numba does not compile them, so this module stays.
"""

from typing import NamedTuple

import numpy

from .spans import (
    BAD_HEADER,
    BYTES_REMAIN,
    ENDS_INSIDE,
    LONG_NUMBER,
    WRONG_SIZE,
    Bytes,
    Fields,
    Flags,
    Int64s,
    Sections,
    Spans,
)

_MOST_OF_31_BITS = 0x7FFFFFFF


class _Chain(NamedTuple):
    """Records found by following their lengths: the start (after the length field) and the end of each."""

    positions: Int64s
    ends: Int64s
    batches: Int64s
    tail_faults: Int64s
    """For each batch: the fault after the last record found."""


def _chain(data: Bytes, sections: Sections) -> _Chain:
    """Follows the lengths in every batch, up to the first that points outside the batch."""
    view = data.tobytes()  # twice as fast to index as the array's memory
    positions: list[int] = []
    ends: list[int] = []
    found: list[int] = []
    tails: list[int] = []
    rows = sections.possible_counts().tolist()
    for count, said, start, limit in zip(
        rows, sections.counts.tolist(), sections.starts.tolist(), sections.ends.tolist(), strict=True
    ):
        before = len(positions)
        tail = 0 if said == 0 else ENDS_INSIDE
        end = start
        for _ in range(count):
            # Nearly all lengths have one or two bytes. Longer ones take a function call.
            if end + 1 < limit and (byte := view[end]) < 0x80:
                position, tail = end + 1, 0
                end = position + ((byte >> 1) ^ -(byte & 1))
            elif end + 1 < limit and (second := view[end + 1]) < 0x80:
                position, tail = end + 2, 0
                end = position + ((byte & 0x7F | second << 7) >> 1 ^ -(byte & 1))
            else:
                end, position, tail = _next_record(view, end, limit)
                if tail:
                    break
            positions.append(position)
            ends.append(end)
            if not position <= end <= limit:
                tail = ENDS_INSIDE if len(positions) - before < count else BYTES_REMAIN
                break
        if count and not tail and end != limit:
            tail = BYTES_REMAIN
        found.append(len(positions) - before)
        tails.append(tail)
    counted = numpy.array(found, dtype=numpy.int64)
    return _Chain(
        numpy.array(positions, dtype=numpy.int64),
        numpy.array(ends, dtype=numpy.int64),
        numpy.repeat(numpy.arange(len(counted)), counted),
        numpy.array(tails, dtype=numpy.int64),
    )


def _next_record(view: bytes, position: int, limit: int) -> tuple[int, int, int]:
    """Returns (end of the record at `position` by its length, its start after the length field, fault)."""
    if position >= limit:
        return 0, position, ENDS_INSIDE
    byte = view[position]
    if byte < 0x80:
        position += 1
        return position + ((byte >> 1) ^ -(byte & 1)), position, 0
    value = byte & 0x7F
    for index in range(1, 5):
        if position + index >= limit:
            return 0, position, ENDS_INSIDE
        byte = view[position + index]
        value |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            value &= 0xFFFFFFFF
            position += index + 1
            return position + ((value >> 1) ^ -(value & 1)), position, 0
    return 0, position, LONG_NUMBER


class _RecordCursors:
    """A position in each of many records. Reads the next number of all records at once, and moves past it.

    `faults`: the first fault of each record.
    """

    def __init__(self, data: Bytes, positions: Int64s, limits: Int64s) -> None:
        self.data = data
        self.positions = positions
        self.limits = limits
        self.faults = numpy.zeros(len(positions), dtype=numpy.int64)

    def fail(self, is_wrong: Flags, fault: int) -> None:
        """Sets a fault for the records that have none yet."""
        if is_wrong.any():
            self.faults[is_wrong & (self.faults == 0)] = fault

    def _bytes(self, positions: Int64s, limits: Int64s) -> tuple[Int64s, Flags]:
        """The byte at each position (0 past its limit), and a flag for each: whether it is past its limit."""
        is_behind = positions >= limits
        if is_behind.any():
            found = numpy.zeros(len(positions), dtype=numpy.int64)
            inside = ~is_behind
            found[inside] = self.data[positions[inside]]
            return found, is_behind
        return self.data[positions].astype(numpy.int64), is_behind

    def numbers(self, max_size: int) -> Int64s:
        """Returns the zigzag number at each position and moves past it."""
        values, is_behind = self._bytes(self.positions, self.limits)
        self.fail(is_behind, ENDS_INSIDE)
        longer = numpy.flatnonzero(values >= 0x80)
        self.positions = self.positions + 1
        if len(longer):
            self._rest(values, longer, max_size)
        if max_size == 5:
            values &= 0xFFFFFFFF
        halves: Int64s = (values >> 1) & 0x7FFFFFFFFFFFFFFF
        return halves ^ -(values & 1)

    def _rest(self, values: Int64s, longer: Int64s, max_size: int) -> None:
        """Reads the remaining bytes of numbers that have more than one byte."""
        values[longer] &= 0x7F
        for index in range(1, max_size):
            read, is_behind = self._bytes(self.positions[longer], self.limits[longer])
            if is_behind.any():
                behind = longer[is_behind]
                self.faults[behind[self.faults[behind] == 0]] = ENDS_INSIDE
            values[longer] |= (read & 0x7F) << (7 * index)
            self.positions[longer] += 1
            longer = longer[read >= 0x80]
            if not len(longer):
                return
        self.faults[longer[self.faults[longer] == 0]] = LONG_NUMBER

    def fields(self) -> tuple[Int64s, Int64s, Flags]:
        """Returns (starts, ends, null flags) of a field and moves past it. A field is a length and its bytes."""
        lengths = self.numbers(5)
        starts = self.positions
        self.positions = starts + numpy.maximum(lengths, 0)
        return starts, self.positions, lengths < 0


def _skip_headers(cursor: _RecordCursors, ends: Int64s, counts: Int64s) -> None:
    """Moves past the headers of all records that have any, one header of each record at a time."""
    cursor.fail((counts < 0) | (counts > numpy.maximum(ends - cursor.positions, 0)), BAD_HEADER)
    rows = numpy.flatnonzero((counts > 0) & (cursor.faults == 0))
    done = 0
    while len(rows):
        some = _RecordCursors(cursor.data, cursor.positions[rows], cursor.limits[rows])
        lengths = some.numbers(5)
        some.fail((lengths < 0) | (lengths > ends[rows] - some.positions), BAD_HEADER)
        some.positions = some.positions + numpy.clip(lengths, 0, _MOST_OF_31_BITS)
        some.fields()
        cursor.positions[rows] = some.positions
        cursor.faults[rows] = some.faults
        done += 1
        rows = rows[(some.faults == 0) & (counts[rows] > done)]


def _batch_faults(chain: _Chain, faults: Int64s) -> Int64s:
    """The fault of each batch's first faulty record, or the fault after its last record."""
    found = chain.tail_faults.copy()
    rows = numpy.flatnonzero(faults)
    if len(rows):
        batches, first = numpy.unique(chain.batches[rows], return_index=True)
        found[batches] = faults[rows[first]]
    return found


def _packed(found: tuple[Int64s, Int64s, Flags], kept: Flags | slice) -> Fields:
    starts, ends, is_null = (part[kept] for part in found)
    fields = Fields.empty(len(starts))
    fields.bounds[0:-1:2] = starts
    fields.bounds[1::2] = ends
    fields.is_null[:] = is_null
    return fields.first(len(starts))


def walk_records(data: Bytes, sections: Sections) -> Spans:
    """The spans of all records of the batches whose decompressed records are in `data` (less than 2 GiB)."""
    chain = _chain(data, sections)
    cursor = _RecordCursors(data, chain.positions + 1, sections.ends[chain.batches])  # skips the attributes byte
    timestamps = sections.base_timestamps[chain.batches] + cursor.numbers(10)
    offsets = sections.base_offsets[chain.batches] + cursor.numbers(5)
    keys, values = cursor.fields(), cursor.fields()
    header_counts = cursor.numbers(5)
    header_positions = cursor.positions
    if header_counts.any():
        cursor.positions = header_positions.copy()
        _skip_headers(cursor, chain.ends, header_counts)
    cursor.fail(cursor.positions != chain.ends, WRONG_SIZE)
    faults = _batch_faults(chain, cursor.faults)
    kept: Flags | slice = slice(None) if not faults.any() else (faults == 0)[chain.batches]
    return Spans(
        offsets[kept],
        timestamps[kept],
        _packed(keys, kept),
        _packed(values, kept),
        header_positions[kept].astype(numpy.int32),
        header_counts[kept].astype(numpy.int32),
        chain.batches[kept],
        faults,
    )


def walk_headers(data: Bytes, spans: Spans) -> tuple[Fields, Fields]:
    """The key and value of every header, in the order of the records."""
    counts = spans.header_counts.astype(numpy.int64)
    firsts = numpy.cumsum(counts) - counts
    keys, values = Fields.empty(int(counts.sum())), Fields.empty(int(counts.sum()))
    rows = numpy.flatnonzero(counts)
    positions = spans.header_positions.astype(numpy.int64)[rows]
    limits = numpy.full(len(rows), len(data))
    done = 0
    while len(rows):
        cursor = _RecordCursors(data, positions, limits[: len(rows)])
        for fields in (keys, values):
            starts, ends, is_null = cursor.fields()
            places = firsts[rows] + done
            fields.bounds[2 * places], fields.bounds[2 * places + 1] = starts, ends
            fields.is_null[places] = is_null
        done += 1
        is_left = counts[rows] > done
        rows, positions = rows[is_left], cursor.positions[is_left]
    return keys.first(len(keys.is_null)), values.first(len(values.is_null))
