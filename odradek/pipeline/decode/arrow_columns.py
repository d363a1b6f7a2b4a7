"""Builds Arrow columns from spans. Arrow's `take` gathers the bytes, so no Python code runs per record.

Pure. A BinaryArray over the payload has the offsets start, end, start, end, … of a field in each record. Its elements
0, 2, 4, … are the fields, the others are the bytes between them. Null fields are masked. Payloads are below 2 GiB. Only
the requested columns are built.
"""

from collections.abc import Sequence
from typing import Any

import numpy
import pyarrow as pa

from . import record_walk, vector_walk
from .batch_columns import BATCH_COLUMNS, batch_column
from .batch_table import BatchTable
from .spans import RECORD_COLUMNS, Bytes, Fields, Int64s, Spans, WalkedRecords

HEADERS_TYPE = pa.list_(pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())]))

RECORD_SCHEMA = pa.schema(
    [
        pa.field("key", pa.binary()),
        pa.field("value", pa.binary()),
        pa.field("offset", pa.int64()),
        pa.field("timestamp", pa.int64()),
        pa.field("timestampType", pa.int32()),
        pa.field("headers", HEADERS_TYPE),
    ]
)
"""The columns of a record. timestamp: ms since 1970. timestampType: 0 CreateTime, 1 LogAppendTime, -1 in message
format 0, which has no times. headers: null if a record has none, as in Spark's Kafka source."""
assert tuple(RECORD_SCHEMA.names) == RECORD_COLUMNS

_TYPES = {field.name: field.type for field in RECORD_SCHEMA} | BATCH_COLUMNS


def schema_of(columns: Sequence[str]) -> Any:
    """The Arrow schema of these columns. Raises KeyError for an unknown column."""
    return pa.schema([pa.field(name, _TYPES[name]) for name in columns])


def gather(payload: Bytes, fields: Fields) -> Any:
    """A binary array of the fields."""
    count = len(fields.is_null)
    slots = pa.BinaryArray.from_buffers(
        pa.binary(), 2 * count, [None, pa.py_buffer(fields.bounds), pa.py_buffer(payload)]
    )
    mask = fields.is_null if fields.is_null.any() else None
    return slots.take(pa.array(numpy.arange(0, 2 * count, 2, dtype=numpy.uint32), mask=mask))


def _texts(binary: Any) -> Any:
    """Header keys as strings. Bytes that are not UTF-8 become U+FFFD, as in Java."""
    try:
        return binary.cast(pa.string())
    except pa.ArrowInvalid:
        return pa.array([key.decode("utf-8", "replace") for key in binary.to_pylist()], pa.string())


def headers_column(payload: Bytes, spans: Spans, *, is_compiled: bool) -> Any:
    """A list<struct<key, value>> per record; null if it has no headers."""
    counts = spans.header_counts
    if not counts.any():
        return pa.nulls(len(counts), HEADERS_TYPE)
    walk_headers = record_walk.walk_headers if is_compiled else vector_walk.walk_headers
    keys, values = walk_headers(payload, spans)
    structs = pa.StructArray.from_arrays(
        [_texts(gather(payload, keys)), gather(payload, values)], fields=list(HEADERS_TYPE.value_type)
    )
    offsets = numpy.zeros(len(counts) + 1, dtype=numpy.int32)
    numpy.cumsum(counts, out=offsets[1:])
    bounds = pa.array(offsets, mask=numpy.append(counts == 0, False))
    return pa.ListArray.from_arrays(bounds, structs, type=HEADERS_TYPE)


def timestamp_types(chunk: BatchTable, batches: Int64s) -> Any:
    """The timestamp type of each record, -1 to 1. Faster if the whole chunk has one type, which is usual."""
    types = numpy.where(chunk.column("magic") == 0, -1, (chunk.column("attributes") >> 3) & 1)
    if len(types) and (types == types[0]).all():
        return pa.array(numpy.full(len(batches), types[0], dtype=numpy.int32))
    return pa.array(types[batches].astype(numpy.int32))


def columns_of(chunk: BatchTable, walked: WalkedRecords, columns: Sequence[str], *, is_compiled: bool) -> Any:
    """A record batch of the named columns, in the given order."""
    payload, spans = walked.payload, walked.spans
    arrays = []
    for name in columns:
        if name == "key":
            arrays.append(gather(payload, spans.keys))
        elif name == "value":
            arrays.append(gather(payload, spans.values))
        elif name == "offset":
            arrays.append(pa.array(spans.offsets))
        elif name == "timestamp":
            arrays.append(pa.array(spans.timestamps))
        elif name == "timestampType":
            arrays.append(timestamp_types(chunk, spans.batches))
        elif name == "headers":
            arrays.append(headers_column(payload, spans, is_compiled=is_compiled))
        else:
            arrays.append(batch_column(name, chunk, spans))
    return pa.RecordBatch.from_arrays(arrays, schema=schema_of(columns))
