"""Encodes rows as record batches: compiled if numba is installed, else with BatchBuilder. Both give the same bytes.

Pure. All records of a batch have the same timestamp type and, with LogAppendTime, the same time. Source: Kafka's
MemoryRecordsBuilder; docs/developers/log-format.md.
"""

from collections.abc import Iterator
from typing import Any

import numpy

from odradek.protocol.records.batch import BATCH_HEADER_SIZE, LOG_APPEND_TIME_FLAG, NO_PRODUCER_ID, NO_TIMESTAMP
from odradek.protocol.records.builder import BatchBuilder, assemble_batch, encode_empty_batch
from odradek.protocol.records.compression import CompressionType, compress

from ..engine.compiled import IS_COMPILED
from .record_encoding import MAX_OFFSET_DELTA, encode_sections
from .row_buffers import RowColumns, rows_of

FIRST_LEADER_EPOCH = 0
"""The leader epoch of imported batches if the input does not say it: no leader was elected yet."""
LOG_APPEND_TIME = 1


def encode_rows(
    batch: Any,
    compression: CompressionType,
    batch_bytes: int,
    leader_epoch: int = FIRST_LEADER_EPOCH,
    *,
    is_compiled: bool = IS_COMPILED,
) -> Iterator[bytes]:
    """Yields Kafka's record batches of the rows in `batch`: an Arrow record batch of ROW_SCHEMA with rising offsets.

    `batch_bytes`: the maximum size of a batch, uncompressed and with its header; a larger record gets a batch of its
    own. Raises ValueError for a timestamp below -1.
    """
    if batch.num_rows and batch.column("timestamp").to_numpy().min() < -1:
        raise ValueError("a timestamp is below -1")
    if is_compiled:
        yield from _compiled_batches(rows_of(batch), compression, batch_bytes, leader_epoch)
    else:
        yield from _built_batches(batch, compression, batch_bytes, leader_epoch)


def empty_batch(from_offset: int, end_offset: int, leader_epoch: int) -> bytes:
    """A batch without records up to `end_offset`, so that the log ends there.

    The last offsets of a log may have no records: those of markers, and those of records that compaction removed. The
    cleaner leaves such a batch at the end of a log, too (``DefaultRecordBatch.writeEmptyHeader``).
    """
    return encode_empty_batch(
        base_offset=max(from_offset, end_offset - MAX_OFFSET_DELTA),
        last_offset=end_offset - 1,
        max_timestamp=NO_TIMESTAMP,
        partition_leader_epoch=leader_epoch,
        producer_id=NO_PRODUCER_ID,
        producer_epoch=-1,
        base_sequence=-1,
        is_log_append_time=False,
        is_transactional=False,
        is_control=False,
    )


def _compiled_batches(
    rows: RowColumns, compression: CompressionType, batch_bytes: int, leader_epoch: int
) -> Iterator[bytes]:
    if not len(rows.offsets):
        return
    data, first_rows, starts = encode_sections(rows, batch_bytes - BATCH_HEADER_SIZE)
    max_timestamps = numpy.maximum.reduceat(rows.timestamps, first_rows[:-1])
    view = memoryview(data.data)
    for index, max_timestamp in enumerate(max_timestamps.tolist()):
        first, behind = int(first_rows[index]), int(first_rows[index + 1])
        section = bytes(view[starts[index] : starts[index + 1]])
        is_append_time = rows.types[first] == LOG_APPEND_TIME
        yield assemble_batch(
            compress(compression, section) if compression else section,
            records_count=behind - first,
            attributes=compression | (LOG_APPEND_TIME_FLAG if is_append_time else 0),
            base_offset=int(rows.offsets[first]),
            last_offset=int(rows.offsets[behind - 1]),
            base_timestamp=int(rows.timestamps[first]),
            max_timestamp=max_timestamp,
            partition_leader_epoch=leader_epoch,
            producer_id=NO_PRODUCER_ID,
            producer_epoch=-1,
            base_sequence=-1,
        )


def _built_batches(batch: Any, compression: CompressionType, batch_bytes: int, leader_epoch: int) -> Iterator[bytes]:
    """As `_compiled_batches`, one record at a time in Python."""
    builder: BatchBuilder | None = None
    builder_type, first_timestamp = -1, 0
    for row in batch.to_pylist():
        headers = [(header["key"], header["value"]) for header in row["headers"] or []]
        record = (row["timestamp"], row["key"], row["value"], headers, row["offset"])
        timestamp_type = row["timestampType"]
        if builder is not None and (
            builder_type != timestamp_type
            or row["offset"] - builder.base_offset > MAX_OFFSET_DELTA
            or (timestamp_type == LOG_APPEND_TIME and row["timestamp"] != first_timestamp)
            or builder.size_in_bytes + _size_in(builder, first_timestamp, record) > batch_bytes
        ):
            yield builder.build()
            builder = None
        if builder is None:
            builder_type, first_timestamp = timestamp_type, row["timestamp"]
            builder = BatchBuilder(
                compression=compression,
                base_offset=row["offset"],
                partition_leader_epoch=leader_epoch,
                log_append_time_ms=first_timestamp if timestamp_type == LOG_APPEND_TIME else None,
            )
        builder.append(*record)
    if builder is not None:
        yield builder.build()


def _size_in(builder: BatchBuilder, first_timestamp: int, record: tuple[int, Any, Any, Any, int]) -> int:
    """The bytes that a record takes as the next one of a batch."""
    trial = BatchBuilder(base_offset=builder.base_offset)
    trial.append(first_timestamp, b"", b"", (), builder.base_offset)
    before = trial.size_in_bytes
    trial.append(*record)
    return trial.size_in_bytes - before
