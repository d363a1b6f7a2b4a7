"""Builds the columns of the view `records`: those of Spark's Kafka source, and on request those of the record's batch.

Pure. The former have the names, order and types of spark-sql-kafka, so that code for it also runs on log directories.
Source: Spark's KafkaRecordToRowConverter; decode/batch_columns.py.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy
import pyarrow as pa

from ..decode.batch_columns import BATCH_COLUMNS
from .registry_texts import KEY, VALUE, Decoding

CORRUPT_COLUMN = "_corrupt_record"
KAFKA_COLUMNS = ("key", "value", "topic", "partition", "offset", "timestamp", "timestampType")
HEADERS = "headers"
DIRECTORY = "directory"
FILE = "file"
RECORD_BATCH_COLUMNS = (FILE, *(name for name in BATCH_COLUMNS if name != "isControl"))
"""The columns that `includeBatchColumns` adds. isControl is not one of them, because control batches have no rows."""

_HEADERS_TYPE = pa.list_(pa.field("element", pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())])))
ARROW_TYPES: dict[str, Any] = {
    "key": pa.binary(),
    "value": pa.binary(),
    "topic": pa.string(),
    "partition": pa.int32(),
    "offset": pa.int64(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "timestampType": pa.int32(),
    HEADERS: _HEADERS_TYPE,
    DIRECTORY: pa.string(),
    FILE: pa.string(),
    **{name: kind for name, kind in BATCH_COLUMNS.items() if name in RECORD_BATCH_COLUMNS},
    CORRUPT_COLUMN: pa.string(),
}
"""All columns that can be requested."""
CONSTANT_COLUMNS = ("topic", "partition", DIRECTORY, FILE, CORRUPT_COLUMN)
"""The columns that have one value for all rows of a record batch, and are not decoded from records."""
_GREATEST_MS = (1 << 63) // 1000 - 1


def column_names(*, has_headers: bool, has_batch_columns: bool, has_directory: bool, has_corrupt: bool) -> list[str]:
    """The columns of a read if the user gives no schema."""
    return [
        *KAFKA_COLUMNS,
        *((HEADERS,) if has_headers else ()),
        *((DIRECTORY,) if has_directory else ()),
        *(RECORD_BATCH_COLUMNS if has_batch_columns else ()),
        *((CORRUPT_COLUMN,) if has_corrupt else ()),
    ]


def decoded_names(names: Sequence[str]) -> list[str]:
    """The columns to decode for these. Always includes offset, so that a record batch has at least one column."""
    return list(dict.fromkeys(["offset", *(name for name in names if name not in CONSTANT_COLUMNS)]))


def decoded_types(decoding: Decoding | None) -> dict[str, Any]:
    """The columns with another type because a schema registry decodes them: texts of JSON."""
    return {} if decoding is None else {name: pa.string() for name in (KEY, VALUE) if decoding.format_of(name)}


def to_spark(columns: Any, names: Sequence[str], constants: Mapping[str, Any]) -> Any:
    """Builds a record batch for Spark from decoded columns, and from values that all rows share (`constants`).

    A timestamp that does not fit into Spark's microseconds (290,000 years) becomes the nearest one that does.
    """
    rows = columns.num_rows
    arrays = []
    for name in names:
        kind = ARROW_TYPES[name]
        if name in CONSTANT_COLUMNS:
            arrays.append(pa.repeat(pa.scalar(constants.get(name), kind), rows))
        elif name == "timestamp":
            milliseconds = columns.column(name).to_numpy()
            arrays.append(pa.array(numpy.clip(milliseconds, -_GREATEST_MS, _GREATEST_MS) * 1000).cast(kind))
        else:
            arrays.append(columns.column(name).cast(kind))
    return pa.RecordBatch.from_arrays(arrays, schema=arrow_schema(names))


def arrow_schema(names: Sequence[str], decoding: Decoding | None = None) -> Any:
    """The Arrow schema that Spark expects for these columns."""
    types = ARROW_TYPES | decoded_types(decoding)
    return pa.schema([pa.field(name, types[name]) for name in names])


def corrupt_row(names: Sequence[str], known: Mapping[str, Any], decoding: Decoding | None = None) -> Any:
    """A row for damage. `known`: the columns with its place and the error; the others are null."""
    schema = arrow_schema(names, decoding)
    return pa.RecordBatch.from_pylist([{name: known.get(name) for name in names}], schema=schema)
