"""Arrow columns out of spans: Arrow's own `take` gathers the bytes, no Python for each record.

Pure. One BinaryArray is laid over the payload with the offsets start, end, start, end, …; every second element of it is
a field. Null fields are masked. Payloads are below 2 GiB.
"""

from typing import Any

import numpy
import pyarrow as pa
from numpy.typing import NDArray

from ...protocol.records.record import Record
from .batch_table import Bytes, Int64s
from .record_walk import Spans, header_spans

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
"""What is decoded of a record; timestamp in ms since 1970, timestampType 0 CreateTime, 1 LogAppendTime. A record
without headers has null there, as in Spark's Kafka source."""


def gather(payload: Bytes, spans: NDArray[numpy.int64]) -> Any:
    """A binary array of the fields at `spans` (start, end; end -1: null), which must rise."""
    starts = spans[:, 0]
    is_null = spans[:, 1] < 0
    offsets = numpy.empty(2 * len(spans) + 1, dtype=numpy.int32)
    offsets[0:-1:2] = starts
    offsets[1::2] = numpy.where(is_null, starts, spans[:, 1])
    offsets[-1] = offsets[-2] if len(spans) else 0
    slots = pa.BinaryArray.from_buffers(
        pa.binary(), 2 * len(spans), [None, pa.py_buffer(offsets), pa.py_buffer(payload)]
    )
    indices = pa.array(numpy.arange(0, 2 * len(spans), 2), mask=is_null if is_null.any() else None)
    return slots.take(indices)


def _texts(binary: Any) -> Any:
    """Header keys as strings; what is not UTF-8 gets U+FFFD, as in Java."""
    try:
        return binary.cast(pa.string())
    except pa.ArrowInvalid:
        return pa.array([key.decode("utf-8", "replace") for key in binary.to_pylist()], pa.string())


def headers_column(payload: Bytes, spans: Spans) -> Any:
    """list<struct<key, value>> for each record, null for one without headers."""
    counts = spans.header_counts
    if not counts.any():
        return pa.nulls(len(counts), HEADERS_TYPE)
    fields = header_spans(payload, spans)
    structs = pa.StructArray.from_arrays(
        [_texts(gather(payload, fields[:, :2])), gather(payload, fields[:, 2:])], fields=list(HEADERS_TYPE.value_type)
    )
    offsets = numpy.zeros(len(counts) + 1, dtype=numpy.int32)
    numpy.cumsum(counts, out=offsets[1:])
    bounds = pa.array(offsets, mask=numpy.append(counts == 0, False))
    return pa.ListArray.from_arrays(bounds, structs, type=HEADERS_TYPE)


def columns_of_spans(payload: Bytes, spans: Spans, timestamp_types: Int64s) -> Any:
    """A record batch of RECORD_SCHEMA; `timestamp_types` by batch."""
    types = timestamp_types[spans.batches].astype(numpy.int32)
    return pa.RecordBatch.from_arrays(
        [
            gather(payload, spans.keys),
            gather(payload, spans.values),
            pa.array(spans.offsets),
            pa.array(spans.timestamps),
            pa.array(types),
            headers_column(payload, spans),
        ],
        schema=RECORD_SCHEMA,
    )


def columns_of_records(records: list[Record], timestamp_types: list[int]) -> Any:
    """The same from decoded records: the way without numba."""
    headers = [
        [{"key": key, "value": value} for key, value in record.headers] if record.headers else None
        for record in records
    ]
    return pa.RecordBatch.from_arrays(
        [
            pa.array([record.key for record in records], pa.binary()),
            pa.array([record.value for record in records], pa.binary()),
            pa.array([record.offset for record in records], pa.int64()),
            pa.array([record.timestamp for record in records], pa.int64()),
            pa.array(timestamp_types, pa.int32()),
            pa.array(headers, HEADERS_TYPE),
        ],
        schema=RECORD_SCHEMA,
    )
