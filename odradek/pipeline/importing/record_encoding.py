"""Encodes the records of many batches in one pass over the rows, compiled by numba.

Pure. Writes the same bytes as protocol/records/builder.py (a test compares them). Begins a new batch if the last one is
full, if the offset delta exceeds 32 bits, if the timestamp type changes, or if a LogAppendTime changes, because a batch
has only one. Only called if numba is installed. Source: DefaultRecord.writeTo.

Cost: 50 to 100 ns a record of 100 bytes.
"""

from typing import Any

import numpy

from ..decode.spans import Bytes, Int64s, number_size, put_number
from ..engine.compiled import compiled, inlined
from .row_buffers import BinaryColumn, RowColumns

MAX_OFFSET_DELTA = 0x7FFFFFFF
MOST_BYTES_OF_NUMBERS = 1 + 5 + 10 + 5 + 5 + 5 + 5
"""The maximum bytes of a record apart from key, value and headers: attributes, length, timestamp delta, offset delta,
key length, value length, header count."""
MOST_BYTES_OF_HEADER = 5 + 5


@inlined
def _put_field(out: Bytes, position: int, data: Bytes, start: int, length: int) -> int:
    """Writes a length (-1: null) and that many bytes. Returns the position after them."""
    position = put_number(out, position, length)
    if length > 0:
        out[position : position + length] = data[start : start + length]
        position += length
    return position


@inlined
def _field_size(length: int) -> int:
    return number_size(length) + max(length, 0)


@inlined
def _fixed_size(row: int, keys: Any, values: Any, header_bounds: Int64s, header_keys: Any, header_values: Any) -> int:
    """The bytes of a record's body without its timestamp and offset deltas."""
    first, last = header_bounds[row], header_bounds[row + 1]
    size = 1 + _field_size(keys[1][row]) + _field_size(values[1][row]) + number_size(last - first)
    for index in range(first, last):
        size += _field_size(header_keys[1][index]) + _field_size(header_values[1][index])
    return size


@compiled
def _encode(
    offsets: Int64s,
    timestamps: Int64s,
    types: Int64s,
    keys: Any,
    values: Any,
    header_bounds: Int64s,
    header_keys: Any,
    header_values: Any,
    section_bytes: int,
    out: Bytes,
    batches: Any,
) -> tuple[int, int]:
    """Fills `out`, and `batches` with (first row, start in `out`) of each batch. Returns (number of batches, bytes)."""
    count = 0
    position = 0
    base_offset = 0
    base_timestamp = 0
    base_type = -1
    start = 0
    for row in range(len(offsets)):
        fixed = _fixed_size(row, keys, values, header_bounds, header_keys, header_values)
        offset_delta = offsets[row] - base_offset
        timestamp_delta = timestamps[row] - base_timestamp
        body = fixed + number_size(timestamp_delta) + number_size(offset_delta)
        if (
            base_type != types[row]
            or position - start + number_size(body) + body > section_bytes
            or offset_delta > 0x7FFFFFFF
            or (base_type == 1 and timestamp_delta != 0)
        ):
            base_offset, base_timestamp, base_type, start = offsets[row], timestamps[row], types[row], position
            batches[count, 0] = row
            batches[count, 1] = position
            count += 1
            offset_delta = 0
            timestamp_delta = 0
            body = fixed + 2
        position = put_number(out, position, body)
        out[position] = 0
        position = put_number(out, position + 1, timestamp_delta)
        position = put_number(out, position, offset_delta)
        position = _put_field(out, position, keys[2], keys[0][row], keys[1][row])
        position = _put_field(out, position, values[2], values[0][row], values[1][row])
        position = put_number(out, position, header_bounds[row + 1] - header_bounds[row])
        for index in range(header_bounds[row], header_bounds[row + 1]):
            position = _put_field(out, position, header_keys[2], header_keys[0][index], header_keys[1][index])
            position = _put_field(out, position, header_values[2], header_values[0][index], header_values[1][index])
    return count, position


def _bytes_in(fields: BinaryColumn) -> int:
    return int(numpy.maximum(fields.lengths, 0).sum())


def encode_sections(rows: RowColumns, section_bytes: int) -> tuple[Bytes, Int64s, Int64s]:
    """Returns (bytes of all sections, first row of each batch, start of each batch's section in the bytes).

    Both lists end with the end of the last batch. `section_bytes`: the maximum uncompressed bytes of a batch's records;
    a larger record gets a batch of its own.
    """
    records = len(rows.offsets)
    fields = (rows.keys, rows.values, rows.header_keys, rows.header_values)
    most = records * MOST_BYTES_OF_NUMBERS + len(rows.header_keys.lengths) * MOST_BYTES_OF_HEADER
    out = numpy.empty(most + sum(map(_bytes_in, fields)), numpy.uint8)
    batches = numpy.empty((records, 2), numpy.int64)
    count, size = _encode(
        rows.offsets,
        rows.timestamps,
        rows.types,
        tuple(rows.keys),
        tuple(rows.values),
        rows.header_bounds,
        tuple(rows.header_keys),
        tuple(rows.header_values),
        section_bytes,
        out,
        batches,
    )
    return out[:size], numpy.append(batches[:count, 0], records), numpy.append(batches[:count, 1], size)
