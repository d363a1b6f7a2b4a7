"""Where the parts of each record lie that a compaction needs: one compiled pass over the records of many batches.

Pure. What BatchBuilder would encode in the same bytes but for the timestamp delta is walked; a batch with anything else
(malformed records, longer numbers than need be, offsets that don't rise, header keys that are not ASCII) is left to the
plain steps, which refuse it or encode it anew. Never copies a key or a value.

Sketch of costs: 15 to 40 ns a record.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy

from ...protocol.errors import KafkaError
from ...protocol.records.batch import (
    BATCH_HEADER_SIZE,
    COMPRESSION_TYPE_MASK,
    LOG_APPEND_TIME_FLAG,
)
from ...protocol.records.compression import CompressionType
from ...protocol.records.errors import RecordTooLargeError
from ...protocol.records.record import records_section
from ...storage.compaction.batch_chunk import BatchChunk
from ..decode.lz4_sections import SectionBuffer, bytes_needed
from ..decode.spans import Bytes, Flags, Int64s
from ..engine.compiled import compiled, inlined
from .table_chunk import (
    ATTRIBUTES,
    BASE_OFFSET,
    BASE_TIMESTAMP,
    BEGIN,
    MAX_TIMESTAMP,
    RECORDS,
    SIZE,
    TableChunk,
)

Rows = Int64s

START, END, OFFSET, TIMESTAMP, KEY, KEY_SIZE, TAIL, VALUE_SIZE = range(8)
"""Columns of a row: where the record begins and ends, its offset and timestamp (ms), where its key lies and how long it
is (-1: null), where its offset delta begins, how long its value is (-1: null). Places are in the payload."""
COLUMNS = 8
LEAST_RECORD_SIZE = 7
MOST_ROWS = 1 << 19
MOST_PAYLOAD = 32 << 20
"""Records, and decompressed bytes, that are walked at once. Of batches that have more, the first ones are walked. One
that alone has more is left to the plain steps, which read it a part at a time."""
LEAST_PAYLOAD = 16
"""Bytes that a payload has at least, so that eight can be read at once."""


class RecordRows(NamedTuple):
    """The rows of the first of some batches: those of batch number n are `rows[bounds[n]:bounds[n + 1]]`."""

    payload: Bytes
    rows: Rows
    bounds: Int64s
    is_walked: Flags
    """Which batches were; the others have no rows. As long as the batches that were looked at."""
    table: Int64s
    """The rows of the batches in the chunk's table."""


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
def _possible(table: Int64s, spans: Int64s, is_walked: Flags) -> int:
    """Fills in which batches may be walked: those whose numbers can't overflow; how many records they have."""
    total = 0
    for batch in range(len(table)):
        count = table[batch, 7]
        is_possible = count > 0 and count * 7 <= spans[batch, 1] - spans[batch, 0] and table[batch, 2] >= -(1 << 31)
        if table[batch, 4] & 8 != 0 and table[batch, 6] < 0:
            is_possible = False
        if table[batch, 5] > 1 << 62 or table[batch, 5] < -(1 << 62):  # far from where a delta could overflow
            is_possible = False
        is_walked[batch] = is_possible
        if is_possible:
            total += count
    return total


@compiled
def _walk(data: Bytes, table: Int64s, spans: Int64s, rows: Rows, bounds: Int64s, is_walked: Flags) -> None:
    """Fills the rows batch by batch."""
    row = 0
    for batch in range(len(table)):
        if is_walked[batch]:
            count = table[batch, 7]
            chosen = rows[row : row + count]
            is_good = _walk_batch(data, spans[batch, 0], spans[batch, 1], table[batch, 2], table[batch, 5], chosen)
            if is_good:
                if table[batch, 4] & 8 != 0:  # the time of the append is that of all records
                    for index in range(count):
                        chosen[index, 3] = table[batch, 6]
                row += count
            is_walked[batch] = is_good
        bounds[batch + 1] = row


def walk(chunk: BatchChunk, batches: Sequence[int]) -> RecordRows:
    """The rows of the first of these batches of a TableChunk: of as many as the budgets allow, at least of one.

    Raises InvalidRecordError where a batch can't be decompressed.
    """
    assert isinstance(chunk, TableChunk)
    table = chunk.rows(batches)
    counts = numpy.where(table[:, RECORDS] > MOST_ROWS, 0, numpy.maximum(table[:, RECORDS], 0))
    if int(counts.sum()) > MOST_ROWS:
        table = table[: max(int(numpy.searchsorted(numpy.cumsum(counts), MOST_ROWS, side="right")), 1)]
    payload, spans = _sections(chunk, batches, table)
    table = table[: len(spans)]
    is_walked = numpy.empty(len(table), dtype=numpy.bool_)
    rows = numpy.empty((_possible(table, spans, is_walked), COLUMNS), dtype=numpy.int64)
    bounds = numpy.zeros(len(table) + 1, dtype=numpy.int64)
    _walk(payload, table, spans, rows, bounds, is_walked)
    filled = rows[: bounds[-1]]  # the others have no values: there was room for batches that could not be walked
    return RecordRows(payload, filled, bounds, is_walked, table)


def _sections(chunk: TableChunk, batches: Sequence[int], table: Int64s) -> tuple[Bytes, Int64s]:
    """(what holds the records of the first of these batches, where in it each one's begin and end).

    Those of a batch that is too large for that lie nowhere: from 0 to 0.
    """
    begins = table[:, BEGIN] + BATCH_HEADER_SIZE
    ends = table[:, BEGIN] + table[:, SIZE]
    codecs = table[:, ATTRIBUTES] & COMPRESSION_TYPE_MASK
    are_large = table[:, RECORDS] > MOST_ROWS
    if not codecs.any():
        ends = numpy.where(are_large, begins, ends)
        return numpy.frombuffer(chunk.data, dtype=numpy.uint8), _pairs(begins, ends)
    places = list(zip(begins.tolist(), ends.tolist(), codecs.tolist(), are_large.tolist(), strict=True))
    sections: list[bytes | None] = []
    total = 0
    for index, (begin, end, codec, is_large) in zip(batches, places, strict=False):
        size = 0
        section: bytes | None = b""
        if not is_large:
            size = bytes_needed(chunk.data, begin, end, MOST_PAYLOAD) if codec == CompressionType.LZ4 else -1
            section = _section(chunk, index) if size < 0 else None
            size = size if section is None else len(section)
        if total + size > MOST_PAYLOAD and sections:
            break
        total += size
        sections.append(section)
    buffer = SectionBuffer(total + LEAST_PAYLOAD)
    for index, (begin, _, _, _), section in zip(batches, places, sections, strict=False):
        if section is not None:
            buffer.add(section)
        elif not buffer.unpack(chunk.data, begin):
            buffer.add(_section(chunk, index))  # which says what is wrong
    bounds = buffer.bounds()
    return buffer.payload, _pairs(bounds[:-1], bounds[1:])


def _pairs(firsts: Int64s, seconds: Int64s) -> Int64s:
    """Two columns. numpy.stack takes 20 us for them, this takes 1."""
    pairs = numpy.empty((len(firsts), 2), dtype=numpy.int64)
    pairs[:, 0], pairs[:, 1] = firsts, seconds
    return pairs


def _section(chunk: BatchChunk, index: int) -> bytes:
    """The records of a batch, decompressed; none of one that has more than MOST_PAYLOAD bytes of them."""
    try:
        return records_section(chunk.batch(index), chunk.headers[index], max_decompressed_size=MOST_PAYLOAD)
    except RecordTooLargeError:
        return b""
    except KafkaError as error:
        raise chunk.refusal(index, error) from error


assert (BASE_OFFSET, ATTRIBUTES, BASE_TIMESTAMP, MAX_TIMESTAMP, RECORDS) == (2, 4, 5, 6, 7), "the loops have numbers"
assert (LOG_APPEND_TIME_FLAG, LEAST_RECORD_SIZE) == (8, 7)
