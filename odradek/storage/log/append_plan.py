"""Plans an append before a byte is written.

Pure: bytes, configuration and time go in; the bytes to write or Kafka's error come out. Only the header and the CRC of
a batch are read, unless record_inspection.py requires its records. Nothing is copied: one pwritev writes the changed
first bytes of the batch (offset, leader epoch) and, from the caller's buffer, the rest. Source: Kafka's
UnifiedLog.analyzeAndValidateRecords and LogValidator.
"""

from enum import Enum
from struct import Struct
from typing import NamedTuple

from odradek.protocol.common.steps import Steps, run_to_end
from odradek.protocol.records.batch import (
    ATTRIBUTES_POSITION,
    BATCH_HEADER_SIZE,
    HEADER,
    LOG_APPEND_TIME_FLAG,
    LOG_OVERHEAD,
    NO_TIMESTAMP,
    UINT32,
    BatchHeader,
    Buffer,
    batch_size,
    check_crc,
    iterate_headers,
    read_header,
)
from odradek.protocol.records.checksum import crc32c
from odradek.protocol.records.errors import CorruptRecordError, InvalidRecordError, RecordTooLargeError
from odradek.protocol.records.first_record import check_beginning
from odradek.protocol.records.validation import validate_client_batch

from ..producers.producer_state import read_marker
from .log_config import LOG_APPEND_TIME, LogConfig
from .record_inspection import InspectedBatch, inspect_batch, larger_than_a_segment, wants_compression, wants_inspection

# Base offset, batch length, leader epoch: the fields before the magic. The CRC does not cover them.
FRONT = Struct(">qii")
CRC_POSITION = 17
INLINE_RECORDS = 256
INLINE_BYTES = 32 * 1024
"""The largest client batch whose records are inspected on the event loop: its records, and its bytes, which may not be
more when decompressed.
"""


class AppendOrigin(Enum):
    """The source of a leader's append, which decides what is checked (two of Kafka's AppendOrigin).

    Kafka's others, REPLICATION and RAFT_LEADER, are `LogAppender.append_as_follower` here.
    """

    COORDINATOR = "coordinator"
    CLIENT = "client"


CLIENT = AppendOrigin.CLIENT


class AppendInfo(NamedTuple):
    """The result of an append. Times are ms since 1970; -1 if there is none.

    `duplicate`: the producer had sent this batch before. The offsets are those of its first append.
    """

    first_offset: int
    last_offset: int
    max_timestamp: int
    log_append_time: int
    log_start_offset: int
    size_in_bytes: int
    duplicate: bool


class AppendPlan(NamedTuple):
    """The batch as it is written: `parts` to write one after the other, `header` with the times that the log stores.

    `log_append_time` is -1 unless the topic has LogAppendTime. `batch` is the whole batch, for decoding its records;
    its own header still has the producer's offset, epoch and times.
    """

    header: BatchHeader
    size: int
    parts: tuple[Buffer, ...]
    log_append_time: int
    batch: Buffer


class InspectionNeededError(Exception):
    """The records of a client's batch must be inspected first, and are too many to inspect on the event loop."""


def plan_append(
    buffer: Buffer,
    first_offset: int,
    leader_epoch: int,
    now_ms: int,
    config: LogConfig,
    origin: AppendOrigin,
    header: BatchHeader | None = None,
    inspected: InspectedBatch | None = None,
) -> AppendPlan:
    """Validates the one batch in `buffer`, and sets its offset, leader epoch and times for the append.

    `header`: the header of the batch, if the caller has read it. Bytes after it that do not form a whole batch are
    ignored. `inspected`: the result of `inspect_batch` for `buffer` and this configuration; it is not checked again.
    Raises KafkaError: CORRUPT_MESSAGE, INVALID_RECORD, MESSAGE_TOO_LARGE, RECORD_LIST_TOO_LARGE, INVALID_TIMESTAMP.
    Raises InspectionNeededError for a client's batch with more than INLINE_RECORDS records that must be inspected.
    """
    if inspected is None:
        if header is None:
            header = _read_current(buffer)
        check_batch(buffer, header, config, origin)
        # The broker's own records have keys and valid times: they are inspected only to change their compression.
        looks = wants_inspection(header, now_ms, config) if origin is CLIENT else wants_compression(header, config)
        if looks:
            inspected = _inspect_inline(buffer, header, now_ms, config, origin)
    max_timestamp = None
    if inspected is not None:
        buffer = inspected.batch
        header = read_header(buffer)
        max_timestamp = inspected.max_timestamp
    assert header is not None, "read above"
    size = header.batch_length + LOG_OVERHEAD
    if size > config.segment_bytes:
        raise larger_than_a_segment(size, config)
    append_time = now_ms if config.message_timestamp_type == LOG_APPEND_TIME else NO_TIMESTAMP
    if (
        append_time != NO_TIMESTAMP
        or header.attributes & LOG_APPEND_TIME_FLAG
        or (max_timestamp is not None and max_timestamp != header.max_timestamp)
    ):
        return _stamp_times(buffer, header, first_offset, leader_epoch, append_time, max_timestamp)
    front = FRONT.pack(first_offset, header.batch_length, leader_epoch)
    view = buffer if type(buffer) is memoryview else memoryview(buffer)
    plan = (header, size, (front, view[16:size]), NO_TIMESTAMP, buffer)
    return tuple.__new__(AppendPlan, plan)  # a call of the class costs 0.3 us more


def _read_current(buffer: Buffer) -> BatchHeader:
    """The header of a batch to append as leader. Raises InvalidRecordError for message format 0 or 1, which is only
    read.
    """
    header = read_header(buffer)
    if header.is_legacy:
        raise InvalidRecordError(f"Invalid record batch magic {header.magic}, expected 2")
    return header


def check_batch(buffer: Buffer, header: BatchHeader, config: LogConfig, origin: AppendOrigin) -> None:
    """Checks the header, and the CRC of a client's batch: the broker has just computed that of its own.

    Raises KafkaError as `plan_append`.
    """
    size = header.batch_length + LOG_OVERHEAD
    if len(buffer) != size:
        _refuse_second_batch(buffer, size)
    if origin is CLIENT and header.base_offset != 0:
        validate_client_batch(header)
    if size > config.max_message_bytes:
        most = config.max_message_bytes
        raise RecordTooLargeError(
            f"The record batch size is {size} bytes which exceeds the maximum configured value of {most}"
        )
    if origin is CLIENT:
        check_crc(buffer, 0, header)
        validate_client_batch(header)
        check_beginning(buffer, header)


def inspect_client_batch(buffer: Buffer, now_ms: int, config: LogConfig) -> Steps[InspectedBatch]:
    """Steps that run `check_batch` and then inspect the records of a client's batch. Raises KafkaError as both.

    The memory of `buffer` may be released meanwhile: the caller uses the batch in the result instead.
    """
    header = _read_current(buffer)
    check_batch(buffer, header, config, CLIENT)
    yield
    return (yield from inspect_batch(buffer, header, now_ms, config, consumes=True))


def _inspect_inline(
    buffer: Buffer, header: BatchHeader, now_ms: int, config: LogConfig, origin: AppendOrigin
) -> InspectedBatch:
    """Inspects the records at once, if they are few. Raises KafkaError, InspectionNeededError."""
    if origin is not CLIENT:
        return run_to_end(inspect_batch(buffer, header, now_ms, config))
    if header.records_count > INLINE_RECORDS or header.size_in_bytes > INLINE_BYTES:
        raise InspectionNeededError
    try:
        return run_to_end(inspect_batch(buffer, header, now_ms, config, INLINE_BYTES))
    except RecordTooLargeError as error:
        raise InspectionNeededError from error


def check_assigned(buffer: Buffer, log_end_offset: int) -> list[tuple[int, BatchHeader]]:
    """Validates the batches in `buffer`, which already have their offsets, for a log that ends at `log_end_offset`.

    Returns (position, header) of each. Raises KafkaError CORRUPT_MESSAGE (no batch, a wrong CRC, offsets that don't
    rise), INVALID_RECORD (a malformed marker).
    """
    batches = list(iterate_headers(buffer))
    expected = log_end_offset
    for position, header in batches:
        check_crc(buffer, position, header)
        if header.base_offset < expected or header.last_offset_delta < 0:
            raise CorruptRecordError(f"the batch begins at offset {header.base_offset}, expected {expected} or higher")
        if header.is_control and header.has_producer_id:
            read_marker(memoryview(buffer)[position : position + header.size_in_bytes], header)
        expected = header.next_offset
    if not batches:
        raise CorruptRecordError(f"{len(buffer)} bytes contain no complete batch")
    return batches


def _refuse_second_batch(buffer: Buffer, size: int) -> None:
    following = batch_size(buffer, size)
    if following is not None and following <= len(buffer) - size:
        raise InvalidRecordError("Compressed outer record has more than one batch")


def _stamp_times(
    buffer: Buffer,
    header: BatchHeader,
    first_offset: int,
    leader_epoch: int,
    append_time: int,
    max_timestamp: int | None,
) -> AppendPlan:
    """The batch with the topic's timestamp type and the greatest timestamp, with a new header and CRC.

    `append_time`: the broker's time, which every record then has; -1 if the topic keeps the producer's times.
    `max_timestamp`: the records' greatest timestamp, if they were inspected.
    """
    stamps = append_time != NO_TIMESTAMP
    size = header.size_in_bytes
    rest = memoryview(buffer)[BATCH_HEADER_SIZE:size]
    kept = header.max_timestamp if max_timestamp is None else max_timestamp
    stamped = header._replace(
        base_offset=first_offset,
        partition_leader_epoch=leader_epoch,
        attributes=header.attributes | LOG_APPEND_TIME_FLAG if stamps else header.attributes & ~LOG_APPEND_TIME_FLAG,
        max_timestamp=append_time if stamps else kept,
    )
    front = bytearray(HEADER.pack(*stamped))
    crc = crc32c(rest, crc32c(memoryview(front)[ATTRIBUTES_POSITION:]))
    UINT32.pack_into(front, CRC_POSITION, crc)
    return AppendPlan(stamped._replace(crc=crc), size, (front, rest), append_time, buffer)
