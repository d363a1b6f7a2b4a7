"""What an append will do, decided before a byte is written.

Pure: bytes, configuration and time in; the bytes to write out, or Kafka's error. A batch is opaque: only its header and
CRC are looked at, except for a compacted topic (records need keys) and a topic that wants another compression. Nothing
is copied: the stamped front of the batch and the rest of the caller's buffer are written together.
Source: Kafka's UnifiedLog.analyzeAndValidateRecords and LogValidator.
"""

from enum import Enum
from struct import Struct
from typing import NamedTuple

from ..protocol.errors import ErrorCode
from ..protocol.records.batch import (
    ATTRIBUTES_POSITION,
    BATCH_HEADER_SIZE,
    HEADER,
    LOG_APPEND_TIME_FLAG,
    NO_TIMESTAMP,
    UINT32,
    BatchHeader,
    Buffer,
    batch_size,
    check_crc,
    iterate_headers,
    read_header,
)
from ..protocol.records.builder import encode_batch
from ..protocol.records.checksum import crc32c
from ..protocol.records.compression import CompressionType
from ..protocol.records.errors import CorruptRecordError, InvalidRecordError, RecordTooLargeError
from ..protocol.records.record import decode_records
from ..protocol.records.validation import (
    refused_records,
    validate_batch,
    validate_client_batch,
)
from .errors import RecordListTooLargeError, RecordValidationError
from .log_config import LOG_APPEND_TIME, MAX_INT64, PRODUCER_COMPRESSION, LogConfig
from .transaction_markers import read_marker

# Base offset, batch length, leader epoch: the fields in front of the magic, which the CRC does not cover.
FRONT = Struct(">qii")
CRC_POSITION = 17
UNCOMPRESSED = "uncompressed"


class AppendOrigin(Enum):
    """Who appends, which decides what is checked (Kafka's AppendOrigin)."""

    REPLICATION = "replication"
    COORDINATOR = "coordinator"
    CLIENT = "client"
    RAFT_LEADER = "raft leader"


class AppendInfo(NamedTuple):
    """What became of an append. Times are ms since 1970, -1 for none.

    `duplicate`: the producer had sent this batch before; the offsets are those it got then.
    """

    first_offset: int
    last_offset: int
    max_timestamp: int
    log_append_time: int
    log_start_offset: int
    size_in_bytes: int
    duplicate: bool


class AppendPlan(NamedTuple):
    """The batch as it will stand in the log: `parts` to write one after the other, `header` with its stamped fields.

    `log_append_time` is -1 unless the topic stamps it. `batch` is the batch in one piece, its front unstamped: for
    decoding its records, whose offsets and times come from the header.
    """

    header: BatchHeader
    size: int
    parts: tuple[Buffer, ...]
    log_append_time: int
    batch: Buffer


def plan_append(
    buffer: Buffer,
    first_offset: int,
    leader_epoch: int,
    now_ms: int,
    config: LogConfig,
    origin: AppendOrigin,
    header: BatchHeader | None = None,
) -> AppendPlan:
    """Validates the one batch in `buffer`, whose `header` may have been read, and stamps it for `first_offset`.

    Bytes behind it that are no whole batch are left out. Raises KafkaError: CORRUPT_MESSAGE, INVALID_RECORD,
    MESSAGE_TOO_LARGE, RECORD_LIST_TOO_LARGE, INVALID_TIMESTAMP, UNSUPPORTED_FOR_MESSAGE_FORMAT.
    """
    if header is None:
        header = read_header(buffer)
    size = header.batch_length + 12
    if len(buffer) != size:
        _refuse_second_batch(buffer, size)
    if origin is AppendOrigin.CLIENT:
        if header.base_offset != 0:
            validate_client_batch(header)
        validate_batch(buffer, 0, header, config.max_message_bytes)
        validate_client_batch(header)
    else:
        validate_batch(buffer, 0, header, config.max_message_bytes)
    append_time = now_ms if config.message_timestamp_type == LOG_APPEND_TIME else NO_TIMESTAMP
    oldest, newest = now_ms - config.message_timestamp_before_max_ms, now_ms + config.message_timestamp_after_max_ms
    if (
        "compact" in config.cleanup_policy
        or header.is_log_append_time
        or config.message_timestamp_before_max_ms != MAX_INT64  # any record may be too old, not only the first
        or not (oldest <= header.base_timestamp <= newest and oldest <= header.max_timestamp <= newest)
    ):
        _refuse_records(buffer, header, now_ms, config)
    if config.compression_type != PRODUCER_COMPRESSION:
        target = _target_compression(config)
        if header.compression_type != target and not (header.is_control and not header.is_compressed):
            return _recompress(buffer, header, first_offset, leader_epoch, append_time, config, target)
    if size > config.segment_bytes:
        raise _larger_than_a_segment(size, config)
    if append_time != NO_TIMESTAMP or header.is_log_append_time:
        return _stamp_timestamp_type(buffer, header, first_offset, leader_epoch, append_time)
    front = FRONT.pack(first_offset, header.batch_length, leader_epoch)
    return AppendPlan(header, size, (front, memoryview(buffer)[16:size]), NO_TIMESTAMP, buffer)


def check_assigned(buffer: Buffer, log_end_offset: int) -> list[tuple[int, BatchHeader]]:
    """(position, header) of the batches in `buffer`, whose offsets stand in them already: for a log that ends there.

    Raises KafkaError CORRUPT_MESSAGE (no batch, a wrong CRC, offsets that don't rise), UNSUPPORTED_FOR_MESSAGE_FORMAT,
    INVALID_RECORD (a malformed marker).
    """
    batches = list(iterate_headers(buffer))
    expected = log_end_offset
    for position, header in batches:
        check_crc(buffer, position, header)
        if header.base_offset < expected or header.last_offset_delta < 0:
            raise CorruptRecordError(f"batch with offset {header.base_offset} in append, the log ends at {expected}")
        if header.is_control and header.has_producer_id:
            read_marker(memoryview(buffer)[position : position + header.size_in_bytes], header)
        expected = header.next_offset
    if not batches:
        raise CorruptRecordError(f"{len(buffer)} bytes hold no whole batch")
    return batches


def _refuse_second_batch(buffer: Buffer, size: int) -> None:
    following = batch_size(buffer, size)
    if following is not None and following <= len(buffer) - size:
        raise InvalidRecordError("Compressed outer record has more than one batch")


def _refuse_records(buffer: Buffer, header: BatchHeader, now_ms: int, config: LogConfig) -> None:
    """Looks at every record: a compacted topic needs keys, a time in the header was out of range (or -1) or
    claims to be a broker's.

    Raises RecordValidationError with each record that is refused.
    """
    refused = refused_records(
        buffer,
        header,
        is_compacted=config.is_compacted,
        is_log_append_time=config.is_log_append_time,
        now_ms=now_ms,
        before_max_ms=config.message_timestamp_before_max_ms,
        after_max_ms=config.message_timestamp_after_max_ms,
    )
    if not refused:
        return
    errors = [(record.batch_index, record.message) for record in refused]
    if any(record.error_code is ErrorCode.INVALID_TIMESTAMP for record in refused):
        message = "One or more records have been rejected due to invalid timestamp"
        raise RecordValidationError(ErrorCode.INVALID_TIMESTAMP, message, errors)
    raise RecordValidationError(
        ErrorCode.INVALID_RECORD,
        f"One or more records have been rejected due to {len(errors)} record errors in total, and only showing the "
        f"first three errors at most: {errors[:3]}",
        errors,
    )


def _stamp_timestamp_type(
    buffer: Buffer, header: BatchHeader, first_offset: int, leader_epoch: int, append_time: int
) -> AppendPlan:
    """The batch with the topic's timestamp type, whatever the producer said: the header is written anew, with its CRC.

    `append_time`: the broker's time, which every record then has; -1 where the topic keeps the producer's times.
    """
    stamps = append_time != NO_TIMESTAMP
    size = header.size_in_bytes
    rest = memoryview(buffer)[BATCH_HEADER_SIZE:size]
    stamped = header._replace(
        base_offset=first_offset,
        partition_leader_epoch=leader_epoch,
        attributes=header.attributes | LOG_APPEND_TIME_FLAG if stamps else header.attributes & ~LOG_APPEND_TIME_FLAG,
        max_timestamp=append_time if stamps else header.max_timestamp,
    )
    front = bytearray(HEADER.pack(*stamped))
    crc = crc32c(rest, crc32c(memoryview(front)[ATTRIBUTES_POSITION:]))
    UINT32.pack_into(front, CRC_POSITION, crc)
    return AppendPlan(stamped._replace(crc=crc), size, (front, rest), append_time, buffer)


def _target_compression(config: LogConfig) -> CompressionType:
    name = config.compression_type
    return CompressionType.NONE if name == UNCOMPRESSED else CompressionType[name.upper()]


def _compression_level(config: LogConfig, target: CompressionType) -> int | None:
    levels = {
        CompressionType.GZIP: config.compression_gzip_level,
        CompressionType.LZ4: config.compression_lz4_level,
        CompressionType.ZSTD: config.compression_zstd_level,
    }
    level = levels.get(target)
    return None if level == -1 and target is CompressionType.GZIP else level


def _recompress(
    buffer: Buffer,
    header: BatchHeader,
    first_offset: int,
    leader_epoch: int,
    append_time: int,
    config: LogConfig,
    target: CompressionType,
) -> AppendPlan:
    """The same records in the compression that the topic asks for; by far the dearest way to append."""
    records = decode_records(buffer, header)
    batch = encode_batch(
        [record._replace(offset=first_offset + index) for index, record in enumerate(records)],
        compression=target,
        compression_level=_compression_level(config, target),
        base_offset=first_offset,
        partition_leader_epoch=leader_epoch,
        producer_id=header.producer_id,
        producer_epoch=header.producer_epoch,
        base_sequence=header.base_sequence,
        is_transactional=header.is_transactional,
        is_control=header.is_control,
        log_append_time_ms=None if append_time == NO_TIMESTAMP else append_time,
    )
    if len(batch) > config.max_message_bytes:
        raise RecordTooLargeError(
            f"Message batch size is {len(batch)} bytes in append, which exceeds the maximum configured size of "
            f"{config.max_message_bytes}"
        )
    if len(batch) > config.segment_bytes:
        raise _larger_than_a_segment(len(batch), config)
    return AppendPlan(read_header(batch), len(batch), (batch,), append_time, batch)


def _larger_than_a_segment(size: int, config: LogConfig) -> RecordListTooLargeError:
    return RecordListTooLargeError(
        f"Message batch size is {size} bytes in append, which exceeds the maximum configured segment size of "
        f"{config.segment_bytes}"
    )
