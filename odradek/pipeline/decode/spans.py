"""Spans: the positions of records' fields in a payload. record_walk.py and vector_walk.py return them.

Pure. A field has a start and an end. They are stored like the offsets of Arrow's binary arrays (start, end, start, end,
…, end), so that arrow_columns.py can use them as they are.
"""

from typing import NamedTuple

import numpy
from numpy.typing import NDArray

from ..engine.compiled import inlined

Bytes = NDArray[numpy.uint8]
Int32s = NDArray[numpy.int32]
Int64s = NDArray[numpy.int64]
Flags = NDArray[numpy.bool_]

FAULTS = (
    "",
    "records end inside a record",
    "a record does not have the length that it says",
    "bytes remain after the last record",
    "a variable-length number is too long",
    "a record has an impossible number of headers or header key size",
)
"""The texts of the faults that the records of a batch can have, by number."""
ENDS_INSIDE, WRONG_SIZE, BYTES_REMAIN, LONG_NUMBER, BAD_HEADER = range(1, 6)

SMALLEST_RECORD_SIZE = 7

RECORD_COLUMNS = ("key", "value", "offset", "timestamp", "timestampType", "headers")
"""The columns of a record; their types are in arrow_columns.py, which needs Arrow."""


class Fields(NamedTuple):
    """One field of each record. `bounds` has two numbers per record and the last end. A null field is an empty span."""

    bounds: Int32s
    is_null: Flags

    @classmethod
    def empty(cls, count: int) -> "Fields":
        """Room for `count` fields."""
        return cls(numpy.empty(2 * count + 1, dtype=numpy.int32), numpy.empty(count, dtype=numpy.bool_))

    def first(self, count: int) -> "Fields":
        """The first `count` fields, once their bounds are filled."""
        self.bounds[2 * count] = self.bounds[2 * count - 1] if count else 0
        return Fields(self.bounds[: 2 * count + 1], self.is_null[:count])


class Spans(NamedTuple):
    """For each record: offset, timestamp (ms), key, value, headers, and the index of its batch."""

    offsets: Int64s
    timestamps: Int64s
    keys: Fields
    values: Fields
    header_positions: Int32s
    """The position of the first header in the payload."""
    header_counts: Int32s
    batches: Int64s
    faults: Int64s
    """For each batch: the index of its fault in FAULTS, 0 for none."""


class WalkedRecords(NamedTuple):
    """Spans of records and their payload, before columns are built. `spans.batches`: indexes of the chunk's batches."""

    payload: Bytes
    spans: Spans
    unpacked_size: int
    """The bytes of the payload that were decompressed. The others are not compressed in the log."""
    is_part: bool = False
    """Whether the records are only a part of one large batch."""
    is_last: bool = True
    """Whether this is the last part of the batch."""


class Sections(NamedTuple):
    """Batches whose decompressed records are in a payload: each batch's `[start, end)` and header fields."""

    starts: Int64s
    ends: Int64s
    counts: Int64s
    base_offsets: Int64s
    base_timestamps: Int64s

    def possible_counts(self) -> Int64s:
        """The number of records of each batch; 0 if it has none, or if its bytes cannot hold so many records."""
        fits = (self.counts > 0) & (self.counts * SMALLEST_RECORD_SIZE <= self.ends - self.starts)
        return numpy.where(fits, self.counts, 0)


@inlined
def number_size(number: int) -> int:
    """The encoded size of a number in bytes."""
    rest = numpy.uint64(number << 1) ^ numpy.uint64(number >> 63)
    size = 1
    while rest >= numpy.uint64(128):
        rest >>= numpy.uint64(7)
        size += 1
    return size


@inlined
def put_number(out: Bytes, position: int, number: int) -> int:
    """Writes a number. Returns the position after it."""
    rest = numpy.uint64(number << 1) ^ numpy.uint64(number >> 63)
    while rest >= numpy.uint64(128):
        out[position] = numpy.uint8((rest & numpy.uint64(127)) | numpy.uint64(128))
        rest >>= numpy.uint64(7)
        position += 1
    out[position] = numpy.uint8(rest)
    return position + 1
