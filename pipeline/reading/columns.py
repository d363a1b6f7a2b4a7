"""The columns of the records' view: those of Spark's own Kafka source, its batch's on request, and where a record lies.

Pure. Names, order and types of the first are those of spark-sql-kafka, so that code written for it runs on log
directories too. Source: Spark's KafkaRecordToRowConverter; decode/batch_columns.py.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy
import pyarrow as pa

from ..decode.batch_columns import BATCH_COLUMNS

CORRUPT_COLUMN = "_corrupt_record"
KAFKA_COLUMNS = ("key", "value", "topic", "partition", "offset", "timestamp", "timestampType")
HEADERS = "headers"
DIRECTORY = "directory"
FILE = "file"
RECORD_BATCH_COLUMNS = (FILE, *(name for name in BATCH_COLUMNS if name != "isControl"))
"""What `includeBatchColumns` adds. Control batches have no rows."""

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
"""Every column that there is."""
CONSTANT_COLUMNS = ("topic", "partition", DIRECTORY, FILE, CORRUPT_COLUMN)
"""Those that no record is decoded for: one value holds for a whole segment."""
_GREATEST_MS = (1 << 63) // 1000 - 1


def column_names(*, has_headers: bool, has_batch_columns: bool, has_directory: bool, has_corrupt: bool) -> list[str]:
    """The columns of a read without a schema of the user's."""
    return [
        *KAFKA_COLUMNS,
        *((HEADERS,) if has_headers else ()),
        *((DIRECTORY,) if has_directory else ()),
        *(RECORD_BATCH_COLUMNS if has_batch_columns else ()),
        *((CORRUPT_COLUMN,) if has_corrupt else ()),
    ]


def decoded_names(names: Sequence[str]) -> list[str]:
    """The columns that the decoder must make for these; offset always, since a batch needs one column at least."""
    return list(dict.fromkeys(["offset", *(name for name in names if name not in CONSTANT_COLUMNS)]))


def to_spark(columns: Any, names: Sequence[str], constants: Mapping[str, Any]) -> Any:
    """A record batch for Spark: the columns named, out of decoded ones and of values that all rows share.

    A time beyond what Spark's microseconds hold (290,000 years) becomes the last that they do.
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


def arrow_schema(names: Sequence[str]) -> Any:
    """The Arrow schema that Spark expects of these columns."""
    return pa.schema([pa.field(name, ARROW_TYPES[name]) for name in names])


def corrupt_row(names: Sequence[str], known: Mapping[str, Any]) -> Any:
    """A row that stands for what can't be read: `known` says where it is, and why; other columns are null."""
    return pa.RecordBatch.from_pylist([{name: known.get(name) for name in names}], schema=arrow_schema(names))
