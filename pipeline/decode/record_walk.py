"""Where each record's fields lie: one pass over the variable-length numbers of many batches, compiled by numba.

Pure. Refuses exactly what protocol/records/record.py refuses (a test compares them); a batch with a malformed record
gets a fault code and no records. Never copies a key or a value. Works on int64 only: bits beyond 64 fall off, as in
Java. Only called where numba is installed.

Sketch of costs: 10 to 40 ns a record.
"""

from typing import NamedTuple

import numpy
from numpy.typing import NDArray

from ..compiled import compiled
from .batch_table import Bytes, Int64s

FAULTS = (
    "",
    "records end inside a record",
    "a record is not as long as it says",
    "bytes remain behind the last record",
    "a variable-length number is too long",
    "a record has an impossible number of headers or header key size",
)
_ENDS_INSIDE, _WRONG_SIZE, _BYTES_REMAIN, _LONG_NUMBER, _BAD_HEADER = 1, 2, 3, 4, 5


class Spans(NamedTuple):
    """For each record: offset, timestamp (ms), spans in the payload (end -1: null), headers, its batch's index."""

    offsets: Int64s
    timestamps: Int64s
    keys: NDArray[numpy.int64]
    values: NDArray[numpy.int64]
    header_positions: Int64s
    header_counts: Int64s
    batches: Int64s
    faults: Int64s
    """For each batch: the index of its fault in FAULTS, 0 for none."""


@compiled
def _number(data: Bytes, position: int, limit: int, max_size: int) -> tuple[int, int]:
    """(zigzag number, position behind it); position -1: too long, -2: the bytes end."""
    value = 0
    shift = 0
    for index in range(max_size):
        if position + index >= limit:
            return 0, -2
        byte = int(data[position + index])
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if max_size == 5:
                value &= 0xFFFFFFFF
                return (value >> 1) ^ -(value & 1), position + index + 1
            return ((value >> 1) & 0x7FFFFFFFFFFFFFFF) ^ -(value & 1), position + index + 1
        shift += 7
    return 0, -1


@compiled
def _skip_headers(data: Bytes, position: int, limit: int, end: int) -> tuple[int, int, int, int]:
    """(number of headers, position of the first, position behind the last, fault)."""
    count, position = _number(data, position, limit, 5)
    if position < 0:
        return 0, 0, 0, 4 if position == -1 else 1
    first = position
    if count < 0 or count > max(end - position, 0):
        return 0, 0, 0, 5
    for _ in range(count):
        length, position = _number(data, position, limit, 5)
        if position < 0:
            return 0, 0, 0, 4 if position == -1 else 1
        if length < 0 or length > end - position:
            return 0, 0, 0, 5
        position += length
        length, position = _number(data, position, limit, 5)
        if position < 0:
            return 0, 0, 0, 4 if position == -1 else 1
        if length >= 0:
            position += length
    return count, first, position, 0


@compiled
def _walk_batch(
    data: Bytes,
    position: int,
    limit: int,
    count: int,
    base_offset: int,
    base_timestamp: int,
    row: int,
    numbers: NDArray[numpy.int64],
) -> int:
    """Fills the rows of one batch's records in `numbers`; the fault. Columns: see `walk_records`."""
    for index in range(row, row + count):
        size, position = _number(data, position, limit, 5)
        if position < 0:
            return 4 if position == -1 else 1
        end = position + size
        position += 1
        delta, position = _number(data, position, limit, 10)
        if position < 0:
            return 4 if position == -1 else 1
        numbers[index, 1] = base_timestamp + delta
        delta, position = _number(data, position, limit, 5)
        if position < 0:
            return 4 if position == -1 else 1
        numbers[index, 0] = base_offset + delta
        for column in (2, 4):
            length, position = _number(data, position, limit, 5)
            if position < 0:
                return 4 if position == -1 else 1
            numbers[index, column] = position
            if length >= 0:
                position += length
                numbers[index, column + 1] = position
            else:
                numbers[index, column + 1] = -1
        headers, first, position, fault = _skip_headers(data, position, limit, end)
        if fault != 0:
            return fault
        numbers[index, 6] = first
        numbers[index, 7] = headers
        if position != end:
            return 2
    return 0 if position == limit else 3


@compiled
def _walk(
    data: Bytes,
    starts: Int64s,
    ends: Int64s,
    counts: Int64s,
    base_offsets: Int64s,
    base_timestamps: Int64s,
    numbers: NDArray[numpy.int64],
    batches: Int64s,
    faults: Int64s,
) -> int:
    """Fills the rows batch by batch; a batch with a fault leaves none. How many rows there are."""
    row = 0
    for batch in range(len(starts)):
        count = counts[batch]
        if count == 0:
            continue
        if count < 0 or count * 7 > ends[batch] - starts[batch]:
            faults[batch] = 1
            continue
        faults[batch] = _walk_batch(
            data, starts[batch], ends[batch], count, base_offsets[batch], base_timestamps[batch], row, numbers
        )
        if faults[batch] == 0:
            batches[row : row + count] = batch
            row += count
    return row


def walk_records(
    data: Bytes, starts: Int64s, ends: Int64s, counts: Int64s, base_offsets: Int64s, base_timestamps: Int64s
) -> Spans:
    """The spans of all records of the batches whose (decompressed) records lie in `data[starts:ends]`."""
    possible = numpy.where((counts > 0) & (counts * 7 <= ends - starts), counts, 0)
    total = int(possible.sum())
    numbers = numpy.empty((total, 8), dtype=numpy.int64)
    batches = numpy.empty(total, dtype=numpy.int64)
    faults = numpy.zeros(len(starts), dtype=numpy.int64)
    rows = _walk(data, starts, ends, counts, base_offsets, base_timestamps, numbers, batches, faults)
    numbers = numbers[:rows]
    return Spans(
        numbers[:, 0].copy(),
        numbers[:, 1].copy(),
        numbers[:, 2:4],
        numbers[:, 4:6],
        numbers[:, 6],
        numbers[:, 7],
        batches[:rows],
        faults,
    )


@compiled
def _header_spans(data: Bytes, positions: Int64s, counts: Int64s, spans: NDArray[numpy.int64]) -> int:
    """Fills (key start, key end, value start, value end) of each header of records that were walked before."""
    row = 0
    limit = len(data)
    for record in range(len(positions)):
        position = positions[record]
        for _ in range(counts[record]):
            for column in (0, 2):
                length, position = _number(data, position, limit, 5)
                spans[row, column] = position
                if length >= 0:
                    position += length
                    spans[row, column + 1] = position
                else:
                    spans[row, column + 1] = -1
            row += 1
    return row


def header_spans(data: Bytes, spans: Spans) -> NDArray[numpy.int64]:
    """(key start, key end, value start, value end or -1) of every header, in the order of the records."""
    found = numpy.empty((int(spans.header_counts.sum()), 4), dtype=numpy.int64)
    _header_spans(data, spans.header_positions, spans.header_counts, found)
    return found
