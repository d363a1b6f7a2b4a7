"""The places of records' fields in a payload. Both walks return them, and Arrow columns are built from them.

Pure. A field is two numbers, its start and its end, in the layout that Arrow's binary arrays have for
their offsets (start, end, start, end, …, end), so that a column is gathered without rearranging a number.
"""

from typing import NamedTuple

import numpy
from numpy.typing import NDArray

Bytes = NDArray[numpy.uint8]
Int32s = NDArray[numpy.int32]
Int64s = NDArray[numpy.int64]
Flags = NDArray[numpy.bool_]

FAULTS = (
    "",
    "records end inside a record",
    "a record is not as long as it says",
    "bytes remain behind the last record",
    "a variable-length number is too long",
    "a record has an impossible number of headers or header key size",
)
"""What can be wrong with the records of a batch, by number."""
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
    """Where the first header begins."""
    header_counts: Int32s
    batches: Int64s
    faults: Int64s
    """For each batch: the index of its fault in FAULTS, 0 for none."""


class WalkedRecords(NamedTuple):
    """Spans of records in their payload, before they become columns; `batches` of the spans are the chunk's."""

    payload: Bytes
    spans: Spans
    unpacked_size: int
    """Bytes of the payload that were decompressed; the others lie in the log as they are."""
    is_part: bool = False
    """The records are a part of one batch, which others precede or follow."""
    is_last: bool = True
    """No other part follows."""


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
