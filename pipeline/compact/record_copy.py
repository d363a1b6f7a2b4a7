"""Which records of walked batches stay, and their copies: compiled loops.

Pure. A record whose timestamp delta stays the same is copied as it is; else its size and that number are encoded anew.
The rule itself is `record_stays` of storage/compaction.
"""

import numpy

from ...protocol.records.batch import BATCH_HEADER_SIZE
from ...storage.compaction.record_steps import record_stays
from ..compiled import compiled, inlined
from ..decode.spans import Bytes, Flags, Int64s
from ..zigzag import number_size, put_number
from .key_table import Words
from .record_rows import Rows

_stays = inlined(record_stays)
"""Who changes the rule touches this file too: numba's cache of machine code goes by the time of the caller's file."""


@compiled
def judge(
    rows: Rows,
    bounds: Int64s,
    is_latest: Flags,
    latest_offset: int,
    drops_tombstones: Flags,
    stays: Flags,
    facts: Int64s,
) -> None:
    """Fills `stays` for each row and, for each batch, the fields of Sifted."""
    for batch in range(len(bounds) - 1):
        kept = 0
        without_key = 0
        tombstones = 0
        for row in range(bounds[batch], bounds[batch + 1]):
            is_behind_map = rows[row, 2] > latest_offset
            has_key = rows[row, 5] >= 0
            has_value = rows[row, 7] >= 0
            stays[row] = _stays(is_behind_map, has_key, is_latest[row], has_value, drops_tombstones[batch])
            if stays[row]:
                kept += 1
                if not has_value:
                    tombstones += 1
            if not has_key and not is_behind_map:
                without_key += 1
        facts[batch, 0] = bounds[batch + 1] - bounds[batch]
        facts[batch, 1] = kept
        facts[batch, 2] = without_key
        facts[batch, 3] = tombstones


@compiled
def size_of_copies(rows: Rows, bounds: Int64s, batches: Int64s, stays: Flags) -> int:
    """Bytes that the rebuilt batches take at most: a size of 5 bytes and a timestamp delta of 10 for each record."""
    size = 8
    for batch in batches:
        size += 61
        for row in range(bounds[batch], bounds[batch + 1]):
            if stays[row]:
                size += rows[row, 1] - rows[row, 0] + 15
    return size


@compiled
def first_rows(bounds: Int64s, batches: Int64s, stays: Flags) -> Int64s:
    """For each of these batches, of which something stays, its first row that does."""
    found = numpy.empty(len(batches), dtype=numpy.int64)
    for number in range(len(batches)):
        row = bounds[batches[number]]
        while not stays[row]:
            row += 1
        found[number] = row
    return found


@inlined
def _copy(data: Bytes, words: Words, start: int, end: int, out: Bytes, out_words: Words, position: int) -> int:
    """Copies bytes, eight at a time; the position behind them."""
    while end - start >= 8:
        out_words[position] = words[start]
        start += 8
        position += 8
    while start < end:
        out[position] = data[start]
        start += 1
        position += 1
    return position


@compiled
def copy_records(
    data: Bytes,
    words: Words,
    rows: Rows,
    bounds: Int64s,
    stays: Flags,
    batches: Int64s,
    base_timestamps: Int64s,
    are_deltas_same: Flags,
    out: Bytes,
    out_words: Words,
    places: Int64s,
) -> None:
    """Copies the records that stay of `batches`, each batch's behind 61 bytes for its header.

    `base_timestamps` are the new ones. `places`: for each batch where its records begin and end in `out`, and the
    greatest timestamp among them.
    """
    position = 0
    for number in range(len(batches)):
        position += 61
        places[number, 0] = position
        base = base_timestamps[number]
        max_timestamp = -1
        for row in range(bounds[batches[number]], bounds[batches[number] + 1]):
            if not stays[row]:
                continue
            max_timestamp = max(max_timestamp, rows[row, 3])
            start = rows[row, 0]
            end = rows[row, 1]
            if not are_deltas_same[number]:
                delta = rows[row, 3] - base
                start = rows[row, 6]
                position = put_number(out, position, 1 + number_size(delta) + end - start)
                out[position] = 0
                position = put_number(out, position + 1, delta)
            position = _copy(data, words, start, end, out, out_words, position)
        places[number, 1] = position
        places[number, 2] = max_timestamp


@compiled
def set_marks(bits: Bytes, first_records: Int64s, bounds: Int64s, chosen: Flags) -> None:
    """Sets the bits of the rows that are chosen; `first_records`: the number of each batch's first record."""
    for batch in range(len(bounds) - 1):
        for row in range(bounds[batch], bounds[batch + 1]):
            if chosen[row]:
                record = first_records[batch] + row - bounds[batch]
                bits[record >> 3] |= numpy.uint8(1 << (record & 7))


@compiled
def read_marks(bits: Bytes, first_records: Int64s, bounds: Int64s, chosen: Flags) -> None:
    """For each row whether its bit is set."""
    for batch in range(len(bounds) - 1):
        for row in range(bounds[batch], bounds[batch + 1]):
            record = first_records[batch] + row - bounds[batch]
            chosen[row] = (bits[record >> 3] >> numpy.uint8(record & 7)) & 1 == 1


assert BATCH_HEADER_SIZE == 61, "the compiled loops have it as a number"
