"""The types of the tables' columns, and rows into Arrow record batches.

Pure. Types are those that Spark takes as they are: binary, string, int, long, boolean, timestamp in microseconds UTC.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import numpy
import pyarrow as pa
from numpy.typing import NDArray

TIMESTAMP = pa.timestamp("us", tz="UTC")
CORRUPT_COLUMN = "_corrupt_record"
ROWS_OF_A_BATCH = 4096
NO_TIMESTAMP = -1
_GREATEST_MS = (1 << 63) // 1000 - 1


def schema_of(**types: Any) -> Any:
    """A schema of these columns, with `_corrupt_record` as the last."""
    return pa.schema([*types.items(), (CORRUPT_COLUMN, pa.string())])


def microseconds(milliseconds: int) -> int | None:
    """Kafka's time for a column of type TIMESTAMP; None for -1, none. What Spark can't hold becomes the last it can."""
    if milliseconds == NO_TIMESTAMP:
        return None
    return max(-_GREATEST_MS, min(_GREATEST_MS, milliseconds)) * 1000


def timestamps(milliseconds: NDArray[numpy.int64]) -> Any:
    """The same for many."""
    clipped = numpy.clip(milliseconds, -_GREATEST_MS, _GREATEST_MS) * 1000
    return pa.array(clipped, mask=milliseconds == NO_TIMESTAMP).cast(TIMESTAMP)


def record_batches(schema: Any, rows: Iterable[Sequence[Any]]) -> Iterator[Any]:
    """Record batches of rows that have a value for each column of the schema, in its order."""
    iterator = iter(rows)
    while part := list(islice(iterator, ROWS_OF_A_BATCH)):
        columns = zip(*part, strict=True)
        arrays = [pa.array(values, field.type) for values, field in zip(columns, schema, strict=True)]
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def corrupt_row(schema: Any, text: str, **known: Any) -> tuple[Any, ...]:
    """A row that stands for what can't be understood: `known` columns and what is wrong; the others are null."""
    known[CORRUPT_COLUMN] = text
    return tuple(known.get(name) for name in schema.names)
