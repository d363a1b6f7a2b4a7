"""Defines the types of the tables' columns, and builds Arrow record batches of rows.

Pure. Types are those that Spark reads unchanged: binary, string, int, long, boolean, timestamp in microseconds UTC.
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
    """Converts a time in ms to microseconds, for a column of type TIMESTAMP; None for -1 (no timestamp).

    A time that Spark can't represent becomes the nearest one that it can.
    """
    if milliseconds == NO_TIMESTAMP:
        return None
    return max(-_GREATEST_MS, min(_GREATEST_MS, milliseconds)) * 1000


def timestamps(milliseconds: NDArray[numpy.int64]) -> Any:
    """As `microseconds`, for an array. Returns an Arrow array of type TIMESTAMP."""
    clipped = numpy.clip(milliseconds, -_GREATEST_MS, _GREATEST_MS) * 1000
    return pa.array(clipped, mask=milliseconds == NO_TIMESTAMP).cast(TIMESTAMP)


def record_batches(schema: Any, rows: Iterable[Sequence[Any]]) -> Iterator[Any]:
    """Yields record batches of rows. A row has a value for each column of the schema, in its order."""
    iterator = iter(rows)
    while part := list(islice(iterator, ROWS_OF_A_BATCH)):
        columns = zip(*part, strict=True)
        arrays = [pa.array(values, field.type) for values, field in zip(columns, schema, strict=True)]
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def corrupt_row(schema: Any, text: str, **known: Any) -> tuple[Any, ...]:
    """A row for damage: `text` in `_corrupt_record`, and the `known` columns; the others are null."""
    known[CORRUPT_COLUMN] = text
    return tuple(known.get(name) for name in schema.names)
