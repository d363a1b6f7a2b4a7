"""Converts Arrow columns of records to numpy arrays, for loops that numba compiles.

Pure. Source: Arrow's columnar format (validity, int32 offsets, data).
"""

from typing import Any, NamedTuple, TypeVar

import numpy
import pyarrow as pa

from ..decode.arrow_columns import HEADERS_TYPE
from ..decode.spans import Bytes, Int64s

Numbers = TypeVar("Numbers", Bytes, Int64s)

ROW_SCHEMA = pa.schema(
    [
        pa.field("offset", pa.int64()),
        pa.field("timestamp", pa.int64()),
        pa.field("timestampType", pa.int32()),
        pa.field("key", pa.binary()),
        pa.field("value", pa.binary()),
        pa.field("headers", HEADERS_TYPE),
    ]
)
"""Records of one partition: timestamp in ms since 1970 (-1 for none), timestampType 0 CreateTime, 1 LogAppendTime."""


class BinaryColumn(NamedTuple):
    """A binary column: the start of each value in `data`, and its length in bytes (-1: null)."""

    starts: Int64s
    lengths: Int64s
    data: Bytes


class RowColumns(NamedTuple):
    """The columns of ROW_SCHEMA. Record i has the headers from `header_bounds[i]` up to `header_bounds[i + 1]`."""

    offsets: Int64s
    timestamps: Int64s
    types: Int64s
    keys: BinaryColumn
    values: BinaryColumn
    header_bounds: Int64s
    header_keys: BinaryColumn
    header_values: BinaryColumn


def fields_of(array: Any) -> BinaryColumn:
    """The values of an Arrow array of type binary or string (not large_binary or large_string)."""
    _, offsets_buffer, data_buffer = array.buffers()
    if not len(array):
        empty = numpy.zeros(0, numpy.int64)
        return BinaryColumn(empty, empty, _read_only(numpy.zeros(0, numpy.uint8)))
    first = array.offset
    offsets = numpy.frombuffer(offsets_buffer, numpy.int32)[first : first + len(array) + 1].astype(numpy.int64)
    lengths = numpy.diff(offsets)
    if array.null_count:
        lengths[array.is_null().to_numpy(zero_copy_only=False)] = -1
    data = numpy.zeros(0, numpy.uint8) if data_buffer is None else numpy.frombuffer(data_buffer, numpy.uint8)
    return BinaryColumn(offsets[:-1], lengths, _read_only(data))


def _read_only(array: Numbers) -> Numbers:
    """A read-only view. Some arrays of Arrow are writable, and numba would compile the loops for each kind."""
    view = array.view()
    view.flags.writeable = False
    return view


def rows_of(batch: Any) -> RowColumns:
    """The columns of an Arrow record batch of ROW_SCHEMA. Its number columns must not have nulls."""
    headers = batch.column("headers")
    counts = headers.value_lengths().fill_null(0).to_numpy(zero_copy_only=False).astype(numpy.int64)
    bounds = numpy.zeros(len(counts) + 1, numpy.int64)
    numpy.cumsum(counts, out=bounds[1:])
    flat = headers.flatten()
    return RowColumns(
        _read_only(batch.column("offset").to_numpy()),
        _read_only(batch.column("timestamp").to_numpy()),
        batch.column("timestampType").to_numpy().astype(numpy.int64),
        fields_of(batch.column("key")),
        fields_of(batch.column("value")),
        bounds,
        fields_of(flat.field("key")),
        fields_of(flat.field("value")),
    )
