"""Decides in compiled loops which records of walked batches stay, and copies them.

Pure. A record whose timestamp delta stays the same is copied byte by byte; otherwise its size and timestamp delta are
encoded again. `record_stays` of storage/compaction is the rule.
"""

import numpy

from odradek.protocol.records.batch import (
    BATCH_HEADER_SIZE,
    COMPRESSION_TYPE_MASK,
    DELETE_HORIZON_FLAG,
    LOG_APPEND_TIME_FLAG,
    TRANSACTIONAL_FLAG,
)
from odradek.storage.compaction.record_steps import WITH_HORIZON, batch_outcome, drops_tombstones, record_stays

from ..decode.spans import Bytes, Flags, Int64s, number_size, put_number
from ..engine.compiled import compiled, inlined
from .key_table import Words
from .record_rows import Rows
from .table_chunk import ATTRIBUTES, BASE_TIMESTAMP, BEGIN, LAST_OFFSET, MAX_TIMESTAMP

_stays = inlined(record_stays)
_drops_tombstones = inlined(drops_tombstones)
_outcome = inlined(batch_outcome)
"""After a change of one of these rules, touch this file: numba's cache checks only the modification time of the file
with the compiled caller."""


@compiled
def judge(
    rows: Rows,
    bounds: Int64s,
    table: Int64s,
    is_latest: Flags,
    latest_offset: int,
    now_ms: int,
    stays: Flags,
    kept_records: Int64s,
    outcomes: Int64s,
) -> int:
    """Fills `stays` for each row, and for each batch the number of records that stay and its outcome.

    Returns the number of records without a key in all batches.
    """
    all_without_key = 0
    for batch in range(len(bounds) - 1):
        has_horizon = table[batch, 4] & 0x40 != 0
        drops = _drops_tombstones(has_horizon, table[batch, 5], now_ms)
        kept = 0
        without_key = 0
        tombstones = 0
        for row in range(bounds[batch], bounds[batch + 1]):
            is_behind_map = rows[row, 2] > latest_offset
            has_key = rows[row, 5] >= 0
            has_value = rows[row, 7] >= 0
            stays[row] = _stays(is_behind_map, has_key, is_latest[row], has_value, drops)
            if stays[row]:
                kept += 1
                if not has_value:
                    tombstones += 1
            if not has_key and not is_behind_map:
                without_key += 1
        kept_records[batch] = kept
        outcomes[batch] = _outcome(bounds[batch + 1] - bounds[batch], kept, tombstones > 0, has_horizon)
        all_without_key += without_key
    return all_without_key


@compiled
def size_of_copies(rows: Rows, bounds: Int64s, batches: Int64s, stays: Flags) -> int:
    """The maximum bytes of the rebuilt batches, if each record has a size of 5 bytes and a timestamp delta of 10."""
    size = 8
    for batch in batches:
        size += 61
        for row in range(bounds[batch], bounds[batch + 1]):
            if stays[row]:
                size += rows[row, 1] - rows[row, 0] + 15
    return size


@compiled
def new_bases(
    rows: Rows, bounds: Int64s, table: Int64s, outcomes: Int64s, batches: Int64s, stays: Flags, new_horizon_ms: int
) -> Int64s:
    """The base timestamps of rebuilt batches: the delete horizon, or the time of the first record that stays."""
    bases = numpy.empty(len(batches), dtype=numpy.int64)
    for number in range(len(batches)):
        batch = batches[number]
        if outcomes[batch] == 3:
            bases[number] = new_horizon_ms
        elif table[batch, 4] & 0x40 != 0:
            bases[number] = table[batch, 5]
        else:
            row = bounds[batch]
            while not stays[row]:
                row += 1
            bases[number] = rows[row, 3]
    return bases


@inlined
def _copy(data: Bytes, words: Words, start: int, end: int, out: Bytes, out_words: Words, position: int) -> int:
    """Copies bytes, eight at a time; returns the position after them."""
    while end - start >= 8:
        out_words[position] = words[start]
        start += 8
        position += 8
    while start < end:
        out[position] = data[start]
        start += 1
        position += 1
    return position


@inlined
def _put_int(out: Bytes, position: int, value: int, size: int) -> None:
    for index in range(size):
        out[position + index] = (value >> (8 * (size - 1 - index))) & 0xFF


@inlined
def _put_header(
    chunk: Bytes,
    row: Int64s,
    has_horizon: bool,
    base: int,
    max_timestamp: int,
    kept: int,
    out: Bytes,
    begin: int,
    end: int,
) -> None:
    """Writes the header of a rebuilt batch that lies from `begin` to `end`. The CRC is left 0.

    Length, delete horizon, timestamps and count are new; the other fields are those of the old header.
    """
    for index in range(61):
        out[begin + index] = chunk[row[0] + index]
    _put_int(out, begin + 8, end - begin - 12, 4)
    _put_int(out, begin + 17, 0, 4)
    _put_int(out, begin + 21, row[4] & 0x1F | (0x40 if has_horizon else 0), 2)
    _put_int(out, begin + 27, base, 8)
    _put_int(out, begin + 35, max_timestamp, 8)
    _put_int(out, begin + 57, kept, 4)


@compiled
def copy_records(
    chunk: Bytes,
    table: Int64s,
    data: Bytes,
    words: Words,
    rows: Rows,
    bounds: Int64s,
    stays: Flags,
    kept_records: Int64s,
    outcomes: Int64s,
    batches: Int64s,
    base_timestamps: Int64s,
    out: Bytes,
    out_words: Words,
    places: Int64s,
) -> None:
    """Copies the records of `batches` that stay to `out`, after a header for each batch that has no CRC yet.

    `base_timestamps`: the new ones. Fills `places`: for each batch its last offset, its greatest timestamp, its size in
    bytes, and its position in `out`.
    """
    position = 0
    for number in range(len(batches)):
        begin = position
        position += 61
        row_of_batch = table[batches[number]]
        base = base_timestamps[number]
        is_append_time = row_of_batch[4] & 8 != 0
        is_delta_same = base == row_of_batch[5] and not is_append_time
        max_timestamp = -1
        for row in range(bounds[batches[number]], bounds[batches[number] + 1]):
            if not stays[row]:
                continue
            max_timestamp = max(max_timestamp, rows[row, 3])
            start = rows[row, 0]
            end = rows[row, 1]
            if not is_delta_same:
                delta = rows[row, 3] - base
                start = rows[row, 6]
                position = put_number(out, position, 1 + number_size(delta) + end - start)
                out[position] = 0
                position = put_number(out, position + 1, delta)
            position = _copy(data, words, start, end, out, out_words, position)
        if is_append_time:
            max_timestamp = row_of_batch[6]
        has_horizon = outcomes[batches[number]] == 3 or row_of_batch[4] & 0x40 != 0
        kept = kept_records[batches[number]]
        _put_header(chunk, row_of_batch, has_horizon, base, max_timestamp, kept, out, begin, position)
        places[number, 0] = row_of_batch[3]
        places[number, 1] = max_timestamp
        places[number, 2] = position - begin
        places[number, 3] = begin


@compiled
def set_marks(bits: Bytes, first_records: Int64s, bounds: Int64s, chosen: Flags) -> None:
    """Sets the bits of the chosen rows. `first_records`: for each batch the number of its first record."""
    for batch in range(len(bounds) - 1):
        for row in range(bounds[batch], bounds[batch + 1]):
            if chosen[row]:
                record = first_records[batch] + row - bounds[batch]
                bits[record >> 3] |= numpy.uint8(1 << (record & 7))


@compiled
def read_marks(bits: Bytes, first_records: Int64s, bounds: Int64s, chosen: Flags) -> None:
    """Fills `chosen` for each row: whether its bit is set. `first_records`: as for `set_marks`."""
    for batch in range(len(bounds) - 1):
        for row in range(bounds[batch], bounds[batch + 1]):
            record = first_records[batch] + row - bounds[batch]
            chosen[row] = (bits[record >> 3] >> numpy.uint8(record & 7)) & 1 == 1


assert (BATCH_HEADER_SIZE, LOG_APPEND_TIME_FLAG, DELETE_HORIZON_FLAG, WITH_HORIZON) == (61, 0x08, 0x40, 3), "as above"
assert (BEGIN, LAST_OFFSET, ATTRIBUTES, BASE_TIMESTAMP, MAX_TIMESTAMP) == (0, 3, 4, 5, 6), "the loops have numbers"
assert COMPRESSION_TYPE_MASK | LOG_APPEND_TIME_FLAG | TRANSACTIONAL_FLAG == 0x1F, "the flags that stay"
