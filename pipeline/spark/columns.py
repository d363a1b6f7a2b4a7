"""The columns of the data source: those of Spark's own Kafka source, and one for what can't be read.

Pure. Names, order and types are those of spark-sql-kafka, so that code written for it runs on log directories too.
Source: Spark's KafkaRecordToRowConverter.
"""

from typing import Any

import numpy
import pyarrow as pa

CORRUPT_COLUMN = "_corrupt_record"

SPARK_COLUMNS = {
    "key": "binary",
    "value": "binary",
    "topic": "string",
    "partition": "int",
    "offset": "bigint",
    "timestamp": "timestamp",
    "timestampType": "int",
    "headers": "array<struct<key:string,value:binary>>",
    CORRUPT_COLUMN: "string",
}
"""Column name -> Spark's type, in the order of the columns."""

_HEADERS = pa.list_(pa.field("element", pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())])))
ARROW_TYPES: dict[str, Any] = {
    "key": pa.binary(),
    "value": pa.binary(),
    "topic": pa.string(),
    "partition": pa.int32(),
    "offset": pa.int64(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "timestampType": pa.int32(),
    "headers": _HEADERS,
    CORRUPT_COLUMN: pa.string(),
}
_GREATEST_MS = (1 << 63) // 1000 - 1


def to_spark(columns: Any, names: list[str], topic: str, partition: int) -> Any:
    """A record batch for Spark from one of RECORD_SCHEMA: the columns named, with topic and partition.

    A time beyond what Spark's microseconds hold (290,000 years) becomes the last that they do.
    """
    rows = columns.num_rows
    arrays = []
    for name in names:
        if name == "topic":
            arrays.append(pa.repeat(topic, rows))
        elif name == "partition":
            arrays.append(pa.repeat(pa.scalar(partition, pa.int32()), rows))
        elif name == CORRUPT_COLUMN:
            arrays.append(pa.nulls(rows, pa.string()))
        elif name == "timestamp":
            milliseconds = columns.column("timestamp").to_numpy()
            microseconds = numpy.clip(milliseconds, -_GREATEST_MS, _GREATEST_MS) * 1000
            arrays.append(pa.array(microseconds).cast(ARROW_TYPES["timestamp"]))
        else:
            arrays.append(columns.column(name).cast(ARROW_TYPES[name]))
    return pa.RecordBatch.from_arrays(arrays, schema=arrow_schema(names))


def arrow_schema(names: list[str]) -> Any:
    """The Arrow schema that Spark expects of these columns."""
    return pa.schema([pa.field(name, ARROW_TYPES[name]) for name in names])


def corrupt_row(names: list[str], topic: str, partition: int, offset: int, message: str) -> Any:
    """A row that stands for a batch that can't be read: where it is, and why."""
    known = {
        "topic": topic,
        "partition": partition,
        "offset": offset if offset >= 0 else None,
        CORRUPT_COLUMN: message,
    }
    return pa.RecordBatch.from_pylist([{name: known.get(name) for name in names}], schema=arrow_schema(names))
