"""The records of one batch in a chunk of a segment, and batches that are built anew from the records that stay.

Pure. Errors of records name the place of their batch. Source: Kafka's MemoryRecords.filterTo,
buildRetainedRecordsInto.
"""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from odradek.protocol.errors import KafkaError
from odradek.protocol.records.batch import BatchHeader
from odradek.protocol.records.builder import BatchBuilder
from odradek.protocol.records.errors import InvalidRecordError, RecordTooLargeError
from odradek.protocol.records.large_batch import LargeBatchBuilder
from odradek.protocol.records.record import Record, decode_records, iterate_in_parts, iterate_outlines, iterate_records
from odradek.protocol.records.record_facts import iterate_facts

from .batch_chunk import BatchChunk


def decode(chunk: BatchChunk, index: int, most_bytes: int) -> list[Record]:
    """The records of a batch. Raises InvalidRecordError with the batch's place; RecordTooLargeError if they have more
    than `most_bytes` when decompressed.
    """
    try:
        return decode_records(chunk.batch(index), chunk.headers[index], max_decompressed_size=most_bytes)
    except RecordTooLargeError:
        raise
    except KafkaError as error:
        raise chunk.refusal(index, error) from error


def records_in(chunk: BatchChunk, index: int) -> Iterator[Record]:
    """The records of a batch, one at a time. Raises InvalidRecordError with its place."""
    try:
        yield from iterate_records(chunk.batch(index), chunk.headers[index])
    except KafkaError as error:
        raise chunk.refusal(index, error) from error


def parts_in(chunk: BatchChunk, index: int) -> Iterator[tuple[Record, list[bytes] | None]]:
    """The records of a batch, one at a time, with large values in parts. Raises InvalidRecordError with its place."""
    try:
        yield from iterate_in_parts(chunk.batch(index), chunk.headers[index])
    except KafkaError as error:
        raise chunk.refusal(index, error) from error


def outlines_in(chunk: BatchChunk, index: int) -> Iterator[Record]:
    """As `records_in`, with b"" in place of each value."""
    try:
        yield from iterate_outlines(chunk.batch(index), chunk.headers[index])
    except KafkaError as error:
        raise chunk.refusal(index, error) from error


def with_small_records(chunks: Iterable[BatchChunk], most_bytes: int) -> Iterator[BatchChunk]:
    """Yields the chunks. Raises InvalidRecordError, with its place, for a compressed batch with a record of more than
    `most_bytes`, before its chunk. Source: Cleaner, which has this bound when it reads records.
    """
    for chunk in chunks:
        for index, header in enumerate(chunk.headers):
            if header.is_compressed:
                try:
                    for _ in iterate_facts(chunk.batch(index), header, max_record_size=most_bytes):
                        pass
                except KafkaError as error:
                    raise chunk.refusal(index, error) from error
        yield chunk


def record_windows(chunk: BatchChunk, index: int, most_records: int) -> Iterator[list[Record]]:
    """As `outlines_in`, up to `most_records` at a time."""
    records = outlines_in(chunk, index)
    while window := list(islice(records, most_records)):
        yield window


def rebuilt_batch(header: BatchHeader, kept: Iterable[Record], delete_horizon_ms: int | None) -> bytes:
    """A batch with the records that stay. Everything else except its base timestamp is unchanged.

    Raises InvalidRecordError if the records do not make a valid batch.
    """
    builder = _builder(header, delete_horizon_ms)
    try:
        for offset, timestamp, key, value, headers in kept:
            builder.append(timestamp, key, value, headers, offset)
        return builder.build(header.last_offset)
    except ValueError as error:
        raise InvalidRecordError(f"the batch can't be rebuilt: {error}") from error


def rebuilt_large_batch(
    header: BatchHeader, kept: Iterable[tuple[Record, list[bytes] | None]], delete_horizon_ms: int | None
) -> bytes:
    """As `rebuilt_batch`, for records as `parts_in` yields them: one is in memory at a time."""
    builder = LargeBatchBuilder(_builder(header, delete_horizon_ms))
    try:
        for record, parts in kept:
            builder.append(record, parts)
        return builder.build(header.last_offset)
    except ValueError as error:
        raise InvalidRecordError(f"the batch can't be rebuilt: {error}") from error


def _builder(header: BatchHeader, delete_horizon_ms: int | None) -> BatchBuilder:
    return BatchBuilder(
        compression=header.compression_type,
        base_offset=header.base_offset,
        partition_leader_epoch=header.partition_leader_epoch,
        producer_id=header.producer_id,
        producer_epoch=header.producer_epoch,
        base_sequence=header.base_sequence,
        is_transactional=header.is_transactional,
        is_control=header.is_control,
        log_append_time_ms=header.max_timestamp if header.is_log_append_time else None,
        delete_horizon_ms=delete_horizon_ms,
    )


class ControlContent(NamedTuple):
    """The key of the first record (None without one), the number of records, whether one of them has no value."""

    first_key: bytes | None
    records: int
    has_tombstone: bool


def control_content(chunk: BatchChunk, index: int) -> ControlContent:
    """Reads all records of a control batch. Raises InvalidRecordError with its place if one can't be decoded."""
    first_key = None
    has_tombstone = False
    count = 0
    for record in records_in(chunk, index):
        if not count:
            first_key = record.key
        has_tombstone = has_tombstone or record.value is None
        count += 1
    return ControlContent(first_key, count, has_tombstone)
