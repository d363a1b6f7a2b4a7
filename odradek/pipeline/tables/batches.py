"""The table `batches`: the header of every batch, and whether its CRC is right. No record is decoded.

Columns have the names of DumpLogSegments, in camel case. `controlType` comes from the key of a control batch's first
record. A batch with a wrong CRC has all columns too; its `isCrcValid` is false and `_corrupt_record` has a text.
"""

from collections.abc import Iterator
from typing import Any

import numpy
import pyarrow as pa
from numpy.typing import NDArray

from odradek.protocol.errors import KafkaError
from odradek.protocol.records.batch import read_header
from odradek.protocol.records.compression import compression_name
from odradek.protocol.records.control import control_record_type
from odradek.protocol.records.record import iterate_records

from ..decode.batch_table import BatchTable
from .columns import TIMESTAMP, corrupt_row, record_batches, schema_of, timestamps
from .log_reading import LogChunk, LogDamage, read_batches
from .task import TableTask

SCHEMA = schema_of(
    directory=pa.string(),
    topic=pa.string(),
    partition=pa.int32(),
    file=pa.string(),
    position=pa.int64(),
    size=pa.int64(),
    baseOffset=pa.int64(),
    lastOffset=pa.int64(),
    recordsCount=pa.int32(),
    partitionLeaderEpoch=pa.int32(),
    magic=pa.int32(),
    crc=pa.int64(),
    isCrcValid=pa.bool_(),
    compression=pa.string(),
    timestampType=pa.string(),
    baseTimestamp=TIMESTAMP,
    maxTimestamp=TIMESTAMP,
    deleteHorizon=TIMESTAMP,
    isTransactional=pa.bool_(),
    isControl=pa.bool_(),
    controlType=pa.string(),
    producerId=pa.int64(),
    producerEpoch=pa.int32(),
    baseSequence=pa.int32(),
    lastSequence=pa.int32(),
)
_HEADER_FIELDS = {
    "baseOffset": "base_offset",
    "recordsCount": "records_count",
    "partitionLeaderEpoch": "partition_leader_epoch",
    "magic": "magic",
    "crc": "crc",
    "producerId": "producer_id",
    "producerEpoch": "producer_epoch",
    "baseSequence": "base_sequence",
}
_CODECS = [compression_name(number) for number in range(8)]
_TRANSACTIONAL, _CONTROL, _APPEND_TIME, _DELETE_HORIZON = 0x10, 0x20, 0x08, 0x40


def read(task: TableTask) -> Iterator[Any]:
    """Yields the rows of a partition's batches. Raises OSError."""
    assert task.partition is not None
    fixed = {"directory": str(task.directory), "topic": task.partition.topic, "partition": task.partition.partition}
    for item in read_batches(task.partition):
        if isinstance(item, LogDamage):
            place = {"file": item.file, "position": item.position, "isCrcValid": False}
            offset = item.offset if item.offset >= 0 else None
            yield from record_batches(SCHEMA, [corrupt_row(SCHEMA, item.text, **fixed, **place, baseOffset=offset)])
        elif len(item.batches):
            yield _rows(item, fixed)


def _rows(chunk: LogChunk, fixed: dict[str, Any]) -> Any:
    table = chunk.batches
    count = len(table)
    attributes = table.column("attributes")
    matches = table.crc_matches()
    positions = table.places
    sequences = table.column("base_sequence")
    ends = (sequences + table.column("last_offset_delta")) % (1 << 31)  # a sequence wraps at 2^31, as in Java
    has_horizon = (attributes & _DELETE_HORIZON) != 0
    base_timestamps = table.column("base_timestamp")
    known = {name: pa.repeat(pa.scalar(value, SCHEMA.field(name).type), count) for name, value in fixed.items()}
    known |= {
        "file": pa.repeat(str(chunk.segment.path), count),
        "position": positions,
        "size": table.disk_sizes,
        "lastOffset": table.last_offsets,
        "isCrcValid": matches,
        "compression": pa.array(_CODECS).take(pa.array(attributes & 7)),
        "timestampType": pa.array(["CreateTime", "LogAppendTime"]).take(pa.array((attributes & _APPEND_TIME) >> 3)),
        "baseTimestamp": timestamps(base_timestamps),
        "maxTimestamp": timestamps(table.column("max_timestamp")),
        "deleteHorizon": timestamps(numpy.where(has_horizon, base_timestamps, -1)),
        "isTransactional": (attributes & _TRANSACTIONAL) != 0,
        "isControl": (attributes & _CONTROL) != 0,
        "controlType": pa.array(_control_types(table, matches), pa.string()),
        "lastSequence": numpy.where(sequences < 0, -1, ends),
        "_corrupt_record": pa.array(_faults(chunk, matches), pa.string()),
    }
    columns = [known[name] if name in known else table.column(_HEADER_FIELDS[name]) for name in SCHEMA.names]
    arrays = [
        column.cast(field.type) if isinstance(column, pa.Array) else pa.array(column).cast(field.type)
        for column, field in zip(columns, SCHEMA, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)


def _control_types(table: BatchTable, matches: NDArray[numpy.bool_]) -> list[str | None]:
    """The type of each control batch; None for a data batch, or if it can't be read."""
    types: list[str | None] = [None] * len(table)
    for index in numpy.flatnonzero(table.is_control & matches & (table.column("records_count") > 0)).tolist():
        position = int(table.positions[index])
        try:
            first = next(iterate_records(table.view, read_header(table.view, position), position))
            types[index] = control_record_type(first.key).name
        except (KafkaError, StopIteration):
            continue
    return types


def _faults(chunk: LogChunk, matches: NDArray[numpy.bool_]) -> list[str | None]:
    table = chunk.batches
    faults: list[str | None] = [None] * len(table)
    for index in numpy.flatnonzero(~matches).tolist():
        position = int(table.places[index])
        faults[index] = f"batch-crc-mismatch: {chunk.segment.path}: the CRC-32C of the batch at {position} is wrong"
    return faults
