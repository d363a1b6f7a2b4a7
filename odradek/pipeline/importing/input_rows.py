"""Reads the rows of a part of the input, and converts them to one schema.

Never writes. Columns are those of Spark's Kafka source and `odradek export`: key, value, topic, partition, offset,
timestamp, timestampType, headers. All but value may be missing.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy
import pyarrow as pa
import pyarrow.compute
import pyarrow.parquet

from odradek.storage.log.log_config import MAX_ADOPTED_OFFSET

from .inputs import PARQUET, ImportRefusedError, InputPart
from .json_lines import read_lines
from .row_buffers import ROW_SCHEMA

INPUT_SCHEMA = pa.schema([pa.field("topic", pa.string()), pa.field("partition", pa.int32()), *ROW_SCHEMA])
"""The schema of all rows. topic, partition and offset are null if the input does not have them."""
MAX_TIMESTAMP_MS = 1 << 62
"""The maximum timestamp. Batches store timestamps as differences, which must stay below 2^63."""
_TIMESTAMP_TYPES = {"CreateTime": 0, "LogAppendTime": 1, "NoTimestampType": 0}


class ImportSizes(NamedTuple):
    """The sizes of the steps of an import. Tests make them small, so that a few rows are many."""

    part_bytes: int = 32 << 20
    """The size of a part of a file of JSON lines, which one task reads."""
    block_bytes: int = 8 << 20
    """The size of a block of JSON lines that is parsed at once."""
    chunk_rows: int = 1 << 17
    chunk_bytes: int = 64 << 20
    """A chunk of Parquet has at most `chunk_rows` rows and about `chunk_bytes` bytes."""
    group_rows: int = 1 << 16
    group_bytes: int = 64 << 20
    """Spilled rows of one partition are sorted and written in groups of about so many rows, or bytes."""


USUAL_SIZES = ImportSizes()


def read_part(part: InputPart, sizes: ImportSizes, *, is_base64: bool, now_ms: int) -> Iterator[Any]:
    """Yields record batches of INPUT_SCHEMA. `now_ms`: the timestamp of rows that have none.

    Raises ImportRefusedError for rows that can't be records, OSError.
    """
    try:
        if part.format == PARQUET:
            with pyarrow.parquet.ParquetFile(part.path) as file:
                columns = [name for name in file.schema_arrow.names if name in INPUT_SCHEMA.names]
                for index in range(part.start, part.end):
                    rows = _rows_at_a_time(file.metadata.row_group(index), sizes)
                    for batch in file.iter_batches(rows, row_groups=[index], columns=columns):
                        yield _conform(batch, part, now_ms)
        else:
            for batch in read_lines(part, is_base64=is_base64, block_bytes=sizes.block_bytes):
                yield _conform(batch, part, now_ms)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
        raise ImportRefusedError(f"{part.path}: {error}") from error


def _rows_at_a_time(group: Any, sizes: ImportSizes) -> int:
    """The number of rows of a row group that have about `chunk_bytes`, at most `chunk_rows`."""
    bytes_of_row = max(group.total_byte_size // max(group.num_rows, 1), 1)
    return int(min(max(sizes.chunk_bytes // bytes_of_row, 1), sizes.chunk_rows))


def _conform(batch: Any, part: InputPart, now_ms: int) -> Any:
    if "value" not in batch.schema.names:
        raise ImportRefusedError(f"{part.path}: it has no column named value")
    columns = []
    for field in INPUT_SCHEMA:
        if field.name in batch.schema.names:
            column = _cast(batch.column(field.name), field)
        else:
            column = pa.nulls(batch.num_rows, field.type)
        columns.append(column)
    named = dict(zip(INPUT_SCHEMA.names, columns, strict=True))
    if part.topic is not None and named["topic"].null_count:
        named["topic"] = pa.compute.fill_null(named["topic"], part.topic)
    named["timestamp"] = pa.compute.fill_null(named["timestamp"], now_ms)
    types = pa.compute.fill_null(named["timestampType"], 0)
    named["timestampType"] = pa.compute.if_else(pa.compute.equal(types, -1), 0, types).cast(pa.int32())
    _check(named, part)
    return pa.RecordBatch.from_arrays([named[name] for name in INPUT_SCHEMA.names], schema=INPUT_SCHEMA)


def _cast(column: Any, field: Any) -> Any:
    kind = column.type
    if field.name == "timestamp" and pa.types.is_timestamp(kind):
        return column.cast(pa.timestamp("ms", kind.tz), safe=False).cast(pa.int64())
    if field.name == "timestampType" and pa.types.is_string(kind):
        names = pa.array(list(_TIMESTAMP_TYPES))
        numbers = pa.array(list(_TIMESTAMP_TYPES.values()), pa.int32())
        return numbers.take(pa.compute.index_in(column, names))
    if field.name in ("key", "value") and pa.types.is_string(kind):
        return column.cast(pa.binary())
    if field.name in ("key", "value") and not (pa.types.is_binary(kind) or pa.types.is_large_binary(kind)):
        if pa.types.is_null(kind) or pa.types.is_large_string(kind) or pa.types.is_dictionary(kind):
            return column.cast(field.type)
        raise ImportRefusedError(f"column {field.name} is {kind}: it must be binary or string")
    return column.cast(field.type)


def _check(columns: dict[str, Any], part: InputPart) -> None:
    """Raises ImportRefusedError for rows that a log can't store."""
    least = pa.compute.min(columns["timestamp"]).as_py()
    if least is not None and least < -1:
        raise ImportRefusedError(f"{part.path}: timestamp {least} is before 1970, which Kafka's format cannot store")
    for name in ("partition", "offset"):
        least = pa.compute.min(columns[name]).as_py()
        if least is not None and least < 0:
            raise ImportRefusedError(f"{part.path}: {name} {least} is negative")
    for name, bound in (("timestamp", MAX_TIMESTAMP_MS), ("offset", MAX_ADOPTED_OFFSET - 1)):
        highest = pa.compute.max(columns[name]).as_py()
        if highest is not None and highest > bound:
            raise ImportRefusedError(f"{part.path}: {name} {highest} is higher than the limit of {bound}")
    types = columns["timestampType"].to_numpy()
    if numpy.any((types != 0) & (types != 1)):
        raise ImportRefusedError(f"{part.path}: a timestampType is not 0 (CreateTime), 1 (LogAppendTime) or -1 (none)")
    if columns["headers"].flatten().field("key").null_count:
        raise ImportRefusedError(f"{part.path}: the key of a header is null")
