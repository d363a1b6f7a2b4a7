"""Finds the fields of each record in one pass over the varints of many batches, compiled by numba.

Pure. Refuses the same records as protocol/records/record.py (a test compares them). A batch with a malformed record
gets a fault code and no records. Never copies a key or a value. Uses int64 only: numbers wrap at 64 bits, as in Java.
If numba is not installed, vector_walk.py does the same.

Cost: 12 to 25 ns a record.
"""

import numpy

from ..engine.compiled import compiled, inlined
from .spans import (
    BAD_HEADER,
    BYTES_REMAIN,
    ENDS_INSIDE,
    LONG_NUMBER,
    SMALLEST_RECORD_SIZE,
    WRONG_SIZE,
    Bytes,
    Fields,
    Flags,
    Int32s,
    Int64s,
    Sections,
    Spans,
)


@inlined
def _number(data: Bytes, position: int, limit: int, max_size: int) -> tuple[int, int]:
    """Returns (zigzag number, position after it). A negative position is a negated fault code."""
    if position >= limit:
        return 0, -ENDS_INSIDE
    byte = int(data[position])
    if byte < 0x80:
        return (byte >> 1) ^ -(byte & 1), position + 1
    value = byte & 0x7F
    for index in range(1, max_size):
        if position + index >= limit:
            return 0, -ENDS_INSIDE
        byte = int(data[position + index])
        value |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            if max_size == 5:
                value &= 0xFFFFFFFF
                return (value >> 1) ^ -(value & 1), position + index + 1
            return ((value >> 1) & 0x7FFFFFFFFFFFFFFF) ^ -(value & 1), position + index + 1
    return 0, -LONG_NUMBER


@inlined
def _field(data: Bytes, position: int, limit: int, row: int, bounds: Int32s, is_null: Flags) -> int:
    """Fills the row of a field (a length, then its bytes). Returns the position after it, or a negated fault code."""
    length, position = _number(data, position, limit, 5)
    if position < 0:
        return position
    bounds[2 * row] = position
    if length >= 0:
        position += length
    bounds[2 * row + 1] = position
    is_null[row] = length < 0
    return position


@compiled
def _skip_headers(data: Bytes, position: int, limit: int, end: int, count: int) -> int:
    """The position after `count` headers, or a negated fault code."""
    if count < 0 or count > max(end - position, 0):
        return -BAD_HEADER
    for _ in range(count):
        length, position = _number(data, position, limit, 5)
        if position < 0:
            return position
        if length < 0 or length > end - position:
            return -BAD_HEADER
        position += length
        length, position = _number(data, position, limit, 5)
        if position < 0:
            return position
        if length >= 0:
            position += length
    return position


# One long function: a helper would need most of these arrays, and would have to end the loop over a batch at a fault.
# With a helper for one record that got the arrays as a tuple, the walk took 66 ns a record instead of 11. Named tuples
# must not be arguments: numba's cache names their classes, and can't be read any more after one was renamed.
@compiled
def _walk(
    data: Bytes,
    starts: Int64s,
    ends: Int64s,
    counts: Int64s,
    base_offsets: Int64s,
    base_timestamps: Int64s,
    offsets: Int64s,
    timestamps: Int64s,
    key_bounds: Int32s,
    key_is_null: Flags,
    value_bounds: Int32s,
    value_is_null: Flags,
    header_positions: Int32s,
    header_counts: Int32s,
    batches: Int64s,
    faults: Int64s,
) -> int:
    """Fills the rows batch by batch and returns their number. A batch with a fault gets no rows."""
    row = 0
    for batch in range(len(starts)):
        position = starts[batch]
        limit = ends[batch]
        count = counts[batch]
        if count < 0 or count * SMALLEST_RECORD_SIZE > limit - position:
            faults[batch] = ENDS_INSIDE
            continue
        if count == 0:
            continue
        first_row = row
        for _ in range(count):
            size, position = _number(data, position, limit, 5)
            if position < 0:
                break
            end = position + size
            delta, position = _number(data, position + 1, limit, 10)  # + 1: the attributes, unused
            if position < 0:
                break
            timestamps[row] = base_timestamps[batch] + delta
            delta, position = _number(data, position, limit, 5)
            if position < 0:
                break
            offsets[row] = base_offsets[batch] + delta
            position = _field(data, position, limit, row, key_bounds, key_is_null)
            if position < 0:
                break
            position = _field(data, position, limit, row, value_bounds, value_is_null)
            if position < 0:
                break
            headers, position = _number(data, position, limit, 5)
            if position < 0:
                break
            header_positions[row] = position
            header_counts[row] = headers
            batches[row] = batch
            if headers != 0:
                position = _skip_headers(data, position, limit, end, headers)
                if position < 0:
                    break
            if position != end:
                position = -WRONG_SIZE
                break
            row += 1
        if position >= 0 and position != limit:
            position = -BYTES_REMAIN
        if position < 0:
            faults[batch] = -position
            row = first_row
    return row


def walk_records(data: Bytes, sections: Sections) -> Spans:
    """The spans of all records of the batches whose decompressed records are in `data` (less than 2 GiB)."""
    total = int(sections.possible_counts().sum())
    offsets, timestamps, batches = (numpy.empty(total, dtype=numpy.int64) for _ in range(3))
    header_positions, header_counts = (numpy.empty(total, dtype=numpy.int32) for _ in range(2))
    keys, values = Fields.empty(total), Fields.empty(total)
    faults = numpy.zeros(len(sections.starts), dtype=numpy.int64)
    rows = _walk(
        data,
        *sections,
        offsets,
        timestamps,
        *keys,
        *values,
        header_positions,
        header_counts,
        batches,
        faults,
    )
    return Spans(
        offsets[:rows],
        timestamps[:rows],
        keys.first(rows),
        values.first(rows),
        header_positions[:rows],
        header_counts[:rows],
        batches[:rows],
        faults,
    )


@compiled
def _walk_headers(
    data: Bytes,
    positions: Int32s,
    counts: Int32s,
    key_bounds: Int32s,
    key_is_null: Flags,
    value_bounds: Int32s,
    value_is_null: Flags,
) -> int:
    """Fills the key and value of each header of records that `_walk` has found."""
    row = 0
    limit = len(data)
    for record in range(len(positions)):
        position = int(positions[record])
        for _ in range(counts[record]):
            position = _field(data, position, limit, row, key_bounds, key_is_null)
            position = _field(data, position, limit, row, value_bounds, value_is_null)
            row += 1
    return row


def walk_headers(data: Bytes, spans: Spans) -> tuple[Fields, Fields]:
    """The key and value of every header, in the order of the records."""
    total = int(spans.header_counts.sum())
    keys, values = Fields.empty(total), Fields.empty(total)
    _walk_headers(data, spans.header_positions, spans.header_counts, *keys, *values)
    return keys.first(total), values.first(total)
