"""Where the parts of each record lie that a compaction needs: one compiled pass over the records of many batches.

Pure. What BatchBuilder would encode in the same bytes but for the timestamp delta is walked; a batch with anything else
(malformed records, longer numbers than need be, offsets that don't rise, header keys that are not ASCII) is left to the
plain steps, which refuse it or encode it anew. Never copies a key or a value.

Sketch of costs: 15 to 40 ns a record.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy
from numpy.typing import NDArray

from ...protocol.errors import KafkaError
from ...protocol.records.batch import (
    BATCH_HEADER_SIZE,
    COMPRESSION_TYPE_MASK,
    LOG_APPEND_TIME_FLAG,
    LOG_OVERHEAD,
)
from ...protocol.records.record import records_section
from ...storage.compaction.batch_chunk import BatchChunk
from ..compiled import compiled, inlined
from ..decode.batch_table import HEADER_DTYPE
from ..decode.spans import Bytes, Flags, Int64s

Rows = Int64s

START, END, OFFSET, TIMESTAMP, KEY, KEY_SIZE, TAIL, VALUE_SIZE = range(8)
"""Columns of a row: where the record begins and ends, its offset and timestamp (ms), where its key lies and how long it
is (-1: null), where its offset delta begins, how long its value is (-1: null). Places are in the payload."""
COLUMNS = 8
LEAST_RECORD_SIZE = 7
LEAST_PAYLOAD = 16
"""Bytes that a payload has at least, so that eight can be read at once."""


class RecordRows(NamedTuple):
    """The rows of some batches: those of batch number n are `rows[bounds[n]:bounds[n + 1]]`."""

    payload: Bytes
    rows: Rows
    bounds: Int64s
    is_walked: Flags
    """Which batches were; the others have no rows."""
    headers: NDArray[numpy.void]
    """Of the batches, as HEADER_DTYPE."""


@inlined
def _number(data: Bytes, position: int, limit: int, max_size: int) -> tuple[int, int]:
    """(zigzag number, position behind it); position -1: cut short, too long or longer than need be."""
    value = 0
    shift = 0
    for index in range(max_size):
        if position + index >= limit:
            return 0, -1
        byte = int(data[position + index])
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if byte == 0 and index > 0:
                return 0, -1
            if max_size == 5:
                if value > 0xFFFFFFFF:
                    return 0, -1
                return (value >> 1) ^ -(value & 1), position + index + 1
            if index == 9 and byte > 1:
                return 0, -1
            return ((value >> 1) & 0x7FFFFFFFFFFFFFFF) ^ -(value & 1), position + index + 1
        shift += 7
    return 0, -1


@compiled
def _skip_headers(data: Bytes, position: int, end: int) -> int:
    """The position behind a record's headers; -1 for what is not as it would be encoded."""
    count, position = _number(data, position, end, 5)
    if position < 0 or count < 0:
        return -1
    for _ in range(count):
        size, position = _number(data, position, end, 5)
        if position < 0 or size < 0 or size > end - position:
            return -1
        for index in range(position, position + size):
            if data[index] >= 0x80:
                return -1
        position += size
        size, position = _number(data, position, end, 5)
        if position < 0 or size < -1 or size > end - position:
            return -1
        if size > 0:
            position += size
    return position


@compiled
def _walk_batch(data: Bytes, position: int, limit: int, base_offset: int, base_timestamp: int, rows: Rows) -> bool:
    """Fills the rows of one batch; False where it is for the plain steps."""
    last_delta = -1
    for index in range(len(rows)):
        rows[index, 0] = position
        size, position = _number(data, position, limit, 5)
        if position < 0 or size < 6 or size > limit - position:
            return False
        end = position + size
        if data[position] != 0:
            return False
        delta, position = _number(data, position + 1, end, 10)
        if position < 0:
            return False
        rows[index, 3] = base_timestamp + delta
        if base_timestamp + delta < -1:
            return False
        rows[index, 6] = position
        delta, position = _number(data, position, end, 5)
        if position < 0 or delta <= last_delta:
            return False
        last_delta = delta
        rows[index, 2] = base_offset + delta
        for column in (4, 7):
            size, position = _number(data, position, end, 5)
            if position < 0 or size < -1 or size > end - position:
                return False
            if column == 4:
                rows[index, 4] = position
                rows[index, 5] = size
            else:
                rows[index, 7] = size
            if size > 0:
                position += size
        if position >= end:
            return False
        if data[position] == 0:
            position += 1
        else:
            position = _skip_headers(data, position, end)
        if position != end:
            return False
        rows[index, 1] = end
    return position == limit


@compiled
def _walk(
    data: Bytes,
    starts: Int64s,
    ends: Int64s,
    counts: Int64s,
    base_offsets: Int64s,
    base_timestamps: Int64s,
    append_times: Int64s,
    rows: Rows,
    bounds: Int64s,
    is_walked: Flags,
) -> None:
    """Fills the rows batch by batch. `append_times`: what all records of a batch have as timestamp, or -1."""
    row = 0
    for batch in range(len(starts)):
        count = counts[batch]
        is_good = count > 0 and count * 7 <= ends[batch] - starts[batch] and is_walked[batch]
        if is_good:
            chosen = rows[row : row + count]
            is_good = _walk_batch(data, starts[batch], ends[batch], base_offsets[batch], base_timestamps[batch], chosen)
            if is_good:
                if append_times[batch] >= 0:
                    for index in range(count):
                        chosen[index, 3] = append_times[batch]
                row += count
        is_walked[batch] = is_good
        bounds[batch + 1] = row


def walk(chunk: BatchChunk, batches: Sequence[int]) -> RecordRows:
    """The rows of these batches of a chunk. Raises InvalidRecordError where a batch can't be decompressed."""
    data = numpy.frombuffer(chunk.data, dtype=numpy.uint8)
    places = numpy.array([chunk.starts[index] for index in batches], dtype=numpy.int64)
    headers = numpy.ascontiguousarray(data[places[:, None] + numpy.arange(BATCH_HEADER_SIZE)])
    table = headers.view(HEADER_DTYPE).reshape(len(places))
    counts, base_offsets, base_timestamps, max_timestamps, attributes = (
        table[name].astype(numpy.int64)
        for name in ("records_count", "base_offset", "base_timestamp", "max_timestamp", "attributes")
    )
    if (attributes & COMPRESSION_TYPE_MASK).any():
        payload, starts, ends = _decompressed(chunk, batches)
    else:
        sizes = table["batch_length"].astype(numpy.int64) + LOG_OVERHEAD
        payload, starts, ends = data, places + BATCH_HEADER_SIZE, places + sizes
    is_append_time = (attributes & LOG_APPEND_TIME_FLAG) != 0
    possible = (counts > 0) & (counts * LEAST_RECORD_SIZE <= ends - starts)
    possible &= (base_offsets >= -(1 << 31)) & (base_offsets <= (1 << 63) - 1 - (1 << 31))
    possible &= ~is_append_time | (max_timestamps >= 0)
    possible &= numpy.abs(base_timestamps) <= (1 << 62)  # far from where a delta could overflow
    append_times = numpy.where(is_append_time, max_timestamps, -1)
    rows = numpy.empty((int(counts[possible].sum()), COLUMNS), dtype=numpy.int64)
    bounds = numpy.zeros(len(places) + 1, dtype=numpy.int64)
    _walk(payload, starts, ends, counts, base_offsets, base_timestamps, append_times, rows, bounds, possible)
    return RecordRows(payload, rows, bounds, possible, table)


def _decompressed(chunk: BatchChunk, batches: Sequence[int]) -> tuple[Bytes, Int64s, Int64s]:
    """(the records of these batches, where each one's begin, where they end)."""
    sections = [_section(chunk, index) for index in batches]
    ends = numpy.cumsum([len(section) for section in sections], dtype=numpy.int64)
    starts = numpy.concatenate([numpy.zeros(1, dtype=numpy.int64), ends[:-1]])
    return numpy.frombuffer(b"".join([*sections, bytes(LEAST_PAYLOAD)]), dtype=numpy.uint8), starts, ends


def _section(chunk: BatchChunk, index: int) -> bytes:
    try:
        return records_section(chunk.batch(index), chunk.headers[index])
    except KafkaError as error:
        raise chunk.refusal(index, error) from error
